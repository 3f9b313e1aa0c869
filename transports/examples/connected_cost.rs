//! What a packet of 32 bytes and its answer cost over simulated connections: both ends together, without link and
//! cipher. Arguments: how many, to how many peers (1), and how many at a time to each (4).
//!
//! ```sh
//! cargo build --release -p greenroom-transports --example connected_cost
//! valgrind --tool=callgrind --callgrind-out-file=few target/release/examples/connected_cost 20000 64
//! valgrind --tool=callgrind --callgrind-out-file=many target/release/examples/connected_cost 40000 64
//! ```
//!
//! The difference of the two counts of instructions, over 20,000, is what one costs. What `rdma::sim` costs is the
//! device's, not ours.

use greenroom_transports::rdma::connected::{Config, Connected, ConnectionId};
use greenroom_transports::rdma::sim::{Fabric, SimDevice, Weather};
use greenroom_transports::rdma::verbs::Verbs;
use std::error::Error;
use std::time::Duration;

/// One end of a connection.
struct Client {
    port: Connected<SimDevice>,
    id: ConnectionId,
    under_way: u64,
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let count = arguments.next().map_or(Ok(20_000), |count| count.parse())?;
    let peers = arguments.next().map_or(Ok(1), |peers| peers.parse())?;
    let at_a_time = arguments.next().map_or(Ok(4), |at_a_time| at_a_time.parse())?;
    let fabric = Fabric::new(1, Weather::fair());
    let config = |connections_max| Config { connections_max, ..Config::default() };
    let mut server = Connected::new(fabric.host().open("sim0", 1, 0)?, config(peers))?;
    let mut clients = Vec::new();
    for psn in 0..peers {
        let mut port = Connected::new(fabric.host().open("sim0", 1, 0)?, config(1))?;
        let (id, there) = (port.open(psn.into())?, server.open(psn.into())?);
        let ends = (port.endpoint(id), server.endpoint(there));
        let (Some(here), Some(far)) = ends else { return Err("it has ended".into()) };
        port.connect(id, &far, server.receives())?;
        server.connect(there, &here, port.receives())?;
        clients.push(Client { port, id, under_way: 0 });
    }
    let (mut asked, mut answered, mut questions) = (0_u64, 0_u64, Vec::new());
    while answered < count {
        for client in &mut clients {
            answered += turn(client, &mut asked, count, at_a_time);
        }
        fabric.advance(fabric.now() + Duration::from_micros(3));
        while server.poll(|from, _| questions.push(from)) > 0 {}
        for from in questions.drain(..) {
            server.send(from, fill)?;
        }
        server.flush();
        fabric.advance(fabric.now() + Duration::from_micros(3));
    }
    eprintln!("{answered} answers");
    Ok(())
}

/// Takes answers, which it counts, and asks again.
fn turn(client: &mut Client, asked: &mut u64, count: u64, at_a_time: u64) -> u64 {
    let mut answered = 0;
    while client.port.poll(|_, _| answered += 1) > 0 {}
    client.under_way -= answered;
    while *asked < count
        && client.under_way < at_a_time
        && client.port.send(client.id, fill).is_ok()
    {
        (*asked, client.under_way) = (*asked + 1, client.under_way + 1);
    }
    client.port.flush();
    answered
}

fn fill(slot: &mut [u8]) -> usize {
    slot[..32].fill(7);
    32
}
