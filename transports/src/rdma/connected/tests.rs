//! Workers that send each other packets over simulated devices, whatever those do: each packet comes once
//! and in order for as long as its connection lives, and every connection that ends says so.

use super::*;
use crate::link::{Lend, Random, Time};
use crate::rdma::BadCredit;
use crate::rdma::sim::{Fabric, SimDevice, SimVerbs, Weather};
use crate::rdma::verbs::{Direction, Outcome, Verbs, WorkId};
use greenroom::net::Bytes;
use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::time::Duration;

mod apart;
mod lending;
mod lost;
mod many;
mod peers;
mod short;

/// How many seeds each test tries: GREENROOM_SEEDS, or some.
pub(crate) fn each_seed(mut run: impl FnMut(u64)) {
    let count = std::env::var("GREENROOM_SEEDS").ok();
    let count = count.map_or(200, |count| count.parse().expect("GREENROOM_SEEDS is a number"));
    for seed in 0..count {
        if let Err(panic) = std::panic::catch_unwind(AssertUnwindSafe(|| run(seed))) {
            eprintln!("seed {seed} failed");
            std::panic::resume_unwind(panic);
        }
    }
}

const SMALL: Config = Config {
    connections_max: 4,
    sends: 24,
    receives: 8,
    slot_bytes: 512,
    inline_bytes: 64,
    timing: Timing { timeout: 8, retries: 3, not_ready_retries: 3, not_ready_delay: 12 },
};

/// A worker's connection to one peer.
#[derive(Default)]
struct Peer {
    id: Option<ConnectionId>,
    /// How many connections there were before.
    epoch: u64,
    sent: u64,
    received: u64,
}

struct Node {
    verbs: SimVerbs,
    connected: Connected<SimDevice>,
    peers: BTreeMap<usize, Peer>,
    /// Packets that it was lent, and what was in them.
    lent: Vec<(Bytes, Vec<u8>)>,
    /// It does nothing until then.
    busy_until: Time,
}

struct World {
    fabric: Fabric,
    dice: Random,
    nodes: Vec<Node>,
    ended: Vec<Ended>,
}

/// What a packet holds: its place, and bytes that follow from it.
fn content(epoch: u64, sequence: u64, from: usize) -> Vec<u8> {
    let mut packet = Vec::from(epoch.to_le_bytes());
    packet.extend(sequence.to_le_bytes());
    let len = (sequence * 37 + from as u64) % 300;
    packet.extend((0..len).map(|at| (at ^ sequence ^ epoch) as u8));
    packet
}

impl World {
    fn new(seed: u64, nodes: usize, weather: Weather) -> Self {
        let fabric = Fabric::new(seed, weather);
        let nodes: Vec<_> = (0..nodes).map(|_| Self::node(&fabric)).collect();
        let dice = Random::new(seed ^ 0xd1ce);
        let mut world = Self { fabric, dice, nodes, ended: Vec::new() };
        for left in 0..world.nodes.len() {
            for right in left + 1..world.nodes.len() {
                world.join(left, right);
            }
        }
        world
    }

    fn node(fabric: &Fabric) -> Node {
        let verbs = fabric.host();
        let device = verbs.open("sim0", 1, 0).expect("a device");
        let connected = Connected::new(device, SMALL).expect("room for it");
        Node {
            verbs,
            connected,
            peers: BTreeMap::new(),
            lent: Vec::new(),
            busy_until: Time::default(),
        }
    }

    /// What the two say to each other over another channel, before and after a break.
    fn join(&mut self, left: usize, right: usize) {
        let psn = self.dice.next() as u32;
        let opened = [(left, right), (right, left)].map(|(at, other)| {
            let node = &mut self.nodes[at];
            let peer = node.peers.entry(other).or_default();
            if let Some(old) = peer.id.take() {
                node.connected.end(old);
            }
            let id = node.connected.open(psn ^ at as u32).expect("room for it");
            let epoch = peer.epoch + 1;
            *peer = Peer { id: Some(id), epoch, sent: 0, received: 0 };
            (at, id, node.connected.endpoint(id).expect("it is open"))
        });
        for (own, other) in [(0, 1), (1, 0)] {
            let (at, id, _) = opened[own];
            let connected = &mut self.nodes[at].connected;
            connected.connect(id, &opened[other].2, SMALL.receives).expect("they fit together");
        }
    }

    fn chance(&mut self, percent: u64) -> bool {
        self.dice.below(100) < percent
    }

