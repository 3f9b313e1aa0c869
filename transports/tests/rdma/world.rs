//! Nodes with simulated devices, a lane between each two, and a clock that jumps.

use super::history::History;
use greenroom::net::FrameBuf;
use greenroom_transports::link::{
    Address, Config, Ecn, Envelope, Event, Kind, Lane, SendError, Time,
};
use greenroom_transports::rdma::connected::{self, Connected, ConnectionId};
use greenroom_transports::rdma::datagrams::{self, Datagrams, PeerId};
use greenroom_transports::rdma::sim::{Fabric, SimDevice, Weather};
use greenroom_transports::rdma::verbs::{Timing, Verbs};
use std::time::Duration;

/// Random numbers from a seed (splitmix64), of the harness's own.
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % bound.max(1)
    }
}

/// What carries the lanes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Carrier {
    Connected {
        /// Whether what is not acknowledged in time counts as lost.
        guesses: bool,
    },
    Datagrams,
}

/// A packet is its number, who sent it, and the inside: what a sealed header would say.
const HEAD: usize = 12;
const MESSAGES: u64 = 60;

const SMALL: connected::Config = connected::Config {
    connections_max: 4,
    sends: 16,
    receives: 16,
    slot_bytes: 2048,
    inline_bytes: 200,
    timing: Timing { timeout: 10, retries: 3, not_ready_retries: 3, not_ready_delay: 12 },
};

fn config(carrier: Carrier, seed: u64) -> Config {
    let inside = SMALL.slot_bytes - connected::PREFIX_BYTES - HEAD;
    let base = Config { window_bytes_start: 60_000, seed, ..Config::default() };
    match carrier {
        // As nodes have it: what a device repeats may then be sent by the lane, too.
        Carrier::Connected { guesses } => Config {
            loss_detection: guesses,
            packet_len_base: inside,
            packet_len_start: inside,
            packet_len_max: inside,
            ..base
        },
        Carrier::Datagrams => Config { packet_len_max: 4096 - HEAD, ..base },
    }
}

enum Way {
    Connected(Option<ConnectionId>),
    Datagrams(PeerId),
}

/// A node's end of the lane to one peer.
struct Side {
    peer: usize,
    lane: Lane,
    way: Way,
    sent: u64,
    refused: Option<(Envelope, Vec<u8>)>,
}

enum Port {
    Connected(Box<Connected<SimDevice>>),
    Datagrams(Box<Datagrams<SimDevice>>),
}

struct Node {
    port: Port,
    sides: Vec<Side>,
}

pub(crate) struct World {
    fabric: Fabric,
    weather: Weather,
    dice: Dice,
    seed: u64,
    carrier: Carrier,
    nodes: Vec<Node>,
    /// Of each pair of nodes; the lower one is end 0.
    histories: Vec<((usize, usize), History)>,
    pub(crate) breaks: u64,
    buffer: FrameBuf,
}

impl World {
    pub(crate) fn new(seed: u64, nodes: usize, weather: Weather, carrier: Carrier) -> Self {
        let fabric = Fabric::new(seed, weather.clone());
        let ports: Vec<_> = (0..nodes).map(|at| port(&fabric, carrier, at as u32)).collect();
        let nodes = ports.into_iter().map(|port| Node { port, sides: Vec::new() }).collect();
        let dice = Dice::new(seed ^ 0x307);
        let (histories, buffer) = (Vec::new(), FrameBuf::default());
        let mut world =
            Self { fabric, weather, dice, seed, carrier, nodes, histories, breaks: 0, buffer };
        for left in 0..world.nodes.len() {
            for right in left + 1..world.nodes.len() {
                world.histories.push(((left, right), History::default()));
                world.join(left, right);
            }
        }
        world
    }

    fn now(&self) -> Time {
        self.fabric.now()
    }

    /// What the two tell each other over another channel: at the start, and after a break.
    fn join(&mut self, left: usize, right: usize) {
        let seed = self.seed ^ (left * 8 + right) as u64;
        for (at, peer) in [(left, right), (right, left)] {
            let now = self.now();
            let found = self.nodes[at].sides.iter().position(|side| side.peer == peer);
            let config = config(self.carrier, seed ^ at as u64);
            match found {
                Some(side) => {
                    let side = &mut self.nodes[at].sides[side];
                    side.lane.on_carrier_change(now, &config).expect("a good configuration");
                }
                None => {
                    let lane = Lane::new(now, config).expect("a good configuration");
                    let way = Way::Connected(None);
                    self.nodes[at].sides.push(Side { peer, lane, way, sent: 0, refused: None });
                }
            }
        }
        match self.carrier {
            Carrier::Connected { .. } => self.connect(left, right),
            Carrier::Datagrams => self.introduce(left, right),
        }
    }

