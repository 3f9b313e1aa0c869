//! What becomes of single packets on simulated wires: damage, rules of a test's own, and sockets without room.
#![allow(clippy::unwrap_used, reason = "what goes wrong in a test may panic")]

use super::fabric::{MANY, MS, Pair};
use greenroom::sim::{Ecn, Link, SocketError, Verdict, World};
use greenroom::{Actor, handlers};
use std::collections::BTreeSet;
use std::future::poll_fn;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// How the bits differ that a packet of zeros arrives with: the first one, and how many.
fn flipped(bytes: &[u8]) -> Option<(u32, u32)> {
    let word = u64::from_le_bytes(bytes.try_into().ok()?);
    let count = word.count_ones();
    assert_eq!(word >> word.trailing_zeros().min(63), (1_u64 << count) - 1, "bits in a row");
    Some((word.trailing_zeros(), count))
}

#[test]
fn what_is_damaged_has_up_to_eight_bits_in_a_row_flipped_or_is_cut_short() {
    let mut world = World::new(5);
    let pair = Pair::new(&mut world, Link::default().corruption(1000));
    let (mut places, mut counts, mut lens) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    for _ in 0..MANY {
        pair.sockets[0].send(pair.sockets[1].address(), &[0; 8]);
        world.settle();
        let bytes = pair.sockets[1].try_receive().unwrap().unwrap().bytes;
        match flipped(&bytes) {
            Some((place, count)) => {
                places.insert(place);
                counts.insert(count);
            }
            None => {
                assert!(bytes.iter().all(|byte| *byte == 0));
                lens.insert(bytes.len());
            }
        }
    }
    assert!(places.into_iter().eq(0..64), "any bit may be the first");
    assert!(counts.into_iter().eq(1..=8));
    assert!(lens.into_iter().eq(0..8));
    assert_eq!(world.traffic().damaged, u64::from(MANY));
}

#[test]
fn the_rules_of_a_link_are_asked_in_order_about_what_those_before_have_left() {
    let mut world = World::new(10);
    let pair = Pair::new(&mut world, Link::default());
    let [one, other] = &pair.nodes;
    world.add_rule(one, other, |packet| match packet.bytes[0] {
        1 => Verdict::Drop,
        2 => Verdict::Duplicate(2),
        3 => Verdict::Deliver(5 * MS),
        4 => Verdict::Corrupt(3),
        5 => Verdict::Cut(2),
        _ => Verdict::Pass,
    });
    let lens = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&lens);
    world.add_rule(one, other, move |packet| {
        seen.lock().unwrap().push(packet.bytes.len());
        if packet.bytes.len() == 2 { Verdict::Cut(1) } else { Verdict::Pass }
    });
    let send = |first: u8| {
        let mut bytes = [0; 8];
        bytes[0] = first;
        pair.sockets[0].send(pair.sockets[1].address(), &bytes);
    };
    let came = || {
        let next = || pair.sockets[1].try_receive().unwrap().map(|datagram| datagram.bytes);
        std::iter::from_fn(next).collect::<Vec<_>>()
    };
    (1..=6).for_each(send);
    world.run_for(4 * MS);
    let arrived = came();
    assert_eq!(arrived.len(), 3 + 1 + 1 + 1, "{arrived:?}");
    assert!(arrived[..3].iter().all(|bytes| bytes[0] == 2));
    let wrong: u32 = arrived[3].iter().map(|byte| byte.count_ones()).sum();
    assert_ne!(arrived[3], [4, 0, 0, 0, 0, 0, 0, 0]);
    assert!([2, 4].contains(&wrong), "three bits in a row of a packet with one set: {arrived:?}");
    assert_eq!((arrived[4].as_slice(), arrived[5].len()), ([5].as_slice(), 8));
    world.run_for(2 * MS);
    assert_eq!(came(), [[3, 0, 0, 0, 0, 0, 0, 0]]);
    assert_eq!(
        *lens.lock().unwrap(),
        [8, 8, 8, 2, 8],
        "of what is dropped no further rule is asked"
    );
    let traffic = world.traffic();
    assert_eq!((traffic.lost, traffic.doubled, traffic.damaged), (1, 2, 2));
    world.heal();
    (1..=6).for_each(send);
    world.run_for(MS);
    assert_eq!(came().len(), 6, "healed, a link has no rules");
}

