//! Stations with simulated devices, over a network that loses datagrams: links move to queue pairs and back while
//! devices are pulled away, ports go down and queue pairs fail.

use super::{QueuePairs, Turn};
use crate::link::{Config, Random, Time};
use crate::rdma::sim::{Fabric, SimDevice, SimVerbs, Weather};
use crate::rdma::verbs::{OpenError, Verbs};
use crate::secure::endpoint::{self, AssociationId, Endpoint};
use crate::secure::entropy::{Entropy, NoEntropy};
use crate::secure::identity::Identity;
use crate::secure::key::{Key, PublicKey};
use crate::station::{Attempt, Carrier, Change, DATAGRAM_BYTES_MAX, Outgoing, Station, Why};
use greenroom::net::{LinkEnd, Order, SubmitError};
use parking_lot::Mutex;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;
use tokio::sync::oneshot;

const MESSAGES: u64 = 120;

/// Randomness from a seed.
struct Dice(Random);

impl Entropy for Dice {
    fn fill(&mut self, bytes: &mut [u8]) -> Result<(), NoEntropy> {
        bytes.fill_with(|| self.0.next().to_le_bytes()[3]);
        Ok(())
    }
}

type Open = Box<dyn FnMut() -> Result<SimDevice, OpenError>>;

/// The machine that a node finds its device in: another one after the first was pulled away, or none.
type Slot = Rc<RefCell<Option<SimVerbs>>>;

struct Node {
    station: Mutex<Station>,
    pairs: Option<QueuePairs<SimDevice, Open>>,
    slot: Slot,
    out: Outgoing,
    line: Option<AssociationId>,
    sent: u64,
    /// Whether a message found no room the last time.
    is_full: bool,
    received: u64,
    ended: Option<LinkEnd>,
}

struct World {
    fabric: Fabric,
    random: Random,
    nodes: [Node; 2],
    /// Datagrams under way, by time.
    network: BTreeMap<(Time, u64), (usize, Vec<u8>)>,
    serial: u64,
    loss_permille: u64,
    rounds: u64,
}

fn address(node: usize) -> SocketAddr {
    // Not on one machine, so that packets are short over UDP.
    SocketAddr::from(([10, 0, 0, 1 + node as u8], 7))
}

fn identity(node: usize) -> Identity {
    Identity::new(Key::new([1 + node as u8; 32]))
}

fn public(node: usize) -> PublicKey {
    identity(node).public()
}

fn node(fabric: &Fabric, seed: u64, own: usize, how: How) -> Node {
    let config = endpoint::Config {
        suite: crate::secure::wire::Suite::Classic,
        datagram_bytes_max: DATAGRAM_BYTES_MAX,
        lanes: if how == How::Without { 1 } else { Station::LANES },
        ..endpoint::Config::default()
    };
    let since = Duration::from_secs(1_700_000_000);
    let dice = Box::new(Dice(Random::new(seed ^ (own as u64 + 1) << 40)));
    let mut endpoint = Endpoint::new(config, identity(own), None, since, dice).unwrap();
    endpoint.allow(public(1 - own));
    let mut station = Station::new(endpoint, Config::default());
    let slot: Slot = Rc::new(RefCell::new(Some(fabric.host())));
    let pairs = (how != How::Without).then(|| {
        let trusted = (how == How::Trusting).then(|| public(1 - own));
        station.use_pairs(trusted);
        let slot = Rc::clone(&slot);
        QueuePairs::new(Box::new(move || {
            let none = || OpenError::NoDevice("sim0".to_owned());
            slot.borrow().as_ref().ok_or_else(none)?.open("sim0", 1, 0)
        }) as Open)
    });
    let (station, out) = (Mutex::new(station), Outgoing::new());
    Node {
        station,
        pairs,
        slot,
        out,
        line: None,
        sent: 0,
        is_full: false,
        received: 0,
        ended: None,
    }
}

