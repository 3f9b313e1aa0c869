//! Two guests that talk by datagrams, over a link that loses, delays, reorders and doubles them, and that goes down at
//! either end: by lanes, for which one of them has one queue pair and the other two, and then by requests. The port of the
//! one takes longer packets than that of the other.

use super::super::carrier::{HEAD, Side, since};
use super::super::processes::{endpoint_line, read_endpoint};
use super::super::{Real, link, on_the_device};
use super::{BAD, HOST, network};
use crate::cases::text;
use crate::ends::Bench;
use greenroom_transports::link;
use greenroom_transports::rdma::datagrams::{Config, Datagrams, PeerId};
use greenroom_transports::rdma::ib::IbDevice;
use greenroom_transports::rdma::rpc::{self, Event, Protection, Rpc, SessionId};
use greenroom_transports::rdma::verbs::Endpoint;
use greenroom_transports::secure::key::Key;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Command;
use std::time::{Duration, Instant};

/// Where the first guest hears of the queue pairs of the other, and of what it is done with.
const AT: &str = "10.9.0.1:7001";
const DONE: &str = "done";

/// What the guests tell each other besides.
struct Words {
    stream: TcpStream,
    read: Vec<u8>,
}

impl Words {
    async fn new(real: &Real, host: usize) -> Self {
        let listener = (host == 1).then(|| TcpListener::bind(AT).expect("a socket"));
        if let Some(listener) = &listener {
            listener.set_nonblocking(true).expect("a socket");
        }
        let stream = loop {
            // The other guest may be slower.
            let met = listener.as_ref().map_or_else(
                || TcpStream::connect(AT),
                |listener| listener.accept().map(|(stream, _)| stream),
            );
            match met {
                Ok(stream) => break stream,
                Err(_) => real.pass().await,
            }
        };
        stream.set_nonblocking(true).expect("a socket");
        Self { stream, read: Vec::new() }
    }

    fn say(&mut self, line: &str) {
        self.stream.write_all(line.as_bytes()).expect("lines are few and short");
    }

    /// The next line, if it is there.
    fn hear(&mut self) -> Option<String> {
        let mut part = [0; 1024];
        match self.stream.read(&mut part) {
            Ok(count) => self.read.extend(&part[..count]),
            Err(error) => assert_eq!(error.kind(), ErrorKind::WouldBlock, "{error}"),
        }
        let end = self.read.iter().position(|byte| *byte == b'\n')?;
        let line: Vec<_> = self.read.drain(..=end).collect();
        Some(String::from_utf8(line).expect("text").trim_end().to_owned())
    }
}

/// A queue pair, and another one when it has ended: Soft-RoCE ends it when it is to send while the link is down.
struct Port {
    datagrams: Option<Datagrams<IbDevice>>,
    lives: u32,
}

impl Port {
    const fn new() -> Self {
        Self { datagrams: None, lives: 0 }
    }

    /// Sees to it that there is one, if that can be; says what others have to know of it when it is new.
    fn renew(&mut self, real: &Real, number: usize) -> Option<String> {
        if self.datagrams.as_ref().is_some_and(|it| it.ended().is_none()) {
            return None;
        }
        self.datagrams = None;
        let device = real.open().ok()?;
        let secret = self.lives * 100 + number as u32;
        let made = Datagrams::new(device, &Config::default(), secret, 0x5a00 + secret).ok()?;
        self.lives += 1;
        let line = format!("{number} {}", endpoint_line(&made.endpoint()));
        self.datagrams = Some(made);
        Some(line)
    }
}

/// A lane, by one of this guest's queue pairs to one of the other's.
struct Far {
    port: usize,
    there: usize,
    id: Option<PeerId>,
    side: Side,
    /// Where the texts of what is said and heard begin.
    seeds: [usize; 2],
}

/// Short messages, and some that take up to two hundred datagrams.
const LENGTHS: &[usize] = &{
    let mut lengths = [64; 400];
    (lengths[50], lengths[200], lengths[300]) = (400_000, 30_000, 200_000);
    lengths
};

