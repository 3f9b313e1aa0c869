//! The wires of a simulated world, by plain datagrams: each fault does what it says, and no more.
//!
//! `GREENROOM_SEEDS` says how many seeds the random ones get.
#![allow(clippy::unwrap_used, reason = "what goes wrong in a test may panic")]

mod ports;

use greenroom::sim::{
    Datagram, Ecn, Explore, Fault, Link, Marks, Node, Socket, SocketError, Verdict, World,
};
use std::time::Duration;

pub(super) const MS: Duration = Duration::from_millis(1);
/// Datagrams of a run that counts.
pub(super) const MANY: u32 = 10_000;

/// Two nodes with a socket each.
pub(super) struct Pair {
    pub(super) nodes: [Node; 2],
    pub(super) sockets: [Socket; 2],
}

impl Pair {
    pub(super) fn new(world: &mut World, link: Link) -> Self {
        world.set_links(link);
        let nodes = [world.node("one").start(), world.node("other").start()];
        let sockets = [nodes[0].bind(1).unwrap(), nodes[1].bind(2).unwrap()];
        Self { nodes, sockets }
    }

    /// Sends a number from the first to the second.
    pub(super) fn send(&self, number: u32) {
        self.sockets[0].send(self.sockets[1].address(), &number.to_le_bytes());
    }

    /// What has arrived at the second.
    pub(super) fn arrived(&self) -> Vec<u32> {
        let next = || self.sockets[1].try_receive().unwrap();
        let number = |datagram: Datagram| u32::from_le_bytes(datagram.bytes.try_into().unwrap());
        std::iter::from_fn(next).map(number).collect()
    }
}

/// What arrives of many numbers, a millisecond after each other.
fn many(world: &mut World, link: Link) -> Vec<u32> {
    let pair = Pair::new(world, link);
    let mut arrived = Vec::new();
    for number in 0..MANY {
        pair.send(number);
        world.run_for(MS);
        arrived.extend(pair.arrived());
    }
    world.run_for(Duration::from_secs(10));
    arrived.extend(pair.arrived());
    arrived
}

#[test]
fn a_good_link_delivers_everything_once_and_in_order() {
    let mut world = World::new(1);
    let arrived = many(&mut world, Link::default().latency(3 * MS));
    assert!(arrived.iter().copied().eq(0..MANY));
    let traffic = world.traffic();
    assert_eq!((traffic.sent, traffic.arrived), (MANY.into(), MANY.into()));
}

#[test]
fn a_link_takes_its_time() {
    Explore::new().seeds(20).run(|world| {
        let pair = Pair::new(world, Link::default().latency(5 * MS).jitter(3 * MS));
        pair.send(1);
        world.run_for(5 * MS - Duration::from_nanos(1));
        assert_eq!(pair.arrived(), []);
        world.run_for(3 * MS + Duration::from_nanos(1));
        assert_eq!(pair.arrived(), [1]);
    });
}

#[test]
fn jitter_lets_packets_overtake_each_other() {
    let arrived = many(&mut World::new(2), Link::default().jitter(5 * MS));
    let late = arrived.windows(2).filter(|pair| pair[0] > pair[1]).count();
    assert!(late > 1000, "{late} overtaken");
    let mut sorted = arrived;
    sorted.sort_unstable();
    assert!(sorted.into_iter().eq(0..MANY));
}

#[test]
fn rates_are_as_asked() {
    let near = |count: u64, per_mille: u64| {
        let expected = u64::from(MANY) * per_mille / 1000;
        assert!(count.abs_diff(expected) < expected / 5, "{count} instead of {expected}");
    };
    let mut world = World::new(3);
    let arrived = many(&mut world, Link::default().loss(300));
    near(world.traffic().lost, 300);
    assert_eq!(arrived.len() as u64, u64::from(MANY) - world.traffic().lost);
    let mut world = World::new(4);
    let arrived = many(&mut world, Link::default().duplication(100));
    near(world.traffic().doubled, 100);
    assert_eq!(arrived.len() as u64, u64::from(MANY) + world.traffic().doubled);
    let mut world = World::new(5);
    let pair = Pair::new(&mut world, Link::default().corruption(100));
    for number in 0..MANY {
        pair.send(number);
    }
    near(world.traffic().damaged, 100);
}

