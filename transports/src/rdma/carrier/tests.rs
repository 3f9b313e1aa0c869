//! What many peers want of one device.

use super::line::AT_A_TIME;
use super::*;
use crate::rdma::sim::{Fabric, SimDevice, SimVerbs, Weather};
use crate::rdma::verbs::{Endpoint, Verbs};
use std::cell::Cell;
use std::task::Waker;

const SECOND: Duration = Duration::from_secs(1);

/// As long as nobody sends, a peer's end is an address.
fn at(gid: [u8; 16]) -> Terms {
    let endpoint = Endpoint { gid, mtu_bytes: 4096, ..Endpoint::default() };
    Terms { endpoint, receives: 8, packet_bytes: 4096 }
}

/// Where nobody is.
const NOWHERE: [u8; 16] = [9; 16];

fn gid(of: &SimVerbs) -> [u8; 16] {
    of.open("sim0", 1, 0).expect("a device").port().expect("a port").gid
}

/// A peer offers by its association of that number; what is said of it at once.
fn offer<O: FnMut() -> Result<SimDevice, OpenError>>(
    pairs: &mut QueuePairs<SimDevice, O>,
    now: Time,
    (peer, association): (u8, u32),
    terms: Terms,
) -> Option<Result<Terms, Why>> {
    let attempt = association.into();
    let want = Want::Accept { attempt, psn: 5, peer: terms };
    let who = PublicKey([peer; 32]);
    let made = pairs.fulfil(now, AssociationId::of_nobody(association), who, want);
    made.map(|(number, made)| {
        assert_eq!(number, attempt);
        made
    })
}

/// The attempts that are over by now, and whether their queue pairs are connected.
fn over<O: FnMut() -> Result<SimDevice, OpenError>>(
    pairs: &mut QueuePairs<SimDevice, O>,
) -> Vec<(u64, bool)> {
    let mut cx = Context::from_waker(Waker::noop());
    let over = std::iter::from_fn(|| pairs.poll_made(&mut cx));
    let over = over.map(|(association, number, made)| {
        assert_eq!(association, AssociationId::of_nobody(number as u32));
        assert!(matches!(made, Ok(_) | Err(Why::NotMade)), "{made:?}");
        (number, made.is_ok())
    });
    over.collect()
}

/// Packets of other links would wait meanwhile, and their nodes take this one for dead.
// [RDMA-51]
#[test]
fn a_node_goes_on_while_the_system_looks_for_peers_that_are_nowhere() {
    let fabric = Fabric::new(7, Weather { search: SECOND, ..Weather::fair() });
    let (host, there) = (fabric.host(), gid(&fabric.host()));
    let mut pairs = QueuePairs::new(move || host.open("sim0", 1, 0), Duration::ZERO);
    let began = fabric.now();
    for peer in 1..AT_A_TIME as u8 {
        assert_eq!(offer(&mut pairs, began, (peer, peer.into()), at(NOWHERE)), None);
    }
    assert_eq!(offer(&mut pairs, began, (50, 50), at(there)), None);
    assert_eq!(over(&mut pairs), [(50, true)]);
    assert_eq!(fabric.now(), began, "it stood still");
    fabric.advance(began + SECOND / 2);
    assert_eq!(over(&mut pairs), [], "it is still being looked for");
    fabric.advance(began + SECOND);
    let mut ended = over(&mut pairs);
    ended.sort_unstable();
    assert_eq!(ended, [1, 2, 3].map(|peer| (peer, false)));
    assert!(pairs.failure().get().is_some());
}

/// Whoever asks would take it for wrong as long as the node lives.
// [RDMA-46]
#[test]
fn what_was_refused_is_not_wrong_any_more_when_a_queue_pair_is_connected() {
    let fabric = Fabric::new(7, Weather { search: SECOND, ..Weather::fair() });
    let (host, there) = (fabric.host(), gid(&fabric.host()));
    let mut pairs = QueuePairs::new(move || host.open("sim0", 1, 0), Duration::ZERO);
    assert_eq!(offer(&mut pairs, fabric.now(), (1, 1), at(NOWHERE)), None);
    assert_eq!(over(&mut pairs), []);
    fabric.advance(fabric.now() + SECOND);
    assert_eq!(over(&mut pairs), [(1, false)]);
    assert!(pairs.failure().get().is_some());
    assert_eq!(offer(&mut pairs, fabric.now(), (1, 2), at(there)), None);
    assert_eq!(over(&mut pairs), [(2, true)]);
    assert_eq!(pairs.failure().get(), None);
}

/// Else it would read as if something were wrong with the device.
// [RDMA-46]
#[test]
fn what_is_refused_for_what_a_peer_says_names_the_peer() {
    let fabric = Fabric::new(7, Weather { search: SECOND, ..Weather::fair() });
    let (host, there) = (fabric.host(), gid(&fabric.host()));
    let mut pairs = QueuePairs::new(move || host.open("sim0", 1, 0), Duration::ZERO);
    for (peer, terms) in [(1, Terms { receives: 3, ..at(there) }), (2, at(NOWHERE))] {
        assert_eq!(offer(&mut pairs, fabric.now(), (peer, peer.into()), terms), None);
        let mut ended = over(&mut pairs);
        fabric.advance(fabric.now() + SECOND);
        ended.extend(over(&mut pairs));
        assert_eq!(ended, [(peer.into(), false)]);
        let failure = pairs.failure().get().unwrap();
        assert!(failure.contains(&PublicKey([peer; 32]).to_string()), "{failure}");
    }
}

