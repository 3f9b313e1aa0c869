//! Whom a datagram is from, by what devices write before it.

use super::*;

fn peer(gid: [u8; 16], lid: u16, qpn: u32) -> Endpoint {
    Endpoint { gid, lid, qpn, ..Endpoint::default() }
}

fn id(index: u32) -> PeerId {
    PeerId { index, use_count: 1 }
}

/// Of the address 10.0.0.`host`.
fn mapped(host: u8) -> [u8; 16] {
    [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, 0, host]
}

/// Link-local, of IPv6.
fn local(host: u8) -> [u8; 16] {
    [0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, host]
}

/// A header of IPv4, behind what was there before.
fn of_ipv4(from: u8, to: u8) -> [u8; GRH_BYTES] {
    let mut route = [0x60; GRH_BYTES];
    route[20..28].copy_from_slice(&[0x45, 0, 0, 100, 0, 0, 0x40, 0]);
    route[28..].copy_from_slice(&[64, 17, 1, 2, 10, 0, 0, from, 10, 0, 0, to]);
    route
}

/// A header with both GIDs.
fn of_gids(from: [u8; 16], to: [u8; 16]) -> [u8; GRH_BYTES] {
    let mut route = [0; GRH_BYTES];
    route[..8].copy_from_slice(&[0x60, 0, 0, 0, 0, 100, 0x1b, 64]);
    route[8..24].copy_from_slice(&from);
    route[24..].copy_from_slice(&to);
    route
}

/// Whom a datagram of queue pair 17 is from that came with that route.
fn by_route(senders: &Senders, route: &[u8; GRH_BYTES]) -> Option<PeerId> {
    let completion = Completion { from: 17, has_grh: true, ..Completion::default() };
    Sender::new(senders, &completion, route).peer()
}

// [RDMA-23]
#[test]
fn a_route_names_the_port_in_each_of_its_forms() {
    for gid in [mapped, local] {
        let mut senders = Senders::new(gid(1));
        for host in [2, 3] {
            senders.add(&peer(gid(host), 0, 17), id(host.into()));
        }
        for host in [2, 3] {
            assert_eq!(by_route(&senders, &of_gids(gid(host), gid(1))), Some(id(host.into())));
        }
        assert_eq!(by_route(&senders, &of_gids(gid(4), gid(1))), None);
        assert_eq!(by_route(&senders, &of_gids(gid(2), gid(4))), None, "it is not for this port");
    }
    let mut senders = Senders::new(mapped(1));
    for host in [2, 3] {
        senders.add(&peer(mapped(host), 0, 17), id(host.into()));
        assert_eq!(by_route(&senders, &of_ipv4(host, 1)), Some(id(host.into())));
    }
    assert_eq!(by_route(&senders, &of_ipv4(4, 1)), None);
    assert_eq!(by_route(&senders, &of_ipv4(2, 4)), None, "it is not for this port");
    assert_eq!(by_route(&Senders::new(local(1)), &of_ipv4(2, 1)), None);
}

// [RDMA-23]
#[test]
fn what_comes_without_a_route_is_known_by_its_lid() {
    let mut senders = Senders::new(local(1));
    for host in [2, 3] {
        senders.add(&peer(local(host), host.into(), 17), id(host.into()));
    }
    // What lies there is of something else.
    let route = of_gids(local(3), local(1));
    let came = |senders: &Senders, qpn, lid| {
        let completion = Completion { from: qpn, from_lid: lid, ..Completion::default() };
        Sender::new(senders, &completion, &route).peer()
    };
    assert_eq!(came(&senders, 17, 2), Some(id(2)));
    assert_eq!(came(&senders, 17, 3), Some(id(3)));
    assert_eq!(came(&senders, 18, 2), None);
    assert_eq!(by_route(&senders, &route), Some(id(3)), "a peer may send in both ways");
    assert!(!senders.remove(&peer(local(3), 3, 17), id(2)), "it is another's");
    assert!(senders.remove(&peer(local(3), 3, 17), id(3)));
    assert_eq!((came(&senders, 17, 3), by_route(&senders, &route)), (None, None));
    let elsewhere = [[0xfe, 0xc0].as_slice(), &local(5)[2..]].concat().try_into().unwrap();
    senders.add(&peer(elsewhere, 2, 17), id(5));
    assert_eq!(came(&senders, 17, 2), Some(id(2)), "other subnets have the same LIDs");
    assert_eq!(by_route(&senders, &of_gids(elsewhere, local(1))), Some(id(5)));
    senders.add(&peer(local(4), 0, 17), id(4));
    assert_eq!(came(&senders, 17, 0), None, "on Ethernet there are no LIDs");
}