/// What the port of the second guest takes, and with which MTU of its link. The first one's takes twice as much.
const MTU_BYTES: usize = 2048;
const NARROW: &str = "2200";
const WIDE: &str = "9000";

fn lane_config() -> link::Config {
    link::Config { packet_len_max: MTU_BYTES - HEAD, ..link::Config::default() }
}

/// What takes this guest's link down for a second, once so much was heard.
enum Trouble {
    After(usize),
    Until(Instant),
    Over,
}

impl Trouble {
    fn go_on(&mut self, heard: usize) {
        match *self {
            Self::After(count) if heard >= count => {
                link("down");
                *self = Self::Until(Instant::now() + Duration::from_secs(1));
            }
            Self::Until(then) if then < Instant::now() => {
                link("up");
                *self = Self::Over;
            }
            _ => {}
        }
    }
}

struct Guest {
    words: Words,
    ports: Vec<Port>,
    lanes: Vec<Far>,
    /// The other's queue pairs.
    endpoints: BTreeMap<usize, Endpoint>,
    began: Instant,
    /// With how many things the other is done.
    others_done: usize,
}

impl Guest {
    async fn new(real: &Real, host: usize) -> Self {
        let words = Words::new(real, host).await;
        let began = Instant::now();
        let lane = |which: usize| Far {
            port: if host == 1 { 0 } else { which },
            there: if host == 1 { which } else { 0 },
            id: None,
            side: Side::new(since(began), lane_config(), LENGTHS),
            seeds: if host == 1 { [which, which + 50] } else { [which + 50, which] },
        };
        let ports = (0..host).map(|_| Port::new()).collect();
        let lanes = vec![lane(0), lane(1)];
        Self { words, ports, lanes, endpoints: BTreeMap::new(), began, others_done: 0 }
    }

    /// Takes the other's words, and makes queue pairs and addresses that are missing.
    fn meet(&mut self, real: &Real) {
        for (number, port) in self.ports.iter_mut().enumerate() {
            if let Some(line) = port.renew(real, number) {
                self.words.say(&line);
                let lanes = self.lanes.iter_mut().filter(|lane| lane.port == number);
                lanes.for_each(|lane| lane.id = None);
            }
        }
        self.listen();
        for lane in self.lanes.iter_mut().filter(|lane| lane.id.is_none()) {
            let port = self.ports[lane.port].datagrams.as_mut();
            if let (Some(port), Some(endpoint)) = (port, self.endpoints.get(&lane.there)) {
                lane.id = port.add(endpoint).ok();
                assert!(lane.id.is_none_or(|id| port.bytes_max(id) == Some(MTU_BYTES)));
            }
        }
    }

    fn listen(&mut self) {
        while let Some(line) = self.words.hear() {
            let Some((number, endpoint)) = line.split_once(' ') else {
                assert_eq!(line, DONE);
                self.others_done += 1;
                continue;
            };
            let number = number.parse().expect("a number");
            self.endpoints.insert(number, read_endpoint(endpoint.as_bytes()));
            for lane in self.lanes.iter_mut().filter(|lane| lane.there == number) {
                let port = self.ports[lane.port].datagrams.as_mut();
                if let (Some(port), Some(id)) = (port, lane.id.take()) {
                    port.remove(id);
                }
            }
        }
    }

    fn done(&mut self) {
        self.words.say(&format!("{DONE}\n"));
    }