/// Peers that are nowhere offer as often as they can, by ever new associations.
// [RDMA-51]
#[test]
fn however_many_peers_are_nowhere_each_holds_up_others_by_one_attempt() {
    const HOSTILE: u8 = 10;
    let fabric = Fabric::new(7, Weather { search: SECOND, ..Weather::fair() });
    let (host, there) = (fabric.host(), gid(&fabric.host()));
    let mut pairs = QueuePairs::new(move || host.open("sim0", 1, 0), Duration::ZERO);
    let (mut next, mut honest, mut served) = (1, None, 0);
    let mut associations = [0; HOSTILE as usize + 1];
    while served < 50 {
        let now = fabric.now();
        assert!(now < Time::default() + 1000 * SECOND, "somebody waits for ever");
        for peer in 1..=HOSTILE {
            // What it offered before ends, as it does with the association.
            let last = &mut associations[usize::from(peer)];
            pairs.end(AssociationId::of_nobody(*last));
            (*last, next) = (next, next + 1);
            assert_eq!(offer(&mut pairs, now, (peer, *last), at(NOWHERE)), None);
        }
        if honest.is_none() {
            // Another one each time, for who was there before does not wait.
            assert_eq!(offer(&mut pairs, now, (100 + served, next), at(there)), None);
            (honest, next) = (Some((u64::from(next), now)), next + 1);
        }
        for (number, is_connected) in over(&mut pairs) {
            let Some((_, since)) = honest.filter(|(honest, _)| *honest == number) else { continue };
            assert!(is_connected);
            let waited = fabric.now().since(since);
            let attempts = u32::from(HOSTILE).div_ceil(AT_A_TIME as u32);
            assert!(waited <= attempts * SECOND + SECOND / 4, "{waited:?}");
            (honest, served) = (None, served + 1);
        }
        fabric.advance(now + SECOND / 4);
    }
}

/// Each of them has a second, and it gives its own attempt up after three.
// [RDMA-51]
#[test]
fn who_was_there_before_waits_for_no_peer_that_is_nowhere() {
    let fabric = Fabric::new(7, Weather { search: SECOND, ..Weather::fair() });
    let (host, there) = (fabric.host(), gid(&fabric.host()));
    let mut pairs = QueuePairs::new(move || host.open("sim0", 1, 0), Duration::ZERO);
    let began = fabric.now();
    assert_eq!(offer(&mut pairs, began, (99, 1), at(there)), None);
    assert_eq!(over(&mut pairs), [(1, true)]);
    pairs.end(AssociationId::of_nobody(1));
    for peer in 1..=20 {
        assert_eq!(offer(&mut pairs, began, (peer, 100 + u32::from(peer)), at(NOWHERE)), None);
    }
    assert_eq!(over(&mut pairs), []);
    assert_eq!(offer(&mut pairs, began, (99, 2), at(there)), None);
    assert_eq!(over(&mut pairs), [(2, true)]);
    assert_eq!(fabric.now(), began);
}

/// Its association was replaced meanwhile, which says nothing of where it is.
// [RDMA-51]
#[test]
fn who_was_connected_when_it_was_not_wanted_any_more_is_known() {
    let fabric = Fabric::new(7, Weather { search: SECOND, ..Weather::fair() });
    let (host, there) = (fabric.host(), gid(&fabric.host()));
    let mut pairs = QueuePairs::new(move || host.open("sim0", 1, 0), Duration::ZERO);
    let began = fabric.now();
    assert_eq!(offer(&mut pairs, began, (98, 1), at(there)), None);
    assert_eq!(offer(&mut pairs, began, (99, 2), at(there)), None);
    let mut cx = Context::from_waker(Waker::noop());
    let first = pairs.poll_made(&mut cx).map(|(_, number, _)| number);
    assert_eq!(first, Some(1), "both are being connected");
    pairs.end(AssociationId::of_nobody(2));
    assert_eq!(over(&mut pairs), []);
    for peer in 1..=20 {
        assert_eq!(offer(&mut pairs, began, (peer, 100 + u32::from(peer)), at(NOWHERE)), None);
    }
    assert_eq!(over(&mut pairs), []);
    assert_eq!(offer(&mut pairs, began, (99, 3), at(there)), None);
    assert_eq!(over(&mut pairs), [(3, true)]);
}

