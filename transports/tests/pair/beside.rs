//! Short messages beside a flow of long ones, on a path that is long and loses nothing: mail, and answers.

use greenroom::net::FrameBuf;
use greenroom_transports::link::{Address, Config, Ecn, Envelope, Kind, Lane, SendError, Time};
use std::collections::BTreeMap;
use std::time::Duration;

/// How long a packet is under way.
const DELAY: Duration = Duration::from_millis(10);
/// Bytes that may be under way: fourteen packets, in which a flow leaves at less than a megabyte a second.
const FLIGHT: u64 = 20_000;
const LONG: usize = 64 << 10;
/// One of each class.
const KINDS: [Kind; 2] = [Kind::Tell, Kind::Reply];

/// A sender, a receiver, and what is between them.
struct Path {
    /// Of what kind all messages are.
    kind: Kind,
    now: Time,
    lanes: [Lane; 2],
    under_way: BTreeMap<(Time, u64), (usize, u64, Vec<u8>)>,
    count: u64,
    /// How many long messages were taken.
    poured: usize,
    /// When each message came, by its sender.
    came: BTreeMap<u32, Vec<Time>>,
}

fn message(kind: Kind, from: u32) -> Envelope {
    let (from, to) = (Address { slot: from, generation: 1 }, Address { slot: from, generation: 2 });
    Envelope { to, from, kind, manifest: 1, correlation: 0 }
}

impl Path {
    fn new(kind: Kind) -> Self {
        let config = Config {
            flight_bytes_max: Some(FLIGHT),
            mailbox_messages_start: None,
            ..Config::default()
        };
        let now = Time::from_nanos(1);
        let lane = || Lane::new(now, config.clone()).expect("the limits fit together");
        let (under_way, came) = (BTreeMap::new(), BTreeMap::new());
        Self { kind, now, lanes: [lane(), lane()], under_way, count: 0, poured: 0, came }
    }

    fn send(&mut self, from: u32, len: usize) -> Result<(), SendError> {
        self.send_as(self.kind, from, len)
    }

    fn send_as(&mut self, kind: Kind, from: u32, len: usize) -> Result<(), SendError> {
        self.lanes[0].send(&message(kind, from), &vec![7; len])
    }

    /// Sends long messages while they are taken.
    fn pour(&mut self) {
        while self.send(1, LONG).is_ok() {
            self.poured += 1;
        }
    }