    /// The first queue pairs of both guests have one number. Each guest has its own as a peer besides, and tells who says
    /// something.
    async fn tell_apart(&mut self, real: &Real, host: usize) {
        let mut port = Port::new();
        self.words.say(&port.renew(real, ALIKE).expect("the device is there"));
        let mut port = port.datagrams.expect("it was just made");
        while !self.endpoints.contains_key(&ALIKE) {
            self.listen();
            real.pass().await;
        }
        let ends = [port.endpoint(), self.endpoints[&ALIKE]];
        assert_eq!(ends[0].qpn, ends[1].qpn, "it is the first of each");
        let peers = ends.map(|end| port.add(&end).expect("it is there"));
        let (mut heard, mut is_done) = ([false; 2], false);
        while !is_done || self.others_done == 0 {
            for peer in peers {
                // Without room it is said later.
                let _ = port.send(peer, |slot| put(slot, &[host as u8]));
            }
            port.flush();
            port.poll(|from, packet| {
                let from = peers.iter().position(|it| Some(*it) == from.peer());
                let from = from.expect("both are known");
                assert_eq!(from == 0, *packet == [host as u8], "{packet:?}");
                heard[from] = true;
            });
            if heard == [true; 2] && !std::mem::replace(&mut is_done, true) {
                self.done();
            }
            self.listen();
            real.pass().await;
        }
        self.others_done = 0;
    }

    /// Says what there is to say, and hears what came.
    fn turn(&mut self) {
        for lane in &mut self.lanes {
            let port = self.ports[lane.port].datagrams.as_mut();
            let (Some(port), Some(id)) = (port, lane.id) else { continue };
            let now = since(self.began);
            lane.side.say(lane.seeds[0]);
            lane.side.give(now, |fill| port.send(id, fill).is_ok_and(|bytes| bytes > 0));
            port.flush();
        }
        for (number, port) in self.ports.iter_mut().enumerate() {
            let Some(port) = &mut port.datagrams else { continue };
            port.poll(|from, packet| {
                let from = from.peer();
                let is_its = |lane: &&mut Far| {
                    lane.port == number && from.is_some_and(|it| lane.id == Some(it))
                };
                // One that is gone may still be heard.
                if let Some(lane) = self.lanes.iter_mut().find(is_its) {
                    lane.side.on_packet(packet, since(self.began));
                }
            });
        }
        for lane in &mut self.lanes {
            lane.side.hear(lane.seeds[1], since(self.began));
        }
    }

    fn heard(&self) -> usize {
        self.lanes.iter().map(|lane| lane.side.heard).sum()
    }

    /// Until both guests have heard everything.
    async fn talk(&mut self, real: &Real, mut trouble: Trouble) {
        let mut is_done = false;
        while !is_done || self.others_done == 0 {
            trouble.go_on(self.heard());
            self.meet(real);
            self.turn();
            if !is_done && self.lanes.iter().all(|lane| lane.side.is_done()) {
                is_done = true;
                self.done();
            }
            real.pass().await;
        }
        assert!(matches!(trouble, Trouble::Over), "the link went down");
        for lane in &self.lanes {
            let counts = lane.side.lane.counts();
            assert!(counts.packets_lost > 0, "the link lost some: {counts:?}");
        }
    }

    /// Asks as often as the other, until both know what came of each question.
    async fn ask(&mut self, real: &Real, host: usize) {
        let mut port = Port::new();
        self.words.say(&port.renew(real, QUESTIONS).expect("the device is there"));
        let mut port = port.datagrams.expect("it was just made");
        while !self.endpoints.contains_key(&QUESTIONS) {
            self.listen();
            real.pass().await;
        }
        let peer = port.add(&self.endpoints[&QUESTIONS]).expect("it is there");
        let mut rpc = Rpc::new(RPC).expect("good limits");
        // The first session of each end: both know its number, and that of the other.
        let secret = |client: usize| Protection::Sealed(Key::new([client as u8; 32]));
        let session = rpc.open(peer, secret(host));
        rpc.accept(peer, SessionId(0), secret(3 - host));
        rpc.connect(session, SessionId(0));
        let mut asked = 0;
        let mut story = Story::default();
        while story.outcomes.len() < ASKS || self.others_done < 2 {
            let now = since(self.began);
            while asked < ASKS
                && rpc.call(now, session, asked as u64, |slot| put(slot, &question(asked))).is_ok()
            {
                asked += 1;
            }
            port.poll(|from, packet| {
                assert_eq!(from.peer(), Some(peer));
                rpc.on_packet(now, peer, packet, |rpc, event| story.on_event(Some(rpc), &event));
            });
            rpc.on_turn(now, &mut port, |event| story.on_event(None, &event));
            port.flush();
            assert_eq!(port.ended(), None);
            if story.outcomes.len() == ASKS && !std::mem::replace(&mut story.is_over, true) {
                self.done();
            }
            self.listen();
            real.pass().await;
        }
        let counts = rpc.counts();
        assert!(counts.repeated > 0 && counts.duplicates > 0, "{counts:?}");
        assert_eq!(counts.rejected, 0);
        assert!(story.outcomes.values().any(|is_answered| *is_answered));
    }
}