/// How a node uses queue pairs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum How {
    Without,
    Sealed,
    Trusting,
}

impl World {
    fn new(seed: u64, weather: Weather, how: [How; 2]) -> Self {
        let fabric = Fabric::new(seed, weather);
        let nodes = [0, 1].map(|own| node(&fabric, seed, own, how[own]));
        let world = Self {
            fabric,
            random: Random::new(seed ^ 0xfab),
            nodes,
            network: BTreeMap::new(),
            serial: 0,
            loss_permille: 0,
            rounds: 0,
        };
        let (done, _outcome) = oneshot::channel();
        let to = "udp:10.0.0.2:7".parse().unwrap();
        let (at, key) = (address(1), Some(public(1)));
        let attempt = Attempt { address: to, at, key, is_known: true, done };
        world.nodes[0].station.lock().connect(attempt);
        world
    }

    fn now(&self) -> Time {
        self.fabric.now()
    }

    fn carrier(&self, node: usize) -> Option<Carrier> {
        self.nodes[node].station.lock().carrier(&public(1 - node))
    }

    fn is_by(&self, carrier: Carrier) -> bool {
        [0, 1].into_iter().all(|node| self.carrier(node) == Some(carrier))
    }

    /// The text of a message: its number, and more.
    fn text(number: u64) -> Vec<u8> {
        let mut text = number.to_le_bytes().to_vec();
        // Some take several packets over either way.
        let len = if number % 30 == 29 { 40_000 } else { [0, 1, 100, 1500][number as usize % 4] };
        text.extend((0..len).map(|at| (at as u64 ^ number) as u8));
        text
    }

    /// A turn of a node, as its own task has it, and what its actors do.
    fn turn(&mut self, own: usize, wants_to_send: bool) {
        let now = self.now();
        let mut cx = Context::from_waker(Waker::noop());
        let arrived: Vec<_> = self.network.range(..=(now, u64::MAX)).map(|(at, _)| *at).collect();
        let node = &mut self.nodes[own];
        if let Some(pairs) = &mut node.pairs {
            pairs.receive(&node.station, &mut cx, now);
        }
        for at in arrived {
            if self.network.get(&at).is_some_and(|(to, _)| *to == own) {
                let (_, mut datagram) = self.network.remove(&at).unwrap();
                node.station.lock().handle(now, address(1 - own), &mut datagram);
            }
        }
        let mut station = node.station.lock();
        station.handle_timeout(now);
        while station.poll_transmit(now, 1, &mut node.out) {
            let packet = node.out.datagrams().to_vec();
            if self.random.below(1000) >= self.loss_permille {
                self.serial += 1;
                let at = now + Duration::from_micros(50 + self.random.below(200));
                self.network.insert((at, self.serial), (1 - own, packet));
            }
        }
        drop(station);
        if let Some(pairs) = &mut node.pairs {
            pairs.send(&node.station, &mut cx, now);
        }
        self.act(own, wants_to_send);
    }

    fn act(&mut self, own: usize, wants_to_send: bool) {
        let mut cx = Context::from_waker(Waker::noop());
        let node = &mut self.nodes[own];
        let mut station = node.station.lock();
        if node.line.is_none()
            && let Poll::Ready(Some((id, _))) = station.poll_line(&mut cx)
        {
            node.line = Some(id);
        }
        let Some(id) = node.line else { return };
        if wants_to_send && node.sent < MESSAGES {
            match station.submit(id, Order::Within(7), &Self::text(node.sent)) {
                Ok(()) => (node.sent, node.is_full) = (node.sent + 1, false),
                Err(SubmitError::Full) => node.is_full = true,
                Err(error) => panic!("{error}"),
            }
        }
        let mut frame = Vec::new();
        while node.ended.is_none()
            && let Poll::Ready(received) = station.poll_receive(id, &mut cx, &mut frame)
        {
            match received {
                Ok(()) => {
                    // [RDMA-45]
                    assert_eq!(frame, Self::text(node.received), "all come, once and in order");
                    node.received += 1;
                }
                Err(end) => node.ended = Some(end),
            }
        }
    }