#[test]
fn a_link_marks_what_may_be_marked_while_its_queue_is_half_full() {
    let link = Link::default().bytes_per_second(Some(4000)).queue_bytes(40);
    let capable = [Ecn::NotCapable, Ecn::Capable0, Ecn::Capable1, Ecn::Congested];
    for (marks, behind) in [
        (Marks::Keeps, capable),
        (Marks::Clears, [Ecn::NotCapable; 4]),
        (Marks::Makes, [Ecn::NotCapable, Ecn::Congested, Ecn::Congested, Ecn::Congested]),
    ] {
        let mut world = World::new(6);
        let pair = Pair::new(&mut world, link.marks(marks));
        // Of four bytes each, six fill more than half of the queue.
        for ecn in [capable; 3].concat() {
            pair.sockets[0].try_send(pair.sockets[1].address(), ecn, &[0; 4]).unwrap();
        }
        world.run_for(Duration::from_secs(1));
        let next = || pair.sockets[1].try_receive().unwrap();
        let came: Vec<_> = std::iter::from_fn(next).map(|datagram| datagram.ecn).collect();
        let at_first = if marks == Marks::Makes { capable } else { behind };
        let (first, last) = came.split_at(6);
        assert!(first.iter().eq([at_first; 2].concat().iter().take(6)), "{marks:?}: {first:?}");
        assert!(last.iter().eq([behind; 2].concat().iter().skip(2).take(4)), "{marks:?}: {last:?}");
        assert_eq!(world.traffic().overflowed, 2);
        // Those that came with that mark are not counted.
        assert_eq!(world.traffic().marked, if marks == Marks::Makes { 2 } else { 0 });
    }
}

#[test]
fn bandwidth_spreads_packets_out_and_a_full_queue_drops_them() {
    let mut world = World::new(6);
    let link = Link::default().bytes_per_second(Some(4000)).queue_bytes(40);
    let pair = Pair::new(&mut world, link);
    for number in 0..15 {
        pair.send(number);
    }
    for number in 0..10 {
        assert_eq!(pair.arrived(), [], "before {number}");
        world.run_for(MS);
        assert_eq!(pair.arrived(), [number], "four bytes in a millisecond");
    }
    world.run_for(Duration::from_secs(1));
    assert_eq!(pair.arrived(), []);
    assert_eq!(world.traffic().overflowed, 5);
    pair.send(15);
    world.run_for(MS);
    assert_eq!(pair.arrived(), [15], "an idle link starts at once");
}

#[test]
fn a_link_is_as_wide_as_before_when_it_is_calm() {
    Explore::new().seeds(20).run(|world| {
        let pair = Pair::new(world, Link::default().bytes_max(3000));
        let to = pair.sockets[1].address();
        let storm = world.storm(&pair.nodes, &[Fault::Narrow]);
        world.run_for(Duration::from_secs(3));
        world.calm(&pair.nodes);
        for len in [3000, 3001] {
            pair.sockets[0].send(to, &vec![7; len]);
        }
        world.settle();
        assert_eq!(pair.sockets[1].try_receive().unwrap().unwrap().bytes.len(), 3000);
        assert_eq!(pair.sockets[1].try_receive(), Ok(None));
        world.sometimes("it was narrow", storm.has(Fault::Narrow));
    });
}

#[test]
fn long_packets_do_not_get_through() {
    let mut world = World::new(7);
    let pair = Pair::new(&mut world, Link::default().bytes_max(1200));
    let to = pair.sockets[1].address();
    for len in [1200, 1201] {
        pair.sockets[0].send(to, &vec![7; len]);
    }
    world.settle();
    let datagram = pair.sockets[1].try_receive().unwrap().unwrap();
    assert_eq!((datagram.bytes.len(), datagram.from), (1200, pair.sockets[0].address()));
    assert_eq!(pair.sockets[1].try_receive(), Ok(None));
    assert_eq!(world.traffic().too_long, 1);
}

#[test]
fn links_are_cut_in_one_direction_and_healed() {
    let mut world = World::new(8);
    let pair = Pair::new(&mut world, Link::default());
    world.cut(&pair.nodes[0], &pair.nodes[1]);
    pair.send(1);
    pair.sockets[1].send(pair.sockets[0].address(), b"back");
    world.settle();
    assert_eq!(pair.arrived(), []);
    let back = pair.sockets[0].try_receive().unwrap().unwrap();
    assert_eq!((back.bytes, back.from), (b"back".to_vec(), pair.sockets[1].address()));
    world.heal();
    pair.send(2);
    world.settle();
    assert_eq!(pair.arrived(), [2]);
    assert_eq!(world.traffic().cut_off, 1);
}

