//! Single cases: what has to happen, in a world that does one thing.

use super::world::{Network, Work, World, ms};
use greenroom::net::FrameBuf;
use greenroom_transports::link::{Address, Config, Ecn, Envelope, Event, Kind, Lane, Time};
use std::time::Duration;

fn busy(messages: u64, long_percent: u64) -> Work {
    let (actors, long_max, pace_percent, window) = (4, 60_000, 90, u32::MAX);
    Work { messages, actors, long_percent, long_max, pace_percent, window }
}

fn idle() -> Work {
    busy(0, 0)
}

fn config() -> Config {
    Config { packet_len_max: 8000, ..Config::default() }
}

/// A packet is lost with a message of one pair: that of another pair, behind it, is delivered at once.
// [LINK-50]
#[test]
fn a_lost_message_holds_up_its_own_pair_alone() {
    let lane = || Lane::new(Time::default(), Config::default()).expect("the defaults");
    let (mut left, mut right) = (lane(), lane());
    let (mut buffer, mut payload, now) = ([0; 1500], FrameBuf::default(), Time::default());
    let mut delivered = Vec::new();
    for (slot, text, is_lost) in [(1, "a1", true), (2, "b1", false), (1, "a2", false)] {
        let to = Address { slot, generation: 0 };
        let from = Address { slot: 9, generation: 0 };
        let envelope = Envelope { to, from, kind: Kind::Tell, manifest: 0, correlation: 0 };
        left.send(&envelope, text.as_bytes()).expect("there is room");
        let packet = left.poll_transmit(now, &mut buffer).expect("a message waits");
        if !is_lost {
            right.on_packet(now, packet.number, &buffer[..packet.len], Ecn::NotCapable);
        }
        while let Some(delivery) = right.poll_message(&mut payload) {
            delivered.push(String::from_utf8(payload.to_vec()).expect("text"));
            right.release(now, delivery.receipt, 32);
        }
    }
    assert_eq!(delivered, ["b1"]);
    assert!(right.bytes_held() > 0, "the second of the pair is held back");
}

// [LINK-32] [LINK-63]
#[test]
fn packets_grow_to_what_the_path_takes_and_shrink_when_it_takes_less() {
    let mut network = Network::calm();
    network.packet_len = 1400;
    let mut world = World::new(1, network, [busy(3000, 50), idle()], &config());
    world.run_until(ms(400), |world| world.sides[0].lane.packet_len() >= 1385);
    assert!(!world.is_done(), "much is still to come");
    let len = world.sides[0].lane.packet_len();
    assert!((1385..=1400).contains(&len), "{len} of 1400 bytes");
    // From here on the path swallows what it took before.
    world.network.packet_len = 1200;
    world.run(ms(120_000));
    assert!(world.is_done(), "what does not fit any more never arrives");
    assert_eq!(world.sides[0].lane.packet_len(), 1168);
    world.history.check_all_delivered(0);
}

// [LINK-24]
#[test]
fn over_a_carrier_that_loses_nothing_no_packet_is_sent_twice() {
    let config = Config { loss_detection: false, ..config() };
    let mut world = World::new(2, Network::calm(), [busy(500, 10), busy(500, 10)], &config);
    world.run(ms(60_000));
    assert!(world.is_done());
    for side in &world.sides {
        assert_eq!(side.lane.counts().packets_lost, 0);
        assert_eq!(side.lane.counts().probes, 0);
        assert_eq!(side.lane.counts().duplicates, 0);
        assert_eq!(side.lane.packet_len(), config.packet_len_start, "no sizes are tried");
    }
}

/// What a network does to marks.
type Marks = fn(Ecn) -> Ecn;

// [LINK-35] [LINK-36]
#[test]
fn marks_of_congestion_narrow_the_window_where_the_path_keeps_marks() {
    let paths: [(Marks, Ecn, u64); 3] = [
        (|ecn| ecn, Ecn::Capable0, 0),
        (|_| Ecn::Congested, Ecn::Capable0, 1),
        (|_| Ecn::NotCapable, Ecn::NotCapable, 0),
    ];
    for (network, kept, congestions) in paths {
        let lane = || Lane::new(Time::default(), Config::default()).expect("the defaults");
        let mut lanes = [lane(), lane()];
        let (mut buffer, mut now) = ([0; 1500], Time::default());
        let to = Address { slot: 1, generation: 0 };
        let envelope = Envelope { to, from: to, kind: Kind::Tell, manifest: 0, correlation: 0 };
        for _ in 0..8 {
            lanes[0].send(&envelope, &[7; 1000]).expect("there is room");
        }
        let window = lanes[0].congestion_window();
        for from in [0, 1] {
            now = now + Duration::from_millis(1);
            while let Some(packet) = lanes[from].poll_transmit(now, &mut buffer) {
                let (inside, ecn) = (&buffer[..packet.len], network(lanes[from].ecn()));
                lanes[1 - from].on_packet(now, packet.number, inside, ecn);
            }
        }
        assert_eq!((lanes[0].ecn(), lanes[0].counts().congestions), (kept, congestions));
        assert_eq!(lanes[0].congestion_window() < window, congestions > 0);
        assert_eq!(lanes[0].counts().packets_lost, 0);
    }
}

// [LINK-70]
#[test]
fn an_idle_association_costs_two_packets_a_second() {
    let mut world = World::new(3, Network::calm(), [idle(), idle()], &config());
    world.run_until(ms(5_000), |_| false);
    let before = world.packets;
    world.run_until(ms(65_000), |_| false);
    let packets = world.packets - before;
    assert!((60..=120).contains(&packets), "{packets} packets in a minute");
    assert!(world.sides.iter().all(|side| side.end.is_none()));
}

// [LINK-71]
#[test]
fn ends_that_stood_still_go_on() {
    let mut world = World::new(4, Network::calm(), [busy(2000, 0), busy(2000, 0)], &config());
    world.run(ms(50));
    world.pause(ms(60_000));
    world.run(ms(120_000));
    assert!(world.is_done(), "{:?}", world.sides[0].end);
}

// [LINK-33] [LINK-72]
#[test]
fn a_new_path_is_proven_and_learnt_anew() {
    let lane = || Lane::new(Time::default(), Config::default()).expect("the defaults");
    let mut lanes = [lane(), lane()];
    let (mut buffer, mut now, mut proven) = ([0; 1500], Time::default(), None);
    lanes[0].challenge(77);
    for round in 0..4 {
        now = now + Duration::from_millis(1);
        let from = round % 2;
        while let Some(packet) = lanes[from].poll_transmit(now, &mut buffer) {
            let inside = &buffer[..packet.len];
            lanes[1 - from].on_packet(now, packet.number, inside, Ecn::NotCapable);
        }
        while let Some(event) = lanes[0].poll_event() {
            if let Event::PathProven(token) = event {
                proven = Some(token);
            }
        }
    }
    assert_eq!(proven, Some(77));
    assert_ne!(lanes[0].rtt(), Config::default().initial_rtt);
    lanes[0].on_path_change(now);
    assert_eq!(lanes[0].rtt(), Config::default().initial_rtt);
    assert_eq!(lanes[0].packet_len(), 1168);
}