    /// Lets time pass, and both have some turns.
    fn round(&mut self) {
        self.rounds += 1;
        assert!(self.rounds < 200_000, "somebody waits for ever: {:?}", self.story());
        for own in [0, 1] {
            if self.random.below(4) > 0 {
                let wants = self.random.below(2) > 0;
                self.turn(own, wants);
            }
        }
        let timers = self.nodes.iter().filter_map(|node| node.station.lock().timeout());
        let network = self.network.keys().next().map(|(at, _)| *at);
        let next = timers.chain(self.fabric.next_event()).chain(network).min();
        let soon = self.now() + Duration::from_micros(1 + self.random.below(30));
        // While actors have something to say it does not jump.
        let busy = |node: &Node| node.line.is_some() && node.sent < MESSAGES && !node.is_full;
        let busy = self.nodes.iter().any(busy);
        let next = if busy { soon } else { next.unwrap_or(soon).max(soon) };
        self.fabric.advance(next);
    }

    fn run_until(&mut self, done: impl Fn(&Self) -> bool) {
        while !done(self) {
            self.round();
        }
    }

    /// What to know of a world in which somebody waits.
    fn story(&self) -> [String; 2] {
        [0, 1].map(|at| {
            let Node { sent, received, is_full, station, .. } = &self.nodes[at];
            let station = station.lock();
            let changes: Vec<Change> = station.changes().copied().collect();
            format!("{sent} {received} {is_full} {:?} {changes:?}", station.timeout())
        })
    }

    fn is_served(&self) -> bool {
        self.nodes.iter().all(|node| node.sent == MESSAGES && node.received == MESSAGES)
    }

    /// How often a link went to a queue pair.
    fn moves(&self) -> usize {
        let moves = |node: &Node| {
            let station = node.station.lock();
            station.changes().filter(|it| !matches!(it.to, Carrier::Udp(_))).count()
        };
        self.nodes.iter().map(moves).sum()
    }
}

/// How many seeds each test tries: GREENROOM_SEEDS, or some.
fn each_seed(test: u64, mut run: impl FnMut(u64)) {
    let count = std::env::var("GREENROOM_SEEDS").ok();
    let count = count.map_or(6, |count| count.parse().expect("GREENROOM_SEEDS is a number"));
    for seed in 0..count {
        // No key is used in two worlds of one process.
        let run = std::panic::AssertUnwindSafe(|| run(seed ^ test << 32));
        if let Err(panic) = std::panic::catch_unwind(run) {
            eprintln!("seed {seed} failed");
            std::panic::resume_unwind(panic);
        }
    }
}

const SEALED: [How; 2] = [How::Sealed, How::Sealed];

// [RDMA-42] [RDMA-45]
#[test]
fn links_move_to_queue_pairs_and_close_in_order() {
    each_seed(1, |seed| {
        let mut world = World::new(seed, Weather::fair(), SEALED);
        world.loss_permille = [0, 50][seed as usize % 2];
        world.run_until(|world| world.is_served() && world.is_by(Carrier::Rdma));
        let id = world.nodes[0].line.unwrap();
        world.nodes[0].station.lock().close_line(id);
        world.run_until(|world| world.nodes[1].ended.is_some());
        assert_eq!(world.nodes[1].ended, Some(LinkEnd::Closed));
    });
}

/// What is done to the devices while messages go, and undone a little later.
fn harm(world: &mut World, away: &mut [bool; 2]) {
    let node = world.random.below(2) as usize;
    let host = world.nodes[node].slot.borrow().as_ref().map(SimVerbs::host);
    match (world.random.below(3), host) {
        _ if away[node] => {
            match host {
                Some(host) => world.fabric.set_port(host, true),
                None => *world.nodes[node].slot.borrow_mut() = Some(world.fabric.host()),
            }
            away[node] = false;
        }
        (0, Some(host)) => {
            world.fabric.pull(host);
            *world.nodes[node].slot.borrow_mut() = None;
            away[node] = true;
        }
        (1, Some(host)) => {
            world.fabric.set_port(host, false);
            away[node] = true;
        }
        _ => {}
    }
}