/// Its threads end by themselves, and nobody waits for them.
// [RDMA-9] [RDMA-51]
#[test]
fn a_device_is_closed_while_queue_pairs_of_it_are_being_connected() {
    let fabric = Fabric::new(7, Weather { search: SECOND, ..Weather::fair() });
    let (host, there) = (fabric.host(), gid(&fabric.host()));
    let mine = host.host();
    let mut pairs = QueuePairs::new(move || host.open("sim0", 1, 0), Duration::ZERO);
    let began = fabric.now();
    for peer in 1..20 {
        assert_eq!(offer(&mut pairs, began, (peer, peer.into()), at(NOWHERE)), None);
    }
    assert_eq!(over(&mut pairs), []);
    pairs.close();
    assert_eq!(over(&mut pairs), []);
    assert_eq!(fabric.now(), began, "it stood still");
    assert!(fabric.is_open(mine), "the system still looks for peers");
    fabric.advance(began + SECOND);
    assert_eq!(over(&mut pairs), []);
    assert!(!fabric.is_open(mine));
    // Nothing of that is in the way of the next device.
    assert_eq!(offer(&mut pairs, began + SECOND, (50, 50), at(there)), None);
    assert_eq!(over(&mut pairs), [(50, true)]);
    assert_eq!(offer(&mut pairs, began + SECOND, (51, 51), at(NOWHERE)), None);
    assert_eq!(over(&mut pairs), []);
    drop(pairs);
    assert_eq!(fabric.now(), began + SECOND, "it stood still");
    assert!(fabric.is_open(mine), "the system still looks for a peer");
    fabric.advance(began + 2 * SECOND);
    assert!(!fabric.is_open(mine));
}

/// However often its device is closed, which peers may have a hand in.
// [RDMA-51]
#[test]
fn a_node_has_no_more_threads_whatever_becomes_of_its_device() {
    let fabric = Fabric::new(7, Weather { search: SECOND, ..Weather::fair() });
    let (host, there) = (fabric.host(), gid(&fabric.host()));
    let mine = host.host();
    let mut pairs = QueuePairs::new(move || host.open("sim0", 1, 0), Duration::ZERO);
    let began = fabric.now();
    for peer in 1..=AT_A_TIME as u8 {
        assert_eq!(offer(&mut pairs, began, (peer, peer.into()), at(NOWHERE)), None);
        assert_eq!(over(&mut pairs), []);
        pairs.close();
    }
    // They hold memory, too, which whoever finds too little of it is told.
    fabric.limit_memory(mine, 0);
    let made = offer(&mut pairs, began, (49, 49), at(there));
    assert_eq!(made, Some(Err(Why::NoMemory)));
    assert!(pairs.failure().get().is_some_and(|failure| failure.ends_with(HELD)));
    fabric.limit_memory(mine, u64::MAX);
    assert_eq!(offer(&mut pairs, began, (50, 50), at(there)), None);
    assert_eq!(over(&mut pairs), [], "as many are still looked for as may be");
    fabric.advance(began + SECOND);
    assert_eq!(over(&mut pairs), [(50, true)]);
    pairs.close();
    fabric.limit_memory(mine, 0);
    let made = offer(&mut pairs, began + SECOND, (51, 51), at(there));
    assert_eq!(made, Some(Err(Why::NoMemory)));
    assert!(pairs.failure().get().is_some_and(|failure| !failure.ends_with(HELD)));
}

/// Many devices lock the memory of queues, too, before any packet has some.
// [RDMA-46]
#[test]
fn a_device_without_memory_for_its_queues_says_what_limits_it() {
    let fabric = Fabric::new(7, Weather::fair());
    let (host, there) = (fabric.host(), gid(&fabric.host()));
    let mine = host.host();
    let mut pairs = QueuePairs::new(move || host.open("sim0", 1, 0), Duration::ZERO);
    fabric.limit_queues(mine, Some(65_536));
    let began = fabric.now();
    let made = offer(&mut pairs, began, (1, 1), at(there));
    assert_eq!(made, Some(Err(Why::NoMemory)));
    let failure = pairs.failure().get().unwrap();
    for part in ["65536", "RLIMIT_MEMLOCK", "ulimit -l", "LimitMEMLOCK="] {
        assert!(failure.contains(part), "{part}: {failure}");
    }
    fabric.limit_queues(mine, None);
    assert_eq!(offer(&mut pairs, began + SECOND, (2, 2), at(there)), None);
    assert_eq!(pairs.failure().get(), None);
}

/// Links beyond stay with UDP.
#[test]
fn a_node_has_as_many_connections_as_it_was_told() {
    let fabric = Fabric::new(7, Weather::fair());
    let (host, there) = (fabric.host(), gid(&fabric.host()));
    let open = move || host.open("sim0", 1, 0);
    let mut pairs = QueuePairs::new(open, Duration::ZERO).with_connections_max(2);
    let mut made = Vec::new();
    for peer in 1..=3 {
        made.push(offer(&mut pairs, fabric.now(), (peer, peer.into()), at(there)));
        over(&mut pairs);
    }
    assert_eq!(made, [None, None, Some(Err(Why::NotMade))]);
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
            let made = offer(&mut pairs, now, (peer, peer.into()), at(NOWHERE));
            assert_eq!(made, Some(Err(Why::PortDown)));
        }
    }
    assert_eq!(opened.get(), 3);
}