    fn connect(&mut self, left: usize, right: usize) {
        let psn = self.dice.below(1 << 24) as u32;
        let opened = [(left, right), (right, left)].map(|(at, peer)| {
            let Node { port: Port::Connected(port), sides } = &mut self.nodes[at] else {
                panic!("all nodes are connected");
            };
            let side = sides.iter_mut().find(|side| side.peer == peer).expect("it was made");
            if let Way::Connected(Some(old)) = side.way {
                port.end(old);
            }
            let id = port.open(psn + at as u32).expect("room for it");
            side.way = Way::Connected(Some(id));
            (at, id, port.endpoint(id).expect("it is open"))
        });
        for (own, other) in [(0, 1), (1, 0)] {
            let (at, id, _) = opened[own];
            let Port::Connected(port) = &mut self.nodes[at].port else { continue };
            port.connect(id, &opened[other].2, port.receives()).expect("they fit");
        }
    }

    fn introduce(&mut self, left: usize, right: usize) {
        let endpoints = [left, right].map(|at| match &self.nodes[at].port {
            Port::Datagrams(port) => port.endpoint(),
            Port::Connected(_) => panic!("all nodes send datagrams"),
        });
        for (at, peer, to) in [(left, right, endpoints[1]), (right, left, endpoints[0])] {
            let Node { port: Port::Datagrams(port), sides } = &mut self.nodes[at] else { continue };
            let side = sides.iter_mut().find(|side| side.peer == peer).expect("it was made");
            side.way = Way::Datagrams(port.add(&to).expect("room for it"));
        }
    }

    /// Runs until every message was delivered and acknowledged; the second half in fair weather.
    pub(crate) fn run(&mut self) {
        let mut steps = 0;
        while !self.is_done() {
            steps += 1;
            assert!(steps < 200_000, "somebody waits for ever");
            if steps == 4000 {
                let path_mtu_bytes = self.weather.path_mtu_bytes;
                self.fabric.set_weather(Weather { path_mtu_bytes, ..Weather::fair() });
            }
            for at in 0..self.nodes.len() {
                if self.dice.below(4) > 0 {
                    self.turn(at);
                }
            }
            self.pass_time();
        }
        for (_, history) in &self.histories {
            history.check_all_delivered(0);
            history.check_all_delivered(1);
        }
    }

    fn pass_time(&mut self) {
        let timers = self.nodes.iter().flat_map(|node| &node.sides);
        let timers = timers.filter_map(|side| side.lane.timeout());
        let next = timers.chain(self.fabric.next_event()).min().unwrap_or_default();
        let soon = self.now() + Duration::from_nanos(200 + self.dice.below(5000));
        // While actors have something to say it does not jump.
        let busy = self.nodes.iter().flat_map(|node| &node.sides).any(|it| it.sent < MESSAGES);
        self.fabric.advance(if busy { soon } else { soon.max(next) });
    }

    fn is_done(&self) -> bool {
        self.nodes
            .iter()
            .flat_map(|node| &node.sides)
            .all(|side| side.sent == MESSAGES && side.refused.is_none() && side.lane.is_settled())
    }

    pub(crate) fn packets_lost(&self) -> u64 {
        let sides = self.nodes.iter().flat_map(|node| &node.sides);
        sides.map(|side| side.lane.counts().packets_lost).sum()
    }

    /// How often a packet found nobody ready.
    pub(crate) fn not_ready(&self) -> u64 {
        self.fabric.not_ready()
    }

    fn turn(&mut self, at: usize) {
        for side in 0..self.nodes[at].sides.len() {
            for _ in 0..self.dice.below(3) {
                self.send_one(at, side);
            }
        }
        let now = self.now();
        self.receive(at, now);
        let Node { port, sides } = &mut self.nodes[at];
        for side in sides.iter_mut() {
            if side.lane.timeout().is_some_and(|due| due <= now) {
                side.lane.on_timeout(now);
            }
            flush(port, side, at, now);
        }
        match port {
            Port::Connected(port) => port.flush(),
            Port::Datagrams(port) => port.flush(),
        }
        self.reconnect(at);
    }

    fn reconnect(&mut self, at: usize) {
        let Node { port: Port::Connected(port), sides } = &mut self.nodes[at] else { return };
        let mut gone = Vec::new();
        while let Some((id, _)) = port.poll_ended() {
            let side =
                sides.iter().find(|it| matches!(it.way, Way::Connected(Some(way)) if way == id));
            gone.extend(side.map(|side| side.peer));
        }
        for peer in gone {
            self.breaks += 1;
            self.join(at.min(peer), at.max(peer));
        }
    }