#[test]
fn rules_may_use_actors_and_choose_what_cannot_be() {
    let mut world = World::new(12);
    let pair = Pair::new(&mut world, Link::default());
    let [one, other] = &pair.nodes;
    let system = one.system();
    let clerk = world.run(async { system.spawn::<Clerk>(Clerk::default()).await.unwrap() });
    let (told, clock) = (clerk.clone(), world.clock());
    world.add_rule(one, other, move |packet| {
        assert_eq!(clock.now(), packet.at);
        told.note(packet.bytes[0]).tell().unwrap();
        match packet.bytes[0] {
            0 => Verdict::Deliver(Duration::MAX),
            1 => Verdict::Duplicate(usize::MAX),
            2 => Verdict::Cut(usize::MAX),
            3 => Verdict::Corrupt(usize::MAX),
            _ => Verdict::Corrupt(0),
        }
    });
    (0..5).for_each(|number| pair.send(number));
    world.settle();
    let arrived = pair.arrived();
    assert_eq!(arrived.iter().filter(|number| **number == 1).count(), 1001);
    assert_eq!(arrived[1001..], [2, !3, 4]);
    let traffic = world.traffic();
    assert_eq!((traffic.lost, traffic.doubled, traffic.damaged), (1, 1000, 1));
    assert_eq!(world.run(async { clerk.noted().await.unwrap() }), [0, 1, 2, 3, 4]);
}

/// Notes what it is told.
#[derive(Actor, Default)]
struct Clerk {
    noted: Vec<u8>,
}

#[handlers]
impl Clerk {
    #[tell]
    fn note(&mut self, number: u8) {
        self.noted.push(number);
    }
    #[ask]
    fn noted(&self) -> Vec<u8> {
        self.noted.clone()
    }
}

#[test]
fn a_socket_has_room_again_when_the_world_is_healed() {
    for heal in [
        |world: &mut World, _: &Pair| world.heal(),
        |world: &mut World, pair: &Pair| {
            world.calm(&pair.nodes);
        },
    ] {
        let mut world = World::new(13);
        let pair = Pair::new(&mut world, Link::default().full(1000));
        pair.send(1);
        heal(&mut world, &pair);
        pair.send(2);
        world.settle();
        assert_eq!((pair.arrived(), world.traffic().overflowed), (vec![2], 1));
    }
}

#[test]
fn a_socket_without_room_says_so_and_says_when_it_has_some() {
    let mut world = World::new(11);
    let pair = Pair::new(&mut world, Link::default().full(500));
    let to = pair.sockets[1].address();
    let clock = world.clock();
    let refused = world.run(async {
        let mut refused = 0;
        for number in 0..1000_u32 {
            let bytes = number.to_le_bytes();
            while pair.sockets[0].try_send(to, Ecn::NotCapable, &bytes) == Err(SocketError::Full) {
                refused += 1;
                let before = clock.now();
                poll_fn(|cx| pair.sockets[0].poll_writable(cx)).await.unwrap();
                assert!(clock.now() > before, "it was said to have room at once");
            }
        }
        refused
    });
    assert!((800..1200).contains(&refused), "one of two: {refused}");
    world.settle();
    assert!(pair.arrived().into_iter().eq(0..1000), "nothing is lost");
    assert_eq!(world.traffic().overflowed, 0);
    // Who does not ask loses.
    (0..1000).for_each(|number| pair.send(number));
    world.settle();
    let arrived = pair.arrived();
    assert_eq!(arrived.len() as u64, 1000 - world.traffic().overflowed);
    assert!(arrived.len() < 100, "they come at once, and soon there is no room for long");
}
