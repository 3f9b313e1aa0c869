//! What a message costs by a lane over simulated queue pairs: both ends together, without a cipher, over a connection (`rc`),
//! whose packets come once and in order, or over datagrams (`ud`), of which the lane sends again what was lost. Arguments:
//! which, how many, and bytes of each (64).
//!
//! ```sh
//! cargo build --release -p greenroom-transports --example lane_cost
//! valgrind --tool=callgrind --callgrind-out-file=few target/release/examples/lane_cost ud 10000 64
//! valgrind --tool=callgrind --callgrind-out-file=many target/release/examples/lane_cost ud 20000 64
//! ```
//!
//! The difference of the two counts of instructions, over 10,000, is what one costs. `rdma::sim` is part of it.

use greenroom::net::FrameBuf;
use greenroom_transports::link::{Address, Config, Ecn, Envelope, Kind, Lane, Time};
use greenroom_transports::rdma::connected::{self, Connected, ConnectionId, PREFIX_BYTES};
use greenroom_transports::rdma::datagrams::{self, Datagrams, PeerId};
use greenroom_transports::rdma::sim::{Fabric, SimDevice, Weather};
use greenroom_transports::rdma::verbs::Verbs;
use std::error::Error;
use std::time::Duration;

type Failure = Box<dyn Error>;

/// The number of a packet, which a sealed header would say.
const HEAD: usize = 8;
/// As nodes have them.
const SLOT_BYTES: usize = 16_500;
/// Messages that are on their way at a time.
const DEPTH: u64 = 64;
const STEP: Duration = Duration::from_micros(2);

enum Port {
    Connected(Box<Connected<SimDevice>>, ConnectionId),
    Datagrams(Box<Datagrams<SimDevice>>, PeerId),
}

struct End {
    port: Port,
    lane: Lane,
}

fn connected(fabric: &Fabric) -> Result<[End; 2], Failure> {
    let config = connected::Config {
        connections_max: 2,
        sends: 64,
        receives: 64,
        slot_bytes: SLOT_BYTES,
        ..connected::Config::default()
    };
    let port = || -> Result<_, Failure> {
        let mut port = Connected::new(fabric.host().open("sim0", 1, 0)?, config)?;
        let id = port.open(1)?;
        let at = port.endpoint(id).ok_or("it is open")?;
        Ok((port, id, at))
    };
    let [(mut left, left_id, left_at), (mut right, right_id, right_at)] = [port()?, port()?];
    left.connect(left_id, &right_at, right.receives())?;
    right.connect(right_id, &left_at, left.receives())?;
    let inside = SLOT_BYTES - PREFIX_BYTES - HEAD;
    let config = Config {
        loss_detection: false,
        packet_len_base: inside,
        packet_len_start: inside,
        packet_len_max: inside,
        ..Config::default()
    };
    let end = |port, id| -> Result<_, Failure> {
        let lane = Lane::new(fabric.now(), config.clone())?;
        Ok(End { port: Port::Connected(Box::new(port), id), lane })
    };
    Ok([end(left, left_id)?, end(right, right_id)?])
}

fn datagrams(fabric: &Fabric) -> Result<[End; 2], Failure> {
    let port = |number| -> Result<_, Failure> {
        let device = fabric.host().open("sim0", 1, 0)?;
        Ok(Datagrams::new(device, &datagrams::Config::default(), number, number)?)
    };
    let [mut left, mut right] = [port(1)?, port(2)?];
    let (left_at, right_at) = (left.endpoint(), right.endpoint());
    let (to_right, to_left) = (left.add(&right_at)?, right.add(&left_at)?);
    let end = |port: Datagrams<SimDevice>, id| -> Result<_, Failure> {
        let inside = port.bytes_max(id).ok_or("it was added")? - HEAD;
        let config = Config { packet_len_max: inside, ..Config::default() };
        let lane = Lane::new(fabric.now(), config)?;
        Ok(End { port: Port::Datagrams(Box::new(port), id), lane })
    };
    Ok([end(left, to_right)?, end(right, to_left)?])
}

impl End {
    /// Takes what came, and sends what there is.
    fn turn(&mut self, now: Time) {
        let Self { port, lane } = self;
        let take = |packet: &mut [u8], lane: &mut Lane| {
            let Some((number, inside)) = packet.split_first_chunk() else { return };
            lane.on_packet(now, u64::from_le_bytes(*number), inside, Ecn::NotCapable);
        };
        match port {
            Port::Connected(port, _) => port.poll(|_, packet| take(packet, lane)),
            Port::Datagrams(port, _) => port.poll(|_, packet| take(packet, lane)),
        };
        if lane.timeout().is_some_and(|due| due <= now) {
            lane.on_timeout(now);
        }
        let mut fill = |slot: &mut [u8]| {
            let (head, room) = slot.split_at_mut(HEAD);
            let Some(packet) = lane.poll_transmit(now, room) else { return 0 };
            head.copy_from_slice(&packet.number.to_le_bytes());
            HEAD + packet.len
        };
        match port {
            Port::Connected(port, id) => {
                while port.send(*id, &mut fill).is_ok_and(|bytes| bytes > 0) {}
                port.flush();
            }
            Port::Datagrams(port, id) => {
                while port.send(*id, &mut fill).is_ok_and(|bytes| bytes > 0) {}
                port.flush();
            }
        }
    }
}

fn main() -> Result<(), Failure> {
    let mut arguments = std::env::args().skip(1);
    let fabric = Fabric::new(7, Weather::fair());
    let [mut left, mut right] = match arguments.next().as_deref() {
        Some("rc") => connected(&fabric)?,
        Some("ud") => datagrams(&fabric)?,
        _ => return Err("say `rc` or `ud`".into()),
    };
    let count: u64 = arguments.next().map_or(Ok(10_000), |count| count.parse())?;
    let bytes = arguments.next().map_or(Ok(64), |bytes| bytes.parse())?;
    let to = Address { slot: 1, generation: 1 };
    let envelope = Envelope { to, from: to, kind: Kind::Tell, manifest: 3, correlation: 0 };
    let (message, mut buffer) = (vec![7; bytes], FrameBuf::default());
    let (mut sent, mut came) = (0, 0);
    while came < count {
        while sent < count && sent - came < DEPTH && left.lane.send(&envelope, &message).is_ok() {
            sent += 1;
        }
        let now = fabric.now();
        left.turn(now);
        right.turn(now);
        while let Some(delivery) = right.lane.poll_message(&mut buffer) {
            right.lane.release(now, delivery.receipt, u32::MAX);
            came += 1;
        }
        while left.lane.poll_event().is_some() || right.lane.poll_event().is_some() {}
        fabric.advance(now + STEP);
    }
    Ok(())
}