    fn send_one(&mut self, at: usize, side: usize) {
        let (dice, side) = (&mut self.dice, &mut self.nodes[at].sides[side]);
        let message = side.refused.take().or_else(|| {
            let fresh = side.sent < MESSAGES;
            side.sent += u64::from(fresh);
            fresh.then(|| message(side.sent, dice))
        });
        let Some((envelope, payload)) = message else { return };
        match side.lane.send(&envelope, &payload) {
            Ok(()) => {
                let (low, high) = (at.min(side.peer), at.max(side.peer));
                let history = self.histories.iter_mut().find(|(pair, _)| *pair == (low, high));
                let (_, history) = history.expect("the pair has one");
                history.on_sent(usize::from(at == high), &envelope, &payload);
            }
            Err(SendError::Full(_)) => side.refused = Some((envelope, payload)),
            Err(error) => panic!("{error}"),
        }
    }

    fn receive(&mut self, at: usize, now: Time) {
        let Node { port, sides } = &mut self.nodes[at];
        let take = |packet: &mut [u8]| {
            let (number, rest) = packet.split_first_chunk().expect("a number");
            let (from, inside) = rest.split_first_chunk().expect("a sender");
            let from = u32::from_le_bytes(*from) as usize;
            let side = sides.iter_mut().find(|side| side.peer == from).expect("a peer of ours");
            side.lane.on_packet(now, u64::from_le_bytes(*number), inside, Ecn::NotCapable);
        };
        let mut take = take;
        match port {
            Port::Connected(port) => port.poll(|_, packet| take(packet)),
            Port::Datagrams(port) => port.poll(|_, packet| take(packet)),
        };
        for side in sides {
            while let Some(event) = side.lane.poll_event() {
                assert!(
                    !matches!(event, Event::Ended(_)),
                    "{event:?}, {:?}",
                    side.lane.frame_error()
                );
            }
            while let Some(delivery) = side.lane.poll_message(&mut self.buffer) {
                let (low, high) = (at.min(side.peer), at.max(side.peer));
                let history = self.histories.iter_mut().find(|(pair, _)| *pair == (low, high));
                let (_, history) = history.expect("the pair has one");
                history.on_delivered(usize::from(at == high), &delivery.envelope, &self.buffer);
                side.lane.release(now, delivery.receipt, u32::MAX);
            }
        }
    }
}

fn port(fabric: &Fabric, carrier: Carrier, at: u32) -> Port {
    let device = fabric.host().open("sim0", 1, 0).expect("a device");
    match carrier {
        Carrier::Connected { .. } => {
            Port::Connected(Box::new(Connected::new(device, SMALL).expect("room for it")))
        }
        Carrier::Datagrams => {
            let config = datagrams::Config { receives: 64, ..datagrams::Config::default() };
            let port = Datagrams::new(device, &config, at, 0x1234 + at).expect("room for it");
            Port::Datagrams(Box::new(port))
        }
    }
}

/// Everything that the lane wants to send, as far as there is room.
fn flush(port: &mut Port, side: &mut Side, at: usize, now: Time) {
    loop {
        let lane = &mut side.lane;
        let fill = |slot: &mut [u8]| {
            let (head, room) = slot.split_at_mut(HEAD);
            let Some(packet) = lane.poll_transmit(now, room) else { return 0 };
            head[..8].copy_from_slice(&packet.number.to_le_bytes());
            head[8..].copy_from_slice(&(at as u32).to_le_bytes());
            HEAD + packet.len
        };
        let sent = match (&mut *port, &side.way) {
            (Port::Connected(port), Way::Connected(Some(id))) => port.send(*id, fill),
            (Port::Datagrams(port), Way::Datagrams(peer)) => port.send(*peer, fill),
            _ => return,
        };
        if !sent.is_ok_and(|bytes| bytes > 0) {
            return;
        }
    }
}

fn message(number: u64, dice: &mut Dice) -> (Envelope, Vec<u8>) {
    let len = [20, 200, 1500, 20_000][dice.below(4) as usize];
    let payload: Vec<u8> = (0..dice.below(len)).map(|at| (at ^ number) as u8).collect();
    let address = |slot: u64, generation| Address { slot: slot as u32, generation };
    let (to, from) = (address(dice.below(3), 1), address(dice.below(3), 2));
    let kind = if dice.below(5) == 0 { Kind::System } else { Kind::Tell };
    (Envelope { to, from, kind, manifest: 3, correlation: 0 }, payload)
}
