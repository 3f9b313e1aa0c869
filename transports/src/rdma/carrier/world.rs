//! Stations with simulated devices, over a network that loses datagrams: links move to queue pairs and back while
//! devices are pulled away, ports go down and queue pairs fail.

use super::{CONFIG, QueuePairs, Turn};
use crate::link::{Config, Random, Time};
use crate::rdma::sim::{Fabric, SimDevice, SimVerbs, Weather, calls};
use crate::rdma::verbs::{OpenError, Verbs};
use crate::secure::endpoint::{self, AssociationId, Endpoint};
use crate::secure::entropy::{Entropy, NoEntropy};
use crate::secure::identity::Identity;
use crate::secure::key::{Key, PublicKey};
use crate::station::{
    Attempt, By, Carrier, Change, DATAGRAM_BYTES_MAX, Outgoing, Station, Wakes, Why,
};
use greenroom::net::{FrameBuf, LinkEnd, Order, SubmitError};
use parking_lot::Mutex;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::task::{Context, Poll, Wake, Waker};
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

/// Whether a node's own task is to have a turn.
struct Told(AtomicBool);

impl Wake for Told {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Relaxed);
    }
}

struct Node {
    told: Arc<Told>,
    /// When its own task has a turn though nobody woke it.
    until: Option<Time>,
    station: Rc<Mutex<Station>>,
    pairs: Option<QueuePairs<SimDevice, Open>>,
    slot: Slot,
    /// The index of the address that its device is opened by.
    best_gid: Rc<Cell<u8>>,
    out: Outgoing,
    line: Option<AssociationId>,
    sent: u64,
    /// Whether a message found no room the last time.
    is_full: bool,
    received: u64,
    /// Messages that actors keep, by number.
    kept: Vec<(u64, FrameBuf)>,
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
    /// Whether actors have nothing to say.
    is_quiet: bool,
    /// Whether actors say nothing more before they have an answer.
    is_patient: bool,
    /// Whether the sockets for datagrams take none.
    is_full: bool,
    /// How long a turn takes.
    turn: Duration,
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
    let best_gid = Rc::new(Cell::new(0));
    let pairs = (how != How::Without).then(|| {
        let trusted = (how == How::Trusting).then(|| public(1 - own));
        station.use_pairs(trusted);
        let (slot, best) = (Rc::clone(&slot), Rc::clone(&best_gid));
        let open = Box::new(move || {
            let none = || OpenError::NoDevice("sim0".to_owned());
            slot.borrow().as_ref().ok_or_else(none)?.open("sim0", 1, best.get())
        });
        // Some poll for a while before they sleep.
        let spin = Duration::from_micros([0, 50][(seed as usize + own) % 2]);
        QueuePairs::new(open as Open, spin)
    });
    let (station, out) = (Rc::new(Mutex::new(station)), Outgoing::new());
    Node {
        told: Arc::new(Told(AtomicBool::new(true))),
        until: None,
        station,
        pairs,
        slot,
        best_gid,
        out,
        line: None,
        sent: 0,
        is_full: false,
        received: 0,
        kept: Vec::new(),
        ended: None,
    }
}