    /// One worker's turn.
    fn turn(&mut self, at: usize, packets_max: u64) {
        let dice = &mut self.dice;
        let node = &mut self.nodes[at];
        for peer in node.peers.values_mut() {
            let Some(id) = peer.id else { continue };
            for _ in 0..dice.below(12) {
                if peer.sent == packets_max {
                    break;
                }
                let has_room = node.connected.has_room(id);
                let packet = content(peer.epoch, peer.sent, at);
                let sent = node.connected.send(id, |slot| {
                    slot[..packet.len()].copy_from_slice(&packet);
                    packet.len()
                });
                assert_eq!(sent == Err(SendError::Full), !has_room, "{sent:?}");
                if sent.is_err() {
                    break;
                }
                peer.sent += 1;
            }
        }
        node.connected.flush();
        self.poll(at);
        self.nodes[at].connected.flush();
        self.take_ended(at);
    }

    fn poll(&mut self, at: usize) {
        let dice = &mut self.dice;
        let Node { connected, peers, lent, .. } = &mut self.nodes[at];
        connected.poll(|id, packet| {
            let (&other, peer) = peers
                .iter_mut()
                .find(|(_, peer)| peer.id == Some(id))
                .expect("a connection of ours");
            let expected = content(peer.epoch, peer.received, other);
            assert!(
                **packet == expected[..],
                "packet {} from {other} is another one",
                peer.received
            );
            peer.received += 1;
            if dice.below(3) == 0 {
                lent.extend(packet.lend().map(|packet| (packet, expected)));
            } else {
                // It is this end's to write to until the call is over.
                packet.fill(0xee);
            }
        });
        // Nobody writes to what is lent.
        let is_kept = |(packet, expected): &mut (Bytes, Vec<u8>)| {
            assert!(*packet == expected[..], "what was lent is another packet");
            dice.below(8) > 0
        };
        lent.retain_mut(is_kept);
    }

    fn take_ended(&mut self, at: usize) {
        let Node { connected, peers, .. } = &mut self.nodes[at];
        while let Some((id, why)) = connected.poll_ended() {
            self.ended.push(why);
            let own = matches!(why, Ended::Failed(_) | Ended::Device(DeviceError::Failed));
            assert!(own, "only what the device did ends a connection: {why:?}");
            let found = peers.iter_mut().find(|(_, peer)| peer.id == Some(id));
            if let Some((_, peer)) = found {
                peer.id = None;
            }
        }
    }

    fn step(&mut self, packets_max: u64) {
        let now = self.fabric.now() + Duration::from_nanos(self.dice.below(3000));
        self.fabric.advance(now);
        for at in 0..self.nodes.len() {
            if self.nodes[at].busy_until <= now && self.chance(70) {
                self.turn(at, packets_max);
            }
        }
        let broken: Vec<_> = self
            .nodes
            .iter()
            .enumerate()
            .flat_map(|(at, node)| {
                let gone = node.peers.iter().filter(|(_, peer)| peer.id.is_none());
                gone.map(move |(&other, _)| (at, other))
            })
            .collect();
        for (at, other) in broken {
            // The other end is told by whatever channel there is, or finds out by itself.
            if self.nodes[at].peers[&other].id.is_none() && self.chance(30) {
                self.join(at, other);
            }
        }
    }

    /// A worker is busy with something else for a while.
    fn pause_sometimes(&mut self) {
        if self.dice.below(100) == 0 {
            let at = self.dice.below(self.nodes.len() as u64) as usize;
            // Sometimes longer than devices wait for one that is not ready.
            let long = Duration::from_micros([100, 5000][usize::from(self.chance(10))]);
            self.nodes[at].busy_until = self.fabric.now() + long;
        }
    }

    /// Whether every packet of every connection came.
    fn is_done(&self, packets_max: u64) -> bool {
        self.nodes.iter().all(|node| {
            node.peers.values().all(|peer| peer.received == packets_max && peer.id.is_some())
        })
    }
}

fn drawn(dice: &mut Random) -> Weather {
    Weather {
        latency: Duration::from_nanos(200 + dice.below(5000)),
        jitter: Duration::from_nanos([0, 3000, 100_000][dice.below(3) as usize]),
        completion_jitter: Duration::from_nanos([0, 2000, 50_000][dice.below(3) as usize]),
        ..Weather::fair()
    }
}

const PACKETS: u64 = 150;

// [RDMA-6] [RDMA-10] [RDMA-11] [RDMA-12] [RDMA-14]
#[test]
fn every_packet_comes_once_and_in_order_and_nobody_is_caught_unready() {
    each_seed(|seed| {
        let mut dice = Random::new(seed);
        let nodes = 2 + dice.below(2) as usize;
        let mut world = World::new(seed, nodes, drawn(&mut dice));
        if seed % 3 == 0 {
            // No more memory than there is.
            (0..nodes).for_each(|host| world.fabric.limit_memory(host, 0));
        }
        let mut steps = 0;
        while !world.is_done(PACKETS) {
            steps += 1;
            assert!(steps < 100_000, "somebody waits for ever");
            world.pause_sometimes();
            world.step(PACKETS);
        }
        assert_eq!(world.ended, [], "nothing failed");
        assert_eq!(world.fabric.not_ready(), 0);
    });
}

