//! Two lanes, and a path between them that loses nothing.

use super::*;
use crate::link::envelope::Kind;
use crate::link::frame::Frame;
use crate::link::received::Ecn;
use crate::link::wire::{Reader, Writer};
use std::collections::BTreeMap;
use std::time::Duration;

/// How long a packet is under way.
const DELAY: Duration = Duration::from_millis(10);

struct Path {
    now: Time,
    lanes: [Lane; 2],
    under_way: BTreeMap<(Time, u64), (usize, u64, Vec<u8>)>,
    count: u64,
    payload: FrameBuf,
    /// Packets with more bytes inside vanish.
    packet_len: usize,
}

fn message() -> Envelope {
    let (from, to) = (Address { slot: 1, generation: 1 }, Address { slot: 2, generation: 1 });
    Envelope { to, from, kind: Kind::Tell, manifest: 1, correlation: 0 }
}

impl Path {
    /// The second one asks later.
    fn new(config: &Config) -> Self {
        let now = Time::from_nanos(1);
        let config = Config { mailbox_messages_start: None, ..config.clone() };
        let lane = |is_later| {
            let config = config.clone().asking_later(is_later);
            Lane::new(now, config).expect("the limits fit together")
        };
        let (lanes, under_way) = ([lane(false), lane(true)], BTreeMap::new());
        Self {
            now,
            lanes,
            under_way,
            count: 0,
            payload: FrameBuf::default(),
            packet_len: usize::MAX,
        }
    }

    /// What happens meanwhile.
    fn pass(&mut self, span: Duration) {
        let until = self.now + span;
        let mut buffer = vec![0; 1500];
        while self.now < until {
            for (at, lane) in self.lanes.iter_mut().enumerate() {
                if lane.timeout().is_some_and(|due| due <= self.now) {
                    lane.on_timeout(self.now);
                }
                while let Some(packet) = lane.poll_transmit(self.now, &mut buffer) {
                    self.count += 1;
                    if packet.len > self.packet_len {
                        continue;
                    }
                    let flying = (1 - at, packet.number, buffer[..packet.len].to_vec());
                    self.under_way.insert((self.now + DELAY, self.count), flying);
                }
                while lane.poll_event().is_some() {}
            }
            let next = self.under_way.first_key_value().map(|((due, _), _)| *due);
            let times = self.lanes.iter().filter_map(Lane::timeout).chain(next).chain([until]);
            self.now = times.min().expect("there is an end").max(self.now);
            while let Some(entry) = self.under_way.first_entry()
                && entry.key().0 <= self.now
            {
                let (to, number, inside) = entry.remove();
                self.lanes[to].on_packet(self.now, number, &inside, Ecn::NotCapable);
            }
            for lane in &mut self.lanes {
                while let Some(delivery) = lane.poll_message(&mut self.payload) {
                    lane.discard(self.now, delivery.receipt);
                }
            }
        }
    }
}

/// [LINK-30]: a flow that the peer's buffer holds back does not use the window.
#[test]
fn a_window_beyond_what_the_peer_holds_does_not_grow() {
    const FLIGHT: u64 = 20_000;
    let mut path = Path::new(&Config { flight_bytes_max: Some(FLIGHT), ..Config::default() });
    for _ in 0..300 {
        while path.lanes[0].send(&message(), &[7; 1000]).is_ok() {}
        path.pass(DELAY);
    }
    let window = path.lanes[0].congestion.window();
    assert!(window <= 3 * FLIGHT, "{window} bytes, of which {FLIGHT} are ever under way");
}

/// Also at the end that is asked, and so never asks.
#[test]
fn what_is_kept_for_later_is_let_go_of_when_nobody_says_anything() {
    let mut path = Path::new(&Config::default());
    for lane in &mut path.lanes {
        (0..100).for_each(|_| lane.send(&message(), &[7; 1000]).expect("there is room"));
    }
    path.pass(DELAY * 20);
    let kept = |path: &Path| path.lanes.each_ref().map(|lane| lane.pool.kept() > 0);
    assert_eq!(kept(&path), [true; 2]);
    path.pass(Duration::from_secs(5));
    assert_eq!(kept(&path), [false; 2]);
}

