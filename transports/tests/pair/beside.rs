//! Short messages beside a flow of long ones, on a path that is long and loses nothing.

use greenroom_transports::link::{
    Address, Config, Delivery, Ecn, Envelope, Kind, Lane, SendError, Time,
};
use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

/// How long a packet is under way.
const DELAY: Duration = Duration::from_millis(10);
/// Bytes that may be under way: fourteen packets, in which a flow leaves at less than a megabyte a second.
const FLIGHT: u64 = 20_000;
const LONG: usize = 64 << 10;

/// A sender, a receiver, and what is between them.
struct Path {
    now: Time,
    lanes: [Lane; 2],
    under_way: BTreeMap<(Time, u64), (usize, u64, Vec<u8>)>,
    count: u64,
    /// What has come and is held by the receiver.
    held: VecDeque<Delivery>,
    /// When each message came, by its sender.
    came: BTreeMap<u32, Vec<Time>>,
}

fn message(from: u32) -> Envelope {
    let (from, to) = (Address { slot: from, generation: 1 }, Address { slot: from, generation: 2 });
    Envelope { to, from, kind: Kind::Tell, manifest: 1, correlation: 0 }
}

impl Path {
    fn new() -> Self {
        let config = Config {
            flight_bytes_max: Some(FLIGHT),
            mailbox_messages_start: None,
            ..Config::default()
        };
        let now = Time::from_nanos(1);
        let lane = || Lane::new(now, config.clone()).expect("the limits fit together");
        let (under_way, held, came) = (BTreeMap::new(), VecDeque::new(), BTreeMap::new());
        Self { now, lanes: [lane(), lane()], under_way, count: 0, held, came }
    }

    fn send(&mut self, from: u32, len: usize) -> Result<(), SendError> {
        self.lanes[0].send(&message(from), &vec![7; len])
    }

    /// Sends long messages while they are taken; how many were.
    fn pour(&mut self) -> usize {
        let mut taken = 0;
        while self.send(1, LONG).is_ok() {
            taken += 1;
        }
        taken
    }

    /// What happens until then. The receiver lets go of what comes, unless it `holds` it.
    fn run(&mut self, until: Time, holds: bool) {
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
            self.receive(holds);
        }
    }

    fn receive(&mut self, holds: bool) {
        while let Some(delivery) = self.lanes[1].poll_message(&mut Vec::new()) {
            self.came.entry(delivery.envelope.from.slot).or_default().push(self.now);
            self.held.push_back(delivery);
        }
        while !holds && let Some(delivery) = self.held.pop_front() {
            self.lanes[1].discard(self.now, delivery.receipt);
        }
    }

    /// Keeps a flow going until then.
    fn flow(&mut self, until: Time) {
        while self.now < until {
            self.pour();
            self.run(self.now + Duration::from_millis(1), false);
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
            self.run(self.now + Duration::from_millis(1), false);
            assert!(self.now < start + Duration::from_secs(10), "it does not come");
        }
        self.now.since(start)
    }

    fn count_of(&self, from: u32) -> usize {
        self.came.get(&from).map_or(0, Vec::len)
    }
}

// [LINK-49]
#[test]
fn a_short_message_goes_at_once_beside_a_flow() {
    let mut path = Path::new();
    path.flow(Time::from_nanos(2_000_000_000));
    // One that comes rarely may find the window full; one that comes soon after another one does not.
    path.time_of(2, 64, true);
    for _ in 0..50 {
        let time = path.time_of(2, 64, true);
        assert!(time <= DELAY + Duration::from_millis(2), "{time:?}");
    }
    assert!(path.count_of(1) > 20, "the flow goes on: {}", path.count_of(1));
}

// [LINK-48]
#[test]
fn a_flow_does_not_wait_in_the_lane_and_hold_up_others() {
    let mut path = Path::new();
    path.flow(Time::from_nanos(1_000_000_000));
    let start = path.now;
    let mut taken = path.pour() + path.count_of(1);
    for _ in 0..1000 {
        path.run(path.now + Duration::from_millis(5), false);
        taken += path.pour();
    }
    // Those under way, those that are sent soon, and the one that passes the mark.
    let waiting = taken - path.count_of(1);
    assert!(waiting <= 5, "{waiting} long messages wait in the lane");
    let bytes = path.count_of(1) * LONG;
    let time = path.now.since(start).as_millis() as usize;
    assert!(bytes / time > 800, "the flow has all of the path: {} bytes a ms", bytes / time);
    for _ in 0..20 {
        let time = path.time_of(3, 4096, true);
        assert!(time < Duration::from_millis(300), "a message of middling length: {time:?}");
    }
}

// [LINK-47]
#[test]
fn long_messages_that_are_held_leave_room_for_short_ones() {
    let mut path = Path::new();
    for _ in 0..5000 {
        path.pour();
        path.run(path.now + Duration::from_millis(1), true);
    }
    assert_eq!(path.pour(), 0, "there is no room for long ones");
    for _ in 0..100 {
        let before = path.count_of(2);
        path.send(2, 64).expect("there is room for a short one");
        path.run(path.now + 3 * DELAY, true);
        assert_eq!(path.count_of(2), before + 1);
    }
    path.send(3, 4096).expect("there is room for one of middling length");
    path.run(path.now + Duration::from_secs(1), true);
    assert_eq!(path.count_of(3), 1);
}

// [LINK-41] [LINK-47]
#[test]
fn a_short_message_overtakes_one_of_sixteen_mebibytes() {
    let mut path = Path::new();
    path.send(1, 16 << 20).expect("there is room for the first one");
    path.run(path.now + Duration::from_secs(1), false);
    for _ in 0..50 {
        let time = path.time_of(2, 64, false);
        assert!(time <= DELAY + Duration::from_millis(2), "{time:?}");
        let time = path.time_of(3, 1000, false);
        assert!(time <= DELAY + Duration::from_millis(2), "{time:?}");
    }
    assert_eq!(path.count_of(1), 0, "the long one is under way");
    path.run(path.now + Duration::from_secs(60), false);
    assert_eq!(path.count_of(1), 1);
}
