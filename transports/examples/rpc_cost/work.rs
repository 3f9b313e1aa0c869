//! What is measured: requests and replies, and the same packets without what we do for them.

use crate::beside::Beside;
use crate::direct::{Direct, Dynamic, Wire};
use greenroom_transports::link::Time;
use greenroom_transports::rdma::datagrams::{Config, Datagrams, PeerId};
use greenroom_transports::rdma::rpc::{self, Event, HEADER_BYTES, Protection, Rpc, SessionId};
use greenroom_transports::rdma::verbs::{Completion, Device, Direction, WorkId};
use greenroom_transports::secure::key::Key;
use std::cell::RefCell;
use std::error::Error;
use std::rc::Rc;
use std::time::Duration;

/// Bytes of a request, and of its reply.
const MESSAGE_BYTES: usize = 32;

/// Something that takes as long for each request.
pub(crate) trait Work {
    /// Does so many; says how many replies there were.
    fn run(&mut self, count: u64) -> u64;

    /// How many doorbells were rung for sends and for receives.
    fn rung(&self) -> [u64; 2] {
        [0; 2]
    }
}

/// How requests are measured.
#[derive(Clone, Copy)]
pub(crate) struct Size {
    /// So many at a time.
    pub(crate) depth: u16,
    /// Packets of so many bytes go inline.
    pub(crate) inline_bytes: u32,
    /// After so long they are repeated; ten times in that time all sessions are looked through.
    pub(crate) repeat_after: Duration,
    /// Whether each send is signalled, and not one of so many.
    pub(crate) signals_all: bool,
}

/// One end: its queue pair, and its sessions.
struct Node<D: Device> {
    port: Datagrams<D>,
    rpc: Rpc<PeerId>,
    peer: PeerId,
}

/// A client and a server.
pub(crate) struct Requests<B, D: Device> {
    client: Node<D>,
    server: Node<D>,
    wire: Rc<RefCell<Wire>>,
    session: SessionId,
    now: Time,
    called: u64,
    answered: u64,
    beside: B,
}

impl<B: Beside> Requests<B, Direct> {
    /// Sealed, if there is a secret.
    pub(crate) fn new(size: Size, secret: Option<&Key>, beside: B) -> Result<Self, Box<dyn Error>> {
        Self::over(|device| device, size, secret, beside)
    }
}

impl<B: Beside> Requests<B, Dynamic> {
    /// Not sealed; completions are asked for through a table of functions.
    pub(crate) fn dynamic(size: Size, beside: B) -> Result<Self, Box<dyn Error>> {
        Self::over(Dynamic, size, None, beside)
    }
}

impl<B: Beside, D: Device> Requests<B, D> {
    fn over(
        device: impl Fn(Direct) -> D,
        size: Size,
        secret: Option<&Key>,
        beside: B,
    ) -> Result<Self, Box<dyn Error>> {
        let Size { depth, inline_bytes, repeat_after, signals_all } = size;
        let wire = Rc::new(RefCell::new(Wire::new()?));
        let node = |end| -> Result<Node<D>, Box<dyn Error>> {
            let device = device(Direct { wire: Rc::clone(&wire), end, signals_all });
            let config = Config { inline_bytes, ..Config::default() };
            let mut port = Datagrams::new(device, &config, 1, 0x1234)?;
            let peer = port.add(&port.endpoint())?;
            let config = rpc::Config { slots: depth, repeat_after, ..rpc::Config::default() };
            let rpc = Rpc::new(config)?;
            Ok(Node { port, rpc, peer })
        };
        let (mut client, mut server) = (node(0)?, node(1)?);
        let protection =
            || secret.map_or(Protection::Trusted, |secret| Protection::Sealed(secret.clone()));
        let session = client.rpc.open(client.peer, protection());
        let accepted = server.rpc.accept(server.peer, session, protection());
        client.rpc.connect(session, accepted);
        let now = Time::from_nanos(1);
        Ok(Self { client, server, wire, session, now, called: 0, answered: 0, beside })
    }
}

impl<B: Beside, D: Device> Work for Requests<B, D> {
    fn run(&mut self, count: u64) -> u64 {
        let until = self.answered + count;
        while self.answered < until {
            self.now = self.now + Duration::from_micros(2);
            let (now, done) = (self.now, (&mut self.answered, &mut self.beside));
            turn(&mut self.server, now, done);
            let (rpc, calls) = (&mut self.client.rpc, (&mut self.called, &mut self.beside));
            phase_call(rpc, self.session, now, calls, until);
            turn(&mut self.client, now, (&mut self.answered, &mut self.beside));
        }
        count
    }