    /// What happens until then.
    fn run(&mut self, until: Time) {
        let mut buffer = vec![0; 1500];
        while self.now < until {
            for at in 0..2 {
                let lane = &mut self.lanes[at];
                if lane.timeout().is_some_and(|due| due <= self.now) {
                    lane.on_timeout(self.now);
                }
                while let Some(packet) = lane.poll_transmit(self.now, &mut buffer) {
                    self.count += 1;
                    let flying = (1 - at, packet.number, buffer[..packet.len].to_vec());
                    self.under_way.insert((self.now + DELAY, self.count), flying);
                }
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
            self.receive();
        }
    }

    fn receive(&mut self) {
        while let Some(delivery) = self.lanes[1].poll_message(&mut FrameBuf::default()) {
            self.came.entry(delivery.envelope.from.slot).or_default().push(self.now);
            self.lanes[1].discard(self.now, delivery.receipt);
        }
    }

    /// Keeps a flow going until then.
    fn flow(&mut self, until: Time) {
        while self.now < until {
            self.pour();
            self.run(self.now + Duration::from_millis(1));
        }
    }

    /// How long a message is under way that is sent now, beside a flow if there is one.
    fn time_of(&mut self, from: u32, len: usize, flows: bool) -> Duration {
        let (start, before) = (self.now, self.count_of(from));
        self.send(from, len).expect("there is room for it");
        while self.count_of(from) == before {
            if flows {
                self.pour();
            }
            self.run(self.now + Duration::from_millis(1));
            assert!(self.now < start + Duration::from_secs(10), "it does not come");
        }
        self.now.since(start)
    }

    fn count_of(&self, from: u32) -> usize {
        self.came.get(&from).map_or(0, Vec::len)
    }
}

/// What holds for mail holds for answers.
fn for_each_kind(check: fn(Path)) {
    for kind in KINDS {
        check(Path::new(kind));
    }
}

// [LINK-37]
#[test]
fn a_short_message_goes_at_once_beside_a_flow() {
    for_each_kind(|mut path| {
        path.flow(Time::from_nanos(2_000_000_000));
        // One that comes rarely may find the window full; one that comes soon after another one does not.
        path.time_of(2, 64, true);
        for _ in 0..50 {
            let time = path.time_of(2, 64, true);
            assert!(time <= DELAY + Duration::from_millis(2), "{time:?}");
        }
        assert!(path.count_of(1) > 20, "the flow goes on: {}", path.count_of(1));
    });
}

// [LINK-47]
#[test]
fn a_flow_does_not_wait_in_the_lane_and_hold_up_others() {
    for_each_kind(|mut path| {
        path.flow(Time::from_nanos(1_000_000_000));
        let (start, before) = (path.now, path.count_of(1));
        for _ in 0..1000 {
            path.run(path.now + Duration::from_millis(5));
            path.pour();
        }
        // Those under way, those that are sent soon, and the one that passes the mark.
        let waiting = path.poured - path.count_of(1);
        assert!(waiting <= 5, "{waiting} long messages wait in the lane");
        let bytes = (path.count_of(1) - before) * LONG;
        let time = path.now.since(start).as_millis() as usize;
        assert!(bytes / time > 800, "the flow has all of the path: {} bytes a ms", bytes / time);
        for _ in 0..20 {
            let time = path.time_of(3, 4096, true);
            assert!(time < Duration::from_millis(300), "a message of middling length: {time:?}");
        }
    });
}

// [LINK-47]
#[test]
fn a_flow_of_mail_and_one_of_answers_share_the_path() {
    let mut path = Path::new(Kind::Tell);
    for _ in 0..5000 {
        for (from, kind) in (1..).zip(KINDS) {
            while path.send_as(kind, from, LONG).is_ok() {}
        }
        path.run(path.now + Duration::from_millis(1));
    }
    let [mail, answers] = [path.count_of(1), path.count_of(2)];
    assert!(mail.abs_diff(answers) <= mail / 4, "{mail} of mail, {answers} answers");
    assert!(mail + answers > 50, "{mail} of mail, {answers} answers");
}

// [LINK-41] [LINK-48]
#[test]
fn a_short_message_overtakes_those_of_sixteen_mebibytes() {
    const LONGEST: usize = 16 << 20;
    for_each_kind(|mut path| {
        // Not so soon that the window would grow anyway.
        path.time_of(2, 64, false);
        path.run(path.now + Duration::from_secs(1));
        path.send(1, LONGEST).expect("there is room for the first one");
        let start = path.now;
        while path.count_of(1) < 2 {
            path.run(path.now + Duration::from_millis(100));
            // A second one when the first one has left: until the peer has seen it begin there is no credit beside it.
            let begins = path.send(1, LONGEST).is_ok();
            let sent = path.now;
            while begins && path.send(2, 64).is_err() {
                path.run(path.now + Duration::from_millis(1));
                let waited = path.now.since(sent);
                assert!(waited <= 2 * DELAY + Duration::from_millis(3), "{waited:?}");
            }
            path.time_of(2, 64, false);
            let time = path.time_of(2, 64, false);
            assert!(time <= DELAY + Duration::from_millis(2), "{time:?}");
            let time = path.time_of(3, 1000, false);
            assert!(time <= DELAY + Duration::from_millis(2), "{time:?}");
            assert!(path.now.since(start) < Duration::from_secs(100), "the long ones do not come");
        }
    });
}

// [LINK-37]
#[test]
fn short_messages_without_end_do_not_hold_up_a_long_one() {
    for_each_kind(|mut path| {
        let mut is_sent = false;
        while path.count_of(1) == 0 {
            while path.send(2, 64).is_ok() {}
            path.run(path.now + Duration::from_millis(1));
            if path.now >= Time::from_nanos(1_000_000_000) && !is_sent {
                is_sent = path.send(1, LONG).is_ok();
            }
            assert!(path.now < Time::from_nanos(4_000_000_000), "it does not come");
        }
    });
}

// [LINK-47] [LINK-48] [LINK-60]
#[test]
fn middling_messages_without_end_do_not_keep_a_long_one_out() {
    for len in [LONG, 1 << 20] {
        for kind in KINDS {
            let (mut path, mut is_sent) = (Path::new(kind), false);
            while path.count_of(1) == 0 {
                let begins = path.now >= Time::from_nanos(1_000_000_000) && !is_sent;
                // The long one is tried last.
                while path.send(2, 12_000).is_ok() {}
                is_sent |= begins && path.send(1, len).is_ok();
                path.run(path.now + Duration::from_millis(1));
                // A quarter of the path is its own.
                let most = 4_000_000_000 + 6_000 * len as u64;
                assert!(path.now < Time::from_nanos(most), "{len} bytes do not come");
            }
            assert!(path.count_of(2) > 50, "the others come, too");
        }
    }
}