// [RDMA-44] [RDMA-45]
#[test]
fn devices_that_go_away_under_load_lose_double_and_reorder_nothing() {
    let mut moves = 0;
    each_seed(2, |seed| {
        let mut random = Random::new(seed);
        let weather = Weather {
            latency: Duration::from_micros(1 + random.below(20)),
            jitter: Duration::from_micros([0, 5, 200][random.below(3) as usize]),
            completion_jitter: Duration::from_micros([0, 5, 100][random.below(3) as usize]),
            failures_ppm: [0, 2000, 20_000][random.below(3) as usize],
            ..Weather::fair()
        };
        let mut world = World::new(seed, weather, SEALED);
        world.loss_permille = [0, 20, 100][random.below(3) as usize];
        let mut away = [false; 2];
        let every = 50 + random.below(400);
        while !world.is_served() {
            world.round();
            if random.below(every) == 0 {
                harm(&mut world, &mut away);
            }
        }
        // It is calm, and both have a device.
        world.fabric.set_weather(Weather::fair());
        while away != [false; 2] {
            harm(&mut world, &mut away);
        }
        world.run_until(|world| world.is_by(Carrier::Rdma));
        moves += world.moves();
    });
    assert!(moves > 12, "links moved too rarely: {moves}");
}

// [RDMA-42]
#[test]
fn a_queue_pair_that_does_not_prove_to_carry_is_not_used() {
    each_seed(3, |seed| {
        let weather = Weather { latency: Duration::from_secs(60), ..Weather::fair() };
        let mut world = World::new(seed, weather, SEALED);
        let unproved = |world: &World| {
            [0, 1].into_iter().all(|it| matches!(world.carrier(it), Some(Carrier::Udp(why)) if why != Why::PeerWithout))
        };
        world.run_until(|world| world.is_served() && unproved(world));
        assert_eq!(world.moves(), 0);
        let changes: Vec<_> = world.nodes[0].station.lock().changes().map(|it| it.to).collect();
        assert!(!changes.contains(&Carrier::Rdma), "{changes:?}");
    });
}

// [RDMA-43]
#[test]
fn packets_are_sealed_unless_both_trust_each_other() {
    for (seed, (how, expected)) in (4 << 32..).zip([
        ([How::Trusting, How::Trusting], Carrier::RdmaPlain),
        ([How::Trusting, How::Sealed], Carrier::Rdma),
        ([How::Sealed, How::Trusting], Carrier::Rdma),
    ]) {
        let mut world = World::new(seed, Weather::fair(), how);
        world.run_until(|world| world.is_served() && world.is_by(expected));
        let others = [Carrier::Rdma, Carrier::RdmaPlain].into_iter().filter(|it| *it != expected);
        for other in others {
            let station = world.nodes[0].station.lock();
            assert!(station.changes().all(|change| change.to != other), "{how:?}");
        }
    }
}

// [RDMA-44] [RDMA-46]
#[test]
fn without_a_device_everything_goes_by_udp_and_both_know_why() {
    let mut world = World::new(5 << 32, Weather::fair(), [How::Sealed, How::Without]);
    world.run_until(World::is_served);
    assert_eq!(world.carrier(0), Some(Carrier::Udp(Why::PeerWithout)));
    for without in [0, 1] {
        let mut world = World::new((5 << 32) + 1 + without as u64, Weather::fair(), SEALED);
        *world.nodes[without].slot.borrow_mut() = None;
        let without_device = Some(Carrier::Udp(Why::NoDevice));
        world.run_until(|world| world.is_served() && world.carrier(without) == without_device);
        assert_eq!(world.moves(), 0);
    }
}