    fn rung(&self) -> [u64; 2] {
        self.wire.borrow().rung
    }
}

/// One turn of a worker. Each phase is a function of its own, so that they are counted apart.
fn turn<B: Beside, D: Device>(
    node: &mut Node<D>,
    now: Time,
    (answered, beside): (&mut u64, &mut B),
) {
    let Node { port, rpc, peer } = node;
    phase_poll(port, |packet| phase_take(rpc, *peer, now, packet, (answered, beside)));
    beside.polled(now);
    phase_leave(port, rpc, now);
    phase_flush(port);
}

#[inline(never)]
fn phase_call<B: Beside>(
    rpc: &mut Rpc<PeerId>,
    session: SessionId,
    now: Time,
    (called, beside): (&mut u64, &mut B),
    until: u64,
) {
    let ask = |slot: &mut [u8]| {
        slot[..MESSAGE_BYTES].fill(7);
        MESSAGE_BYTES
    };
    while *called < until && rpc.call(now, session, *called, ask).is_ok() {
        beside.call(now, *called);
        *called += 1;
    }
}

#[inline(never)]
fn phase_poll<D: Device>(port: &mut Datagrams<D>, mut sink: impl FnMut(&mut [u8])) {
    while port.poll(|_, packet| sink(packet)) > 0 {}
}

#[inline(never)]
fn phase_take<B: Beside>(
    rpc: &mut Rpc<PeerId>,
    peer: PeerId,
    now: Time,
    packet: &mut [u8],
    (answered, beside): (&mut u64, &mut B),
) {
    beside.packet(packet);
    rpc.on_packet(now, peer, packet, |rpc, event| match event {
        Event::Request { request, payload } => {
            rpc.reply(request, |slot| {
                slot[..payload.len()].copy_from_slice(payload);
                payload.len()
            });
        }
        Event::Reply { user, .. } => {
            beside.reply(user);
            *answered += 1;
        }
        _ => *answered += 1,
    });
}

#[inline(never)]
fn phase_leave<D: Device>(port: &mut Datagrams<D>, rpc: &mut Rpc<PeerId>, now: Time) {
    rpc.on_turn(now, port, |_| {});
}

#[inline(never)]
fn phase_flush<D: Device>(port: &mut Datagrams<D>) {
    port.flush();
}

/// The devices alone, with as many packets, as long, at a time.
pub(crate) struct Control {
    wire: Wire,
    depth: u64,
    batch: Box<[Completion]>,
    slot: Box<[u8]>,
}

/// So many completions are taken at a time, as by ours; and every so many-th send is signalled.
const BATCH: usize = 32;
const SIGNAL_EVERY: u64 = 32;

impl Control {
    pub(crate) fn new(depth: u16) -> Result<Self, Box<dyn Error>> {
        let mut wire = Wire::new()?;
        for end in [0, 1] {
            (0..512).for_each(|_| wire.post(end, WorkId::default()));
        }
        let (batch, slot) = (vec![Completion::default(); BATCH].into(), vec![0; 1024].into());
        Ok(Self { wire, depth: depth.into(), batch, slot })
    }

    /// Sends a packet, of which `sent` were sent before.
    fn send(&mut self, end: usize, sent: u64) {
        let packet = [7; HEADER_BYTES + MESSAGE_BYTES];
        self.wire.send(end, &packet);
        if sent.is_multiple_of(SIGNAL_EVERY) {
            self.wire.signal(end, WorkId::default());
        }
    }

    /// Takes all that came; says how many.
    fn take(&mut self, end: usize) -> u64 {
        let mut taken = 0;
        loop {
            let count = self.wire.poll(end, &mut self.batch);
            for at in 0..count {
                if self.batch[at].work().direction() == Direction::Send {
                    self.wire.sent(end);
                } else if self.wire.take(end, |_| Some(&mut self.slot[..])).is_some() {
                    self.wire.post(end, WorkId::default());
                    taken += 1;
                }
            }
            if count == 0 {
                return taken;
            }
        }
    }
}

impl Work for Control {
    fn run(&mut self, count: u64) -> u64 {
        let (mut called, mut answered) = (0, 0);
        while answered < count {
            let asked = self.take(1);
            (0..asked).for_each(|at| self.send(1, called + at));
            let room = self.depth.min(count - called);
            if called == answered {
                (0..room).for_each(|at| self.send(0, called + at));
                called += room;
            }
            answered += self.take(0);
        }
        count
    }
}
