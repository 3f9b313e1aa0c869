//! What a request of 32 bytes and its reply cost over simulated datagrams: client and server together,
//! without any cipher. Arguments: how many, how many at a time (64), bytes that go inline (220), and what is done
//! beside it as other systems do for each request: `clock`, `sip`, `fx`, `timer`, `queue`.
//!
//! ```sh
//! cargo build --release -p greenroom-transports --example rpc_cost
//! valgrind --tool=callgrind --callgrind-out-file=few target/release/examples/rpc_cost 100000
//! valgrind --tool=callgrind --callgrind-out-file=many target/release/examples/rpc_cost 200000
//! ```
//!
//! The difference of the two counts of instructions, over 100,000, is what one costs; that of each
//! `phase_`, with what it calls (`callgrind_annotate --tree=calling`), is what the phase costs. What
//! `rdma::sim` costs is the device's, not ours.

use greenroom_transports::link::Time;
use greenroom_transports::rdma::datagrams::{Config, Datagrams, PeerId};
use greenroom_transports::rdma::rpc::{self, Event, Rpc, SessionId};
use greenroom_transports::rdma::sim::{Fabric, SimDevice, Weather};
use greenroom_transports::rdma::verbs::Verbs;
use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;
use std::collections::{BTreeMap, VecDeque};
use std::error::Error;
use std::hash::{BuildHasherDefault, DefaultHasher};
use std::hint::black_box;
use std::time::{Duration, Instant};

/// What others do for each request, and this does not.
enum Beside {
    Nothing,
    /// The clock is read for each call and each packet.
    Clock,
    /// Requests are found by hashing their number, with SipHash.
    Sip(HashMap<u64, u64, BuildHasherDefault<DefaultHasher>>),
    /// The same with Fx.
    Fx(HashMap<u64, u64, FxBuildHasher>),
    /// Each has a timer, in order of time.
    Timer(BTreeMap<(Time, u64), ()>, Vec<Time>),
    /// Packets are copied, and queued until all were taken from the device.
    Queue(VecDeque<Vec<u8>>),
}

/// As many as there are requests at a time, at most.
const TIMERS: usize = 64;

impl Beside {
    fn of(name: &str) -> Self {
        match name {
            "clock" => Self::Clock,
            "sip" => Self::Sip(HashMap::default()),
            "fx" => Self::Fx(HashMap::default()),
            "timer" => Self::Timer(BTreeMap::new(), vec![Time::default(); TIMERS]),
            "queue" => Self::Queue(VecDeque::new()),
            _ => Self::Nothing,
        }
    }

    fn call(&mut self, now: Time, user: u64) {
        match self {
            Self::Clock => drop(black_box(Instant::now())),
            Self::Sip(open) => drop(open.insert(user, user)),
            Self::Fx(open) => drop(open.insert(user, user)),
            Self::Timer(timers, due) => {
                let at = now + Duration::from_millis(5);
                due[user as usize % TIMERS] = at;
                timers.insert((at, user), ());
            }
            Self::Nothing | Self::Queue(_) => {}
        }
    }

    fn packet(&mut self, packet: &[u8]) {
        match self {
            Self::Clock => drop(black_box(Instant::now())),
            Self::Queue(waiting) => waiting.push_back(packet.to_vec()),
            _ => {}
        }
    }

    fn reply(&mut self, user: u64) {
        match self {
            Self::Sip(open) => drop(open.remove(&user)),
            Self::Fx(open) => drop(open.remove(&user)),
            Self::Timer(timers, due) => drop(timers.remove(&(due[user as usize % TIMERS], user))),
            _ => {}
        }
    }

    fn polled(&mut self) {
        if let Self::Queue(waiting) = self {
            waiting.drain(..).for_each(|packet| drop(black_box(packet)));
        }
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let count = arguments.next().map_or(Ok(100_000), |count| count.parse())?;
    let slots = arguments.next().map_or(Ok(64), |slots| slots.parse())?;
    let inline = arguments.next().map_or(Ok(220), |inline| inline.parse())?;
    let mut beside = Beside::of(&arguments.next().unwrap_or_default());
    let began = Instant::now();
    let fabric = Fabric::new(1, Weather::fair());
    let (mut client_port, mut server_port) = (port(&fabric, 1, inline)?, port(&fabric, 2, inline)?);
    let to_server = client_port.add(&server_port.endpoint())?;
    let to_client = server_port.add(&client_port.endpoint())?;
    let config = rpc::Config { slots, ..rpc::Config::default() };
    let (mut client, mut server) = (Rpc::new(config)?, Rpc::new(config)?);
    let session = client.open(to_server);
    let accepted = server.accept(to_client, session);
    client.connect(session, accepted);

    let (mut called, mut answered) = (0_u64, 0_u64);
    while answered < count {
        let now = fabric.now() + Duration::from_micros(2);
        fabric.advance(now);
        turn(&mut server_port, &mut server, to_client, now, (&mut answered, &mut beside));
        fabric.advance(now + Duration::from_micros(2));
        phase_call(&mut client, session, now, (&mut called, &mut beside), count);
        turn(&mut client_port, &mut client, to_server, now, (&mut answered, &mut beside));
    }
    let nanos = began.elapsed().as_nanos() / u128::from(count.max(1));
    eprintln!("{answered} replies, {nanos} ns each, {:?}", client.counts());
    Ok(())
}

fn port(
    fabric: &Fabric,
    psn: u32,
    inline_bytes: u32,
) -> Result<Datagrams<SimDevice>, Box<dyn Error>> {
    let device = fabric.host().open("sim0", 1, 0)?;
    Ok(Datagrams::new(device, &Config { inline_bytes, ..Config::default() }, psn, 0x1234)?)
}

fn ask(slot: &mut [u8]) -> usize {
    slot[..32].fill(7);
    32
}

/// One turn of a worker. Each phase is a function of its own, so that callgrind tells them apart.
fn turn(
    port: &mut Datagrams<SimDevice>,
    rpc: &mut Rpc<PeerId>,
    peer: PeerId,
    now: Time,
    (answered, beside): (&mut u64, &mut Beside),
) {
    phase_poll(port, |packet| phase_take(rpc, peer, now, packet, (answered, beside)));
    beside.polled();
    phase_leave(port, rpc, now);
    phase_flush(port);
}

#[inline(never)]
fn phase_call(
    rpc: &mut Rpc<PeerId>,
    session: SessionId,
    now: Time,
    (called, beside): (&mut u64, &mut Beside),
    count: u64,
) {
    while *called < count && rpc.call(now, session, *called, ask).is_ok() {
        beside.call(now, *called);
        *called += 1;
    }
}

#[inline(never)]
fn phase_poll(port: &mut Datagrams<SimDevice>, mut sink: impl FnMut(&mut [u8])) {
    while port.poll(|_, packet| sink(packet)) > 0 {}
}

#[inline(never)]
fn phase_take(
    rpc: &mut Rpc<PeerId>,
    peer: PeerId,
    now: Time,
    packet: &[u8],
    (answered, beside): (&mut u64, &mut Beside),
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
fn phase_leave(port: &mut Datagrams<SimDevice>, rpc: &mut Rpc<PeerId>, now: Time) {
    rpc.on_turn(now, port, |_| {});
}

#[inline(never)]
fn phase_flush(port: &mut Datagrams<SimDevice>) {
    port.flush();
}