/// What the queue pair for questions is called, and that whose number is the same in both guests.
const QUESTIONS: usize = 9;
const ALIKE: usize = 8;
const ASKS: usize = 500;
/// For a network whose round trips take some ten milliseconds.
const RPC: rpc::Config = rpc::Config {
    slots: 16,
    message_bytes_max: 600,
    repeat_after: Duration::from_millis(200),
    repeats_max: 7,
    rate_max: 1_000_000_000,
    rtt_low: Duration::from_millis(100),
    rtt_high: Duration::from_secs(1),
};

fn question(number: usize) -> Vec<u8> {
    let mut question = Vec::from((number as u64).to_le_bytes());
    question.extend(text(number, number % 500));
    question
}

fn answer(question: &[u8]) -> Vec<u8> {
    question.iter().rev().map(|byte| byte ^ 0x55).collect()
}

fn put(slot: &mut [u8], bytes: &[u8]) -> usize {
    slot[..bytes.len()].copy_from_slice(bytes);
    bytes.len()
}

/// What was handled, and what came of which question: whether it was answered.
#[derive(Default)]
struct Story {
    handled: BTreeSet<Vec<u8>>,
    outcomes: BTreeMap<u64, bool>,
    is_over: bool,
}

impl Story {
    fn on_event(&mut self, rpc: Option<&mut Rpc<PeerId>>, event: &Event<'_>) {
        let (user, is_answered) = match event {
            Event::Request { request, payload } => {
                assert!(self.handled.insert(payload.to_vec()), "handled twice: {payload:?}");
                let rpc = rpc.expect("requests come in packets");
                assert!(rpc.reply(*request, |slot| put(slot, &answer(payload))));
                return;
            }
            Event::Reply { user, payload } => {
                assert_eq!(*payload, answer(&question(*user as usize)));
                (*user, true)
            }
            Event::Unanswered { user } => (*user, false),
            other => panic!("{other:?}"),
        };
        assert_eq!(self.outcomes.insert(user, is_answered), None, "one outcome of {user}");
    }
}

fn mtu(bytes: &str) {
    let status = Command::new("ip").args(["link", "set", "roce0", "mtu", bytes]).status();
    assert!(status.expect("ip is there").success());
}

/// The first of a guest that was just booted: both devices have to give the same number to what is made of them first.
// [RDMA-20] [RDMA-22] [RDMA-23] [RDMA-32] [RDMA-33]
#[test]
#[ignore = "needs another guest"]
fn two_guests_talk_by_datagrams() {
    let host = std::env::var(HOST).expect("the guest says which it is");
    let host = host.parse::<usize>().expect("a number");
    if host == 2 {
        mtu(NARROW);
    }
    network(BAD);
    on_the_device(async |real| {
        let mut guest = Guest::new(real, host).await;
        guest.tell_apart(real, host).await;
        guest.talk(real, Trouble::After(host * 2 * LENGTHS.len() / 3)).await;
        guest.ask(real, host).await;
        // Nothing that is said last is lost.
        network("delay 0ms");
        guest.done();
        while guest.others_done < 3 {
            guest.listen();
            real.pass().await;
        }
    });
    mtu(WIDE);
}
