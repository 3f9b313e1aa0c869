//! What a request of 32 bytes and its reply cost over simulated datagrams: client and server together,
//! without any cipher. Arguments: how many, how many at a time (64), and bytes that go inline (220).
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
use std::error::Error;
use std::time::Duration;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let count = arguments.next().map_or(Ok(100_000), |count| count.parse())?;
    let slots = arguments.next().map_or(Ok(64), |slots| slots.parse())?;
    let inline = arguments.next().map_or(Ok(220), |inline| inline.parse())?;
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
        turn(&mut server_port, &mut server, to_client, now, &mut answered);
        fabric.advance(now + Duration::from_micros(2));
        phase_call(&mut client, session, now, &mut called, count);
        turn(&mut client_port, &mut client, to_server, now, &mut answered);
    }
    eprintln!("{answered} replies, {:?}", client.counts());
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
    answered: &mut u64,
) {
    phase_poll(port, |packet| phase_take(rpc, peer, now, packet, answered));
    phase_leave(port, rpc, now);
    phase_flush(port);
}

#[inline(never)]
fn phase_call(rpc: &mut Rpc<PeerId>, session: SessionId, now: Time, called: &mut u64, count: u64) {
    while *called < count && rpc.call(now, session, *called, ask).is_ok() {
        *called += 1;
    }
}

#[inline(never)]
fn phase_poll(port: &mut Datagrams<SimDevice>, mut sink: impl FnMut(&mut [u8])) {
    while port.poll(|_, packet| sink(packet)) > 0 {}
}

#[inline(never)]
fn phase_take(rpc: &mut Rpc<PeerId>, peer: PeerId, now: Time, packet: &[u8], answered: &mut u64) {
    rpc.on_packet(now, peer, packet, |rpc, event| match event {
        Event::Request { request, payload } => {
            rpc.reply(request, |slot| {
                slot[..payload.len()].copy_from_slice(payload);
                payload.len()
            });
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