// [RDMA-14] [RDMA-15]
#[test]
fn a_connection_that_fails_says_so_and_the_next_one_works() {
    let mut failures = 0;
    each_seed(|seed| {
        let mut dice = Random::new(seed ^ 0xfa11);
        let nodes = 2 + dice.below(2) as usize;
        let weather = Weather { failures_ppm: 2000 + dice.below(20_000), ..drawn(&mut dice) };
        let mut world = World::new(seed, nodes, weather);
        for _ in 0..600 {
            world.pause_sometimes();
            if world.chance(1) {
                // The network is away for a while, longer or shorter than devices try.
                let host = world.nodes[0].verbs.host();
                world.fabric.set_port(host, false);
                let away = Duration::from_micros(world.dice.below(10_000));
                world.fabric.advance(world.fabric.now() + away);
                world.fabric.set_port(host, true);
            }
            world.step(u64::MAX);
        }
        world.fabric.set_weather(Weather::fair());
        let pairs: Vec<_> = (0..nodes).flat_map(|a| (a + 1..nodes).map(move |b| (a, b))).collect();
        for (left, right) in pairs {
            world.join(left, right);
        }
        let mut steps = 0;
        while !world.is_done(PACKETS) {
            steps += 1;
            assert!(steps < 100_000, "somebody waits for ever");
            world.step(PACKETS);
        }
        failures += world.ended.len();
        assert_eq!(world.fabric.not_ready(), 0);
    });
    assert!(failures > 20, "the devices failed too rarely: {failures}");
}

// [RDMA-15]
#[test]
fn a_device_that_is_pulled_away_ends_all_connections() {
    let mut world = World::new(3, 3, Weather::fair());
    for _ in 0..50 {
        world.step(PACKETS);
    }
    world.fabric.pull(world.nodes[0].verbs.host());
    let connected = &mut world.nodes[0].connected;
    connected.flush();
    assert_eq!(connected.poll(|_, _| {}), 0);
    let ended: Vec<_> = std::iter::from_fn(|| connected.poll_ended()).collect();
    assert_eq!(ended.len(), 2, "each connection once: {ended:?}");
    assert!(ended.iter().all(|(_, why)| *why == Ended::Device(DeviceError::Gone)));
    let (id, _) = ended[0];
    assert!(!connected.has_room(id));
    assert_eq!(connected.send(id, |_| 1), Err(SendError::Ended));
    assert!(connected.open(1).is_err());
    connected.end(id);
    assert_eq!(connected.poll_ended(), None);
}

fn pair() -> (Fabric, [Connected<SimDevice>; 2], [ConnectionId; 2]) {
    let fabric = Fabric::new(1, Weather::fair());
    let mut ends = [(); 2].map(|()| World::node(&fabric).connected);
    let ids = [0, 1].map(|at: usize| ends[at].open(at as u32).expect("room for it"));
    let [left, right] = [0, 1].map(|at: usize| ends[at].endpoint(ids[at]).expect("it is open"));
    ends[0].connect(ids[0], &right, SMALL.receives).expect("they fit");
    ends[1].connect(ids[1], &left, SMALL.receives).expect("they fit");
    (fabric, ends, ids)
}

fn put(slot: &mut [u8], bytes: &[u8]) -> usize {
    slot[..bytes.len()].copy_from_slice(bytes);
    bytes.len()
}

#[test]
fn limits_are_errors_and_an_id_is_never_for_another() {
    let (_, [mut left, _], [id, _]) = pair();
    let others: Vec<_> = (1..4).map(|psn| left.open(psn).expect("room for four")).collect();
    assert!(matches!(left.open(9), Err(ConnectionError::TooMany(4))));
    assert_eq!(left.send(others[0], |_| 1), Err(SendError::Full), "it is not connected");
    left.end(id);
    let new = left.open(9).expect("room for one");
    assert_ne!(new, id);
    assert_eq!(left.endpoint(id), None);
    left.end(id);
    assert!(left.endpoint(new).is_some());
    let peer = left.endpoint(new).expect("it is open");
    assert!(matches!(left.connect(new, &peer, 3), Err(ConnectionError::Receives(3))));
    assert!(matches!(left.connect(id, &peer, 8), Err(ConnectionError::State)));
    assert!(left.connect(new, &peer, 8).is_ok());
    assert!(left.connect(new, &peer, 8).is_err(), "once");
}

