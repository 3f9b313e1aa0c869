//! What many peers want of one device.

use super::*;
use crate::rdma::sim::{Fabric, SimDevice, Weather};
use crate::rdma::verbs::{Endpoint, Verbs};
use std::cell::Cell;

const SECOND: Duration = Duration::from_secs(1);

/// As long as nobody sends, a peer's end is an address.
fn at(gid: [u8; 16]) -> Terms {
    let endpoint = Endpoint { gid, mtu_bytes: 4096, ..Endpoint::default() };
    Terms { endpoint, receives: 8, packet_bytes: 4096 }
}

/// A peer offers; how that went.
fn accept<O: FnMut() -> Result<SimDevice, OpenError>>(
    pairs: &mut QueuePairs<SimDevice, O>,
    now: Time,
    peer: u32,
    terms: Terms,
) -> Result<Terms, Why> {
    let want = Want::Accept { attempt: peer.into(), psn: 5, peer: terms };
    let made = pairs.fulfil(now, AssociationId::of_nobody(peer), want);
    let (attempt, made) = made.expect("an attempt has an outcome");
    assert_eq!(attempt, u64::from(peer));
    made
}

/// Nothing else of the node's happens while the system looks for a peer, and its own peers would take it for dead.
// [RDMA-51]
#[test]
fn however_many_peers_are_nowhere_a_node_stands_still_for_a_twentieth_of_the_time() {
    let fabric = Fabric::new(7, Weather { search: SECOND, ..Weather::fair() });
    let (host, other) = (fabric.host(), fabric.host());
    let there = other.open("sim0", 1, 0).expect("a device").port().expect("a port").gid;
    let mut pairs = QueuePairs::new(move || host.open("sim0", 1, 0), Duration::ZERO);
    let (mut stood, until) = (Duration::ZERO, fabric.now() + 200 * SECOND);
    while fabric.now() < until {
        let now = fabric.now();
        for peer in 0..10 {
            assert_eq!(accept(&mut pairs, now, peer, at([9; 16])), Err(Why::NotMade));
        }
        let took = fabric.now().since(now);
        assert!(took <= SECOND, "{took:?} in one turn");
        stood += took;
        fabric.advance(fabric.now() + SECOND / 10);
    }
    assert!((9 * SECOND..=10 * SECOND).contains(&stood), "{stood:?}");
    fabric.advance(fabric.now() + 20 * SECOND);
    for peer in 0..10 {
        assert!(accept(&mut pairs, fabric.now(), peer, at(there)).is_ok(), "it rests no more");
    }
}

/// A machine without a device looks for one all the same, on the task that everything of its node goes by.
// [RDMA-52]
#[test]
fn a_device_that_does_not_open_is_not_tried_for_each_peer() {
    let opened = Cell::new(0);
    let none = || {
        opened.set(opened.get() + 1);
        Err(OpenError::PortDown(1))
    };
    let mut pairs = QueuePairs::new(none, Duration::ZERO);
    for tenth in 0..30 {
        for peer in 0..10 {
            let now = Time::default() + SECOND / 10 * tenth;
            assert_eq!(accept(&mut pairs, now, peer, at([9; 16])), Err(Why::PortDown));
        }
    }
    assert_eq!(opened.get(), 3);
}