impl Node {
    /// Wakes who is to be woken.
    fn wake(&self) {
        let mut wakes = Wakes::default();
        self.station.lock().take_wakes(&mut wakes);
        wakes.wake();
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
        // Whoever sends or receives by this node would wait for the system, whatever it is that the call is for.
        let stations = nodes.each_ref().map(|node| Rc::clone(&node.station));
        calls::watch(move || {
            assert!(stations.iter().all(|it| !it.is_locked()), "a call while a station is locked");
        });
        let world = Self {
            fabric,
            random: Random::new(seed ^ 0xfab),
            nodes,
            network: BTreeMap::new(),
            serial: 0,
            loss_permille: 0,
            is_quiet: false,
            is_patient: false,
            is_full: false,
            turn: Duration::ZERO,
            rounds: 0,
        };
        let (done, _outcome) = oneshot::channel();
        let to = "udp:10.0.0.2:7".parse().unwrap();
        let (at, key) = (address(1), Some(public(1)));
        let attempt =
            Attempt { address: to, at: vec![at], key, is_known: true, by: By::Owner, done };
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

    /// Whether a node's own task has a turn now: it was woken, it is time, or a datagram is there.
    fn is_due(&self, own: usize) -> bool {
        let (node, now) = (&self.nodes[own], self.now());
        let mut arrived = self.network.range(..=(now, u64::MAX));
        node.told.0.load(Relaxed)
            || node.until.is_some_and(|until| until <= now)
            || arrived.any(|(_, (to, _))| *to == own)
    }

    /// A turn of a node, as its own task has it.
    fn turn(&mut self, own: usize) {
        let now = self.now();
        self.nodes[own].told.0.store(false, Relaxed);
        let waker = Waker::from(Arc::clone(&self.nodes[own].told));
        let mut cx = Context::from_waker(&waker);
        let arrived: Vec<_> = self.network.range(..=(now, u64::MAX)).map(|(at, _)| *at).collect();
        let node = &mut self.nodes[own];
        node.station.lock().begin_turn(now);
        if let Some(pairs) = &mut node.pairs {
            pairs.receive(&node.station, &mut cx, now);
        }
        self.fabric.advance(now + self.turn);
        for at in arrived {
            if self.network.get(&at).is_some_and(|(to, _)| *to == own) {
                let (_, mut datagram) = self.network.remove(&at).unwrap();
                node.station.lock().handle(now, address(1 - own), &mut datagram);
            }
        }
        self.send(own);
        let node = &mut self.nodes[own];
        if let Some(pairs) = &mut node.pairs {
            pairs.send(&node.station, &mut cx, now);
        }
        // [RDMA-51]
        assert_eq!(self.fabric.now(), now + self.turn, "it stood still");
        let mut station = node.station.lock();
        if self.is_full {
            node.until = station.deadline();
            station.set_driver_while_full(&waker);
        } else {
            node.until = station.timeout();
            station.set_driver(&waker);
        }
        drop(station);
        node.wake();
    }

    /// Sends what a node has to send by datagrams.
    fn send(&mut self, own: usize) {
        let now = self.now();
        let node = &mut self.nodes[own];
        let mut station = node.station.lock();
        station.handle_timeout(now);
        while !self.is_full && station.poll_transmit(now, 1, &mut node.out) {
            let packet = node.out.datagrams().to_vec();
            if self.random.below(1000) >= self.loss_permille {
                self.serial += 1;
                let at = now + Duration::from_micros(50 + self.random.below(200));
                self.network.insert((at, self.serial), (1 - own, packet));
            }
        }
    }

    /// Whether the actors of a node have something to say now.
    fn has_to_say(&self, own: usize) -> bool {
        let Node { sent, received, .. } = self.nodes[own];
        !self.is_quiet && sent < MESSAGES && (!self.is_patient || sent <= received)
    }

    /// What the actors of a node do.
    fn act(&mut self, own: usize, wants_to_send: bool) {
        let says = wants_to_send && self.has_to_say(own);
        let mut cx = Context::from_waker(Waker::noop());
        let node = &mut self.nodes[own];
        let mut station = node.station.lock();
        if node.line.is_none()
            && let Poll::Ready(Some((id, _))) = station.poll_line(&mut cx)
        {
            node.line = Some(id);
        }
        let Some(id) = node.line else { return };
        if says {
            match station.submit(id, Order::Within(7), &Self::text(node.sent)) {
                Ok(()) => (node.sent, node.is_full) = (node.sent + 1, false),
                Err(SubmitError::Full) => node.is_full = true,
                Err(error) => panic!("{error}"),
            }
        }
        let (random, mut frame) = (&mut self.random, FrameBuf::default());
        while node.ended.is_none()
            && let Poll::Ready(received) = station.poll_receive(id, &mut cx, &mut frame)
        {
            match received {
                Ok(()) => {
                    // [RDMA-45]
                    assert_eq!(frame[..], Self::text(node.received), "all come, once and in order");
                    if random.below(4) == 0 {
                        node.kept.push((node.received, std::mem::take(&mut frame)));
                    }
                    node.received += 1;
                }
                Err(end) => node.ended = Some(end),
            }
        }
        drop(station);
        let is_kept = |(number, frame): &mut (u64, FrameBuf)| {
            assert_eq!(frame[..], Self::text(*number), "nobody writes to what is kept");
            random.below(50) > 0
        };
        node.kept.retain_mut(is_kept);
        node.wake();
    }

    /// Lets time pass, and both have some turns.
    fn round(&mut self) {
        self.rounds += 1;
        assert!(self.rounds < 200_000, "somebody waits for ever: {:?}", self.story());
        for own in [0, 1] {
            if self.is_due(own) && self.random.below(4) > 0 {
                self.turn(own);
            }
            if self.random.below(4) > 0 {
                let wants = self.random.below(2) > 0;
                self.act(own, wants);
            }
        }
        let timers = self.nodes.iter().filter_map(|node| node.until);
        let network = self.network.keys().next().map(|(at, _)| *at);
        let next = timers.chain(self.fabric.next_event()).chain(network).min();
        let soon = self.now() + Duration::from_micros(1 + self.random.below(30));
        // While actors have something to say it does not jump.
        let busy = [0, 1].into_iter().any(|own| {
            let node = &self.nodes[own];
            let says = node.line.is_some() && !node.is_full && self.has_to_say(own);
            says || node.told.0.load(Relaxed)
        });
        let next = if busy { soon } else { next.unwrap_or(soon).max(soon) };
        self.fabric.advance(next);
    }

    /// For so long both have turns all the time.
    fn pass(&mut self, time: Duration) {
        let until = self.now() + time;
        while self.now() < until {
            [0, 1].into_iter().for_each(|own| self.turn(own));
            self.fabric.advance(self.now() + Duration::from_micros(500));
        }
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

mod tests;