#[test]
fn a_link_that_is_cut_stays_so_however_it_is_set() {
    type Case = fn(&mut World, &Pair);
    let cases: [Case; 2] = [
        |world, pair| world.cut(&pair.nodes[0], &pair.nodes[1]),
        |world, pair| world.partition(&pair.nodes[..1]),
    ];
    for cut in cases {
        let mut world = World::new(8);
        let pair = Pair::new(&mut world, Link::default());
        cut(&mut world, &pair);
        world.set_links(Link::default().latency(MS));
        world.set_link(&pair.nodes[0], &pair.nodes[1], Link::default().latency(MS));
        pair.send(1);
        world.run_for(2 * MS);
        assert_eq!(pair.arrived(), []);
        world.heal();
        pair.send(2);
        world.run_for(2 * MS);
        assert_eq!(pair.arrived(), [2]);
    }
}

#[test]
fn a_link_that_is_mended_carries_again_whatever_has_cut_it() {
    let carries = |world: &mut World, pair: &Pair| {
        pair.send(1);
        world.settle();
        pair.arrived() == [1]
    };
    Explore::new().seeds(20).run(|world| {
        let pair = Pair::new(world, Link::default());
        let [one, other] = &pair.nodes;
        let storm = world.storm(&pair.nodes, &[Fault::BlackHole]);
        // The first strike is at once.
        world.settle();
        // Neither is in the core, and their link stays as it is.
        world.calm(&[]);
        assert_eq!(carries(world, &pair), !storm.has(Fault::BlackHole));
        world.sometimes("a storm has cut it", storm.has(Fault::BlackHole));
        world.mend(one, other);
        assert!(carries(world, &pair), "it is mended");
        world.cut(one, other);
        world.cut(one, other);
        world.partition(&pair.nodes[..1]);
        assert!(!carries(world, &pair));
        world.mend(one, other);
        assert!(carries(world, &pair), "it is mended");
        pair.sockets[1].send(pair.sockets[0].address(), b"back");
        world.settle();
        assert_eq!(pair.sockets[0].try_receive(), Ok(None), "the way back is not");
    });
}

#[test]
fn a_partition_separates_groups_and_joins_nobody_apart_before() {
    let mut world = World::new(9);
    let nodes: Vec<Node> = (0..4).map(|number| world.node(format!("{number}")).start()).collect();
    let sockets: Vec<Socket> = nodes.iter().map(|node| node.bind(1).unwrap()).collect();
    world.partition(&nodes[..2]);
    for from in &sockets {
        for to in &sockets {
            from.send(to.address(), b"hello");
        }
    }
    world.settle();
    for (at, socket) in sockets.iter().enumerate() {
        let mut heard: Vec<_> = std::iter::from_fn(|| socket.try_receive().unwrap())
            .map(|datagram| {
                sockets.iter().position(|from| from.address() == datagram.from).unwrap()
            })
            .collect();
        heard.sort_unstable();
        assert_eq!(heard, if at < 2 { [0, 1] } else { [2, 3] });
    }
}

#[test]
fn a_storm_joins_nobody_who_was_cut_off_before() {
    Explore::new().seeds(20).run(|world| {
        let pair = Pair::new(world, Link::default());
        world.cut(&pair.nodes[0], &pair.nodes[1]);
        let faults = [Fault::OneWay, Fault::BlackHole, Fault::Swizzle];
        let storm = world.storm(&pair.nodes, &faults);
        for number in 0..200 {
            pair.send(number);
            world.run_for(100 * MS);
            assert!(pair.arrived().is_empty(), "{number}");
        }
        for fault in faults {
            world.sometimes(format!("{fault:?}"), storm.has(fault));
        }
        world.heal();
        pair.send(200);
        world.settle();
        assert_eq!(pair.arrived(), [200]);
    });
}

#[test]
fn a_storm_among_no_nodes_is_calm() {
    Explore::new().seeds(20).run(|world| {
        let pair = Pair::new(world, Link::default());
        let storm = world.storm(&[], &Fault::ALL);
        world.run_for(1000 * MS);
        pair.send(1);
        world.settle();
        assert_eq!(pair.arrived(), [1]);
        assert_eq!(storm.faults().count(), 0);
    });
}