/// A device whose queues are shorter than all connections need serves as many as it can.
// [RDMA-6]
#[test]
fn a_device_with_few_completions_has_fewer_connections() {
    let fabric = Fabric::new(1, Weather::fair());
    let device = fabric.host().open("sim0", 1, 0).expect("a device");
    assert_eq!(device.limits().completions, 32_767);
    let config = Config { connections_max: 2000, sends: 99, ..SMALL };
    let mut connected = Connected::new(device, config).expect("it serves some");
    let opened = (0..2000).take_while(|&psn| connected.open(psn).is_ok()).count();
    assert!((250..300).contains(&opened), "{opened}");
}

/// A completion names one of as many owners as 15 bits tell apart.
// [RDMA-6]
#[test]
fn there_are_no_more_connections_than_owners() {
    let limits = Limits { completions: u32::MAX, shared_requests: u32::MAX, ..Limits::default() };
    let config = Config { connections_max: u16::MAX, ..SMALL };
    let (connections, ..) = config.fitting(&limits);
    assert_eq!(connections, 32_511);
    let last = WorkId::new(Direction::Send, connections - 1, 0);
    assert_eq!(last.owner(), connections - 1);
}

/// The system gives the number of a queue pair to the next one, and what it said of the old one may be polled only then.
// [RDMA-15]
#[test]
fn what_is_said_of_a_queue_pair_that_is_gone_is_not_the_next_ones() {
    let mut shown = 0;
    for seed in 0..20 {
        let fabric = Fabric::new(seed, Weather::fair());
        let mut left = World::node(&fabric).connected;
        let old = left.open(1).expect("room for it");
        let (number, peer) = (left.endpoint(old).expect("it is open").qpn, [9; 16]);
        let peer = Endpoint { gid: peer, ..left.endpoint(old).expect("it is open") };
        left.connect(old, &peer, 8).expect("they fit");
        left.send(old, |slot| put(slot, b"lost")).expect("room");
        left.flush();
        let gone = left.places[0].link.as_mut().expect("it is open");
        gone.drain().expect("the device is there");
        fabric.advance(fabric.now() + Duration::from_millis(1));
        // As if it had not been waited for.
        let gone = left.places[0].link.take().expect("it is open");
        left.routes.remove(&number);
        gone.end(&mut left.memory.spare);
        let new = left.open(2).expect("room for it");
        assert_eq!(left.endpoint(new).expect("it is open").qpn, number);
        left.connect(new, &peer, 8).expect("they fit");
        left.send(new, |slot| put(slot, b"under way")).expect("room");
        left.flush();
        left.poll(|_, _| panic!("nothing came"));
        shown += usize::from(left.has_taken());
        assert_eq!(left.poll_ended(), None, "what was said is of another one");
    }
    assert!(shown > 0, "nothing was left to be said");
}

// [RDMA-12]
#[test]
fn who_panics_at_a_packet_still_tells_of_those_before() {
    let (fabric, [mut left, mut right], [id, _]) = pair();
    while left.send(id, |slot| put(slot, b"more")).is_ok() {}
    left.flush();
    fabric.advance(fabric.now() + Duration::from_millis(1));
    let mut came = 0;
    let taken = std::panic::catch_unwind(AssertUnwindSafe(|| {
        right.poll(|_, _| {
            came += 1;
            assert!(came < 7, "the last one");
        })
    }));
    assert!(taken.is_err());
    assert_eq!(right.dirty, [0]);
    right.flush();
    fabric.advance(fabric.now() + Duration::from_millis(1));
    left.poll(|_, _| panic!("nothing was sent"));
    assert_eq!(left.poll_ended(), None);
}

// [RDMA-16]
#[test]
fn who_arms_and_polls_once_more_misses_nothing() {
    let (fabric, [mut left, mut right], [id, _]) = pair();
    let mut context = Context::from_waker(std::task::Waker::noop());
    left.send(id, |slot| put(slot, b"before")).expect("room");
    left.flush();
    fabric.advance(fabric.now() + Duration::from_millis(1));
    right.arm();
    assert_eq!(right.poll(|_, _| {}), 1);
    assert_eq!(right.poll_event(&mut context), Poll::Pending);
    left.send(id, |slot| put(slot, b"after")).expect("room");
    left.flush();
    fabric.advance(fabric.now() + Duration::from_millis(1));
    assert_eq!(right.poll_event(&mut context), Poll::Ready(()));
    assert_eq!(right.poll(|_, _| {}), 1);
    assert_eq!(left.send(id, |_| 0), Ok(0), "nothing to send is fine");
}
