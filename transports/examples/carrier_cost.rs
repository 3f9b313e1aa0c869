//! What a message costs by a link over simulated queue pairs: both nodes together, from the frame that is submitted to the
//! frame that is received. Arguments: how many, bytes of each (16000), and `plain` if packets are not to be sealed.
//!
//! ```sh
//! cargo build --release -p greenroom-transports --example carrier_cost
//! valgrind --tool=callgrind --callgrind-out-file=few target/release/examples/carrier_cost 1000 16000 plain
//! valgrind --tool=callgrind --callgrind-out-file=many target/release/examples/carrier_cost 2000 16000 plain
//! ```
//!
//! The difference of the two counts of instructions, over 1,000, is what one costs. What `rdma::sim` costs is the
//! device's, not ours.

use greenroom::net::{FrameBuf, Order};
use greenroom_transports::link::{Config, Time};
use greenroom_transports::rdma::carrier::{QueuePairs, Turn};
use greenroom_transports::rdma::sim::{Fabric, SimDevice, Weather};
use greenroom_transports::rdma::verbs::{OpenError, Verbs};
use greenroom_transports::secure::endpoint::{self, AssociationId, Endpoint};
use greenroom_transports::secure::entropy::System;
use greenroom_transports::secure::identity::Identity;
use greenroom_transports::secure::key::{Key, PublicKey};
use greenroom_transports::station::{Attempt, By, Carrier, DATAGRAM_BYTES_MAX, Outgoing, Station};
use parking_lot::Mutex;
use std::error::Error;
use std::net::SocketAddr;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

type Open = Box<dyn FnMut() -> Result<SimDevice, OpenError>>;

struct Node {
    station: Mutex<Station>,
    pairs: QueuePairs<SimDevice, Open>,
    line: Option<AssociationId>,
}

fn address(node: u8) -> SocketAddr {
    SocketAddr::from(([10, 0, 0, 1 + node], 7))
}

fn public(node: u8) -> PublicKey {
    Identity::new(Key::new([1 + node; 32])).public()
}

fn node(fabric: &Fabric, own: u8, is_plain: bool) -> Result<Node, Box<dyn Error>> {
    let config = endpoint::Config {
        datagram_bytes_max: DATAGRAM_BYTES_MAX,
        lanes: Station::LANES,
        ..endpoint::Config::default()
    };
    let identity = Identity::new(Key::new([1 + own; 32]));
    let since = Duration::from_secs(1_700_000_000);
    let mut endpoint = Endpoint::new(config, identity, None, since, Box::new(System))?;
    endpoint.allow(public(1 - own));
    let mut station = Station::new(endpoint, Config::default());
    station.use_pairs(is_plain.then(|| public(1 - own)));
    let host = fabric.host();
    let open: Open = Box::new(move || host.open("sim0", 1, 0));
    let pairs = QueuePairs::new(open, Duration::from_micros(50));
    Ok(Node { station: Mutex::new(station), pairs, line: None })
}

/// A turn of a node; its datagrams come at once.
fn turn(nodes: &mut [Node; 2], own: usize, now: Time) {
    let mut cx = Context::from_waker(Waker::noop());
    let [first, second] = nodes;
    let (node, other) = if own == 0 { (first, second) } else { (second, first) };
    node.station.lock().begin_turn(now);
    node.pairs.receive(&node.station, &mut cx, now);
    let (mut station, mut out) = (node.station.lock(), Outgoing::new());
    station.handle_timeout(now);
    while station.poll_transmit(now, 1, &mut out) {
        let from = address(own as u8);
        other.station.lock().handle(now, from, &mut out.datagrams().to_vec());
    }
    drop(station);
    node.pairs.send(&node.station, &mut cx, now);
    if node.line.is_none()
        && let Poll::Ready(Some((line, _))) = node.station.lock().poll_line(&mut cx)
    {
        node.line = Some(line);
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let number =
        |at: usize, usual| arguments.get(at).map_or(Ok(usual), |text| text.parse::<usize>());
    let (count, len) = (number(0, 1000)?, number(1, 16_000)?);
    let is_plain = arguments.get(2).is_some_and(|how| how == "plain");
    let carrier = if is_plain { Carrier::RdmaPlain } else { Carrier::Rdma };
    let fabric = Fabric::new(1, Weather::fair());
    let mut nodes = [node(&fabric, 0, is_plain)?, node(&fabric, 1, is_plain)?];
    let (done, _outcome) = tokio::sync::oneshot::channel();
    let (to, key) = ("udp:10.0.0.2:7".parse()?, Some(public(1)));
    let attempt =
        Attempt { address: to, at: vec![address(1)], key, is_known: true, by: By::Owner, done };
    nodes[0].station.lock().connect(attempt);
    let (frame, mut into) = (vec![7; len], FrameBuf::default());
    let (mut sent, mut received) = (0, 0);
    let mut cx = Context::from_waker(Waker::noop());
    while received < count {
        fabric.advance(fabric.now() + Duration::from_micros(3));
        turn(&mut nodes, 0, fabric.now());
        turn(&mut nodes, 1, fabric.now());
        let is_up = |node: usize| nodes[node].station.lock().carrier(&public(1 - node as u8));
        if [is_up(0), is_up(1)] != [Some(carrier); 2] {
            continue;
        }
        let (Some(here), Some(there)) = (nodes[0].line, nodes[1].line) else { continue };
        while sent < count && nodes[0].station.lock().submit(here, Order::Within(7), &frame).is_ok()
        {
            sent += 1;
        }
        let mut station = nodes[1].station.lock();
        while let Poll::Ready(got) = station.poll_receive(there, &mut cx, &mut into) {
            got?;
            received += 1;
        }
    }
    eprintln!("{received} messages by {carrier:?}");
    Ok(())
}
