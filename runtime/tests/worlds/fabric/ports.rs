//! Ports: whose they are, and as what they are seen from elsewhere.

use super::Pair;
use greenroom::sim::{Link, SocketError, World};
use std::net::SocketAddr;

#[test]
fn a_rebound_port_is_heard_from_and_reached_elsewhere() {
    let mut world = World::new(10);
    let pair = Pair::new(&mut world, Link::default());
    let exchange = |world: &mut World, seen: SocketAddr| {
        pair.send(1);
        world.settle();
        let datagram = pair.sockets[1].try_receive().unwrap().unwrap();
        assert_eq!(datagram.from, seen);
        pair.sockets[1].send(seen, b"answer");
        world.settle();
        assert_eq!(pair.sockets[0].try_receive().unwrap().unwrap().bytes, b"answer");
    };
    let own = pair.sockets[0].address();
    exchange(&mut world, own);
    for outside in ["203.0.113.5:4000", "203.0.113.5:4001"] {
        let before = pair.sockets[0].address();
        let outside = outside.parse().unwrap();
        pair.nodes[0].rebind(1, outside);
        exchange(&mut world, outside);
        for gone in [own, before] {
            pair.sockets[1].send(gone, b"late");
            world.settle();
            assert_eq!(pair.sockets[0].try_receive(), Ok(None));
        }
    }
    assert_eq!(world.traffic().unclaimed, 4);
}

#[test]
fn ports_belong_to_one_socket_and_close_with_it() {
    let mut world = World::new(11);
    let pair = Pair::new(&mut world, Link::default());
    assert_eq!(pair.nodes[0].bind(1).unwrap_err(), SocketError::InUse);
    let Pair { nodes, sockets: [first, second] } = pair;
    let to = first.address();
    drop(first);
    second.send(to, b"anyone?");
    world.settle();
    assert_eq!(world.traffic().unclaimed, 1);
    let again = nodes[0].bind(1).unwrap();
    second.send(to, b"hello");
    nodes[1].kill();
    world.settle();
    assert_eq!(again.try_receive().unwrap().unwrap().bytes, b"hello", "what is sent is sent");
    second.send(to, b"from the grave");
    world.settle();
    assert_eq!(again.try_receive(), Ok(None));
    assert_eq!(second.try_receive(), Err(SocketError::Down));
}

#[test]
fn a_port_that_was_seen_elsewhere_is_seen_where_it_is_again() {
    let mut world = World::new(14);
    let pair = Pair::new(&mut world, Link::default());
    let own = pair.sockets[1].address();
    pair.nodes[1].rebind(2, "203.0.113.5:4000".parse().unwrap());
    assert_ne!(pair.sockets[1].address(), own);
    pair.nodes[1].rebind(2, own);
    assert_eq!(pair.sockets[1].address(), own);
    pair.send(1);
    world.settle();
    assert_eq!(pair.arrived(), [1]);
}

#[test]
fn what_belongs_to_another_is_not_taken() {
    let mut world = World::new(15);
    let pair = Pair::new(&mut world, Link::default());
    let own = pair.sockets[1].address();
    let take = |outside: SocketAddr| {
        let node = std::panic::AssertUnwindSafe(&pair.nodes[0]);
        let outcome = std::panic::catch_unwind(|| node.rebind(1, outside));
        let text = *outcome.unwrap_err().downcast::<String>().unwrap();
        assert!(text.contains("belongs to another"), "{text}");
    };
    take(own);
    let outside = "203.0.113.5:4000".parse().unwrap();
    pair.nodes[1].rebind(2, outside);
    let taken = SocketAddr::new(pair.nodes[0].host(), 77);
    pair.nodes[1].rebind(2, taken);
    assert_eq!(pair.nodes[0].bind(77).unwrap_err(), SocketError::InUse);
    pair.nodes[1].rebind(2, outside);
    assert!(pair.nodes[0].bind(77).is_ok());
    take(outside);
    pair.send(1);
    world.settle();
    assert_eq!(pair.arrived(), [1]);
}