#[test]
fn bursts_begin_and_end_as_often_as_asked() {
    let mut world = World::new(12);
    let arrived = many(&mut world, Link::default().bursts(20, 200));
    let lost = world.traffic().lost;
    assert_eq!(arrived.len() as u64, u64::from(MANY) - lost);
    // A burst begins after 50 packets and ends after 5, on average: one packet of eleven is lost.
    assert!(lost.abs_diff(u64::from(MANY) / 11) < u64::from(MANY) / 40, "{lost} lost");
    let gaps = arrived.windows(2).filter(|pair| pair[1] - pair[0] > 1).count() as u64;
    assert!(gaps.abs_diff(lost / 5) < lost / 15, "{lost} lost in {gaps} bursts");
}

#[test]
fn a_small_buffer_overflows_and_a_forger_says_who_it_likes() {
    let mut world = World::new(13);
    let pair = Pair::new(&mut world, Link::default());
    pair.sockets[1].set_buffer(3);
    for number in 0..5 {
        pair.send(number);
    }
    world.settle();
    assert_eq!((pair.arrived(), world.traffic().overflowed), (vec![0, 1, 2], 2));
    let victim = "203.0.113.9:53".parse().unwrap();
    pair.sockets[0].send_as(victim, pair.sockets[1].address(), b"hello");
    world.settle();
    assert_eq!(pair.sockets[1].try_receive().unwrap().unwrap().from, victim);
}

/// A transfer that asks again for what it misses, over a bad link that is cut now and then.
#[test]
fn a_patient_sender_gets_everything_across() {
    Explore::new().seeds(20).run(|world| {
        let bad = Link::default().latency(10 * MS).jitter(20 * MS);
        let bad = bad.loss(200).duplication(100).corruption(0);
        let pair = Pair::new(world, bad);
        let Pair { nodes, sockets: [sender, receiver] } = pair;
        let (to, clock) = (receiver.address(), world.clock());
        let got = std::rc::Rc::new(std::cell::Cell::new(0_u8));
        let seen = std::rc::Rc::clone(&got);
        world.spawn(async move {
            while let Ok(datagram) = receiver.receive().await {
                if datagram.bytes == [seen.get()] {
                    seen.set(seen.get() + 1);
                }
                receiver.send(datagram.from, &[seen.get()]);
            }
        });
        let cuts = world.pick(5);
        let finished = world.run(async {
            let mut next = 0_u8;
            for round in 0..10_000 {
                if round == cuts * 10 {
                    nodes[1].pause();
                }
                if round == cuts * 10 + 5 {
                    nodes[1].resume();
                }
                sender.send(to, &[next]);
                clock.sleep(30 * MS).await;
                while let Some(answer) = sender.try_receive().unwrap() {
                    next = next.max(answer.bytes[0]);
                }
                if next == 50 {
                    return true;
                }
            }
            false
        });
        assert!(finished && got.get() == 50, "{} of 50", got.get());
        world.sometimes("something is lost", world.traffic().lost > 0);
    });
}

#[test]
fn a_link_is_the_same_for_who_looks_different_from_outside() {
    type Case = fn(&mut World, &Pair);
    let cases: [Case; 4] = [
        |world, pair| world.cut(&pair.nodes[0], &pair.nodes[1]),
        |world, pair| world.partition(&pair.nodes[..1]),
        |world, pair| {
            world.set_link(&pair.nodes[0], &pair.nodes[1], Link::default().loss(1000));
        },
        |world, pair| world.add_rule(&pair.nodes[0], &pair.nodes[1], |_| Verdict::Drop),
    ];
    for case in cases {
        let mut world = World::new(12);
        let pair = Pair::new(&mut world, Link::default());
        pair.nodes[1].rebind(2, "203.0.113.5:4000".parse().unwrap());
        pair.send(1);
        world.settle();
        assert_eq!(pair.arrived(), [1]);
        case(&mut world, &pair);
        pair.send(2);
        world.settle();
        assert_eq!(pair.arrived(), []);
        let traffic = world.traffic();
        assert_eq!(traffic.lost + traffic.cut_off, 1, "{traffic:?}");
        world.heal();
        pair.send(3);
        world.settle();
        assert_eq!(pair.arrived(), [3]);
    }
    // A socket that has no room has none for such a packet, either.
    let mut world = World::new(13);
    let pair = Pair::new(&mut world, Link::default());
    pair.nodes[1].rebind(2, "203.0.113.5:4000".parse().unwrap());
    world.set_link(&pair.nodes[0], &pair.nodes[1], Link::default().full(1000));
    let sent = pair.sockets[0].try_send(pair.sockets[1].address(), Ecn::NotCapable, b"hello");
    assert_eq!(sent, Err(SocketError::Full));
}