/// [LINK-23] [LINK-32]: a probe is as long as every path takes, once a longer one was not answered.
#[test]
fn a_path_that_takes_less_is_noticed_by_short_probes() {
    let mut path = Path::new(&Config::default());
    path.lanes[0].send(&message(), &[7; 1000]).expect("there is room");
    path.pass(DELAY * 20);
    let (long, rtt) = (path.lanes[0].packet_len(), path.lanes[0].rtt());
    assert_eq!((long, rtt < DELAY * 3), (1420, true));
    path.packet_len = 1200;
    let start = path.now;
    // None of them fits into a packet that passes.
    (0..10).for_each(|_| path.lanes[0].send(&message(), &[7; 1300]).expect("there is room"));
    while !path.lanes[0].is_settled() {
        path.pass(DELAY);
        // That probes were twice as late each time would alone take more than thirty round trips.
        assert!(path.now.since(start) < rtt * 30, "{:?}", path.now.since(start));
    }
    assert_eq!(path.lanes[0].packet_len(), 1168);
}

/// [LINK-31]: however wide the window is.
#[test]
fn little_more_than_the_first_window_leaves_at_once_after_a_pause() {
    const FLIGHT: u64 = 1 << 20;
    let config = Config { flight_bytes_max: Some(FLIGHT), ..Config::default() };
    let mut path = Path::new(&config);
    for _ in 0..300 {
        while path.lanes[0].send(&message(), &[7; 1000]).is_ok() {}
        path.pass(DELAY);
    }
    path.pass(DELAY * 20);
    let (now, lane, mut buffer) = (path.now, &mut path.lanes[0], [0; 1500]);
    assert_eq!(lane.congestion_window(), FLIGHT);
    while lane.send(&message(), &[7; 1000]).is_ok() {}
    let leaves = std::iter::from_fn(|| lane.poll_transmit(now, &mut buffer));
    let bytes: u64 = leaves.map(|packet| packet.len as u64).sum();
    // A burst is what the pace, of two windows for a round trip of 20 ms at most, gives in 2 ms.
    let packet = lane.packet_len() as u64;
    let most = config.initial_window_packets * packet + FLIGHT / 5 + packet;
    assert!(bytes <= most, "{bytes} bytes leave at once, of {most}");
}

/// [LINK-73]: the carrier before may have lost it, and carries nothing any more.
#[test]
fn who_closes_says_so_again_by_another_carrier() {
    let (now, mut buffer) = (Time::from_nanos(1), [0; 1500]);
    let mut lane = Lane::new(now, Config::default()).expect("the limits fit together");
    let mut says = |lane: &mut Lane| {
        let packet = lane.poll_transmit(now, &mut buffer)?;
        let frame = Frame::read(&mut Reader::new(&buffer[..packet.len]));
        Some(matches!(frame, Ok(Frame::Close(CloseReason::Shutdown))))
    };
    lane.close(now, CloseReason::Shutdown);
    assert_eq!([says(&mut lane), says(&mut lane)], [Some(true), None]);
    lane.on_carrier_change(now, &Config::default()).expect("the limits fit together");
    assert_eq!([says(&mut lane), says(&mut lane)], [Some(true), None]);
    let until = lane.timeout().expect("it ends");
    lane.on_timeout(until);
    lane.on_carrier_change(until, &Config::default()).expect("the limits fit together");
    assert_eq!(says(&mut lane), None, "it has ended");
}

/// [LINK-72]: an answer that nobody has asked for proves nothing, and nothing is kept for it.
#[test]
fn only_what_was_asked_for_is_a_proof() {
    let (now, mut buffer) = (Time::from_nanos(1), [0; 1500]);
    let mut lane = Lane::new(now, Config::default()).expect("the limits fit together");
    let mut number = 0;
    let mut proofs = |lane: &mut Lane, token| {
        let mut inside = [0; 9];
        let mut writer = Writer::new(&mut inside);
        Frame::PathResponse(token).write(&mut writer).expect("there is room");
        lane.on_packet(now, number, &inside, Ecn::NotCapable);
        number += 1;
        let events = std::iter::from_fn(|| lane.poll_event());
        events.filter(|event| matches!(event, Event::PathProven(_))).collect::<Vec<_>>()
    };
    assert_eq!(proofs(&mut lane, 0), []);
    lane.challenge(7);
    assert_eq!(proofs(&mut lane, 7), [], "it has not left");
    lane.poll_transmit(now, &mut buffer).expect("it leaves");
    assert_eq!(proofs(&mut lane, 8), []);
    assert_eq!(proofs(&mut lane, 7), [Event::PathProven(7)]);
    assert_eq!(proofs(&mut lane, 7), [], "once");
}
