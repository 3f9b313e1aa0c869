use super::*;
use crate::link::Random;

/// So many have a connection at a time.
const KNOWN_MAX: u16 = 256;

/// An attempt of that peer.
fn attempt(peer: u8, number: u64) -> Attempt {
    let id = ConnectionId::of_nobody(u16::try_from(number).expect("few attempts"));
    Attempt { who: PublicKey([peer; 32]), id, number, peer: Terms::default() }
}

fn begun(line: &mut Line) -> Vec<u64> {
    std::iter::from_fn(|| line.begin(0)).map(|attempt| attempt.number).collect()
}

// [RDMA-51]
#[test]
fn a_peer_has_one_at_a_time_and_then_others_have_their_turn() {
    let mut line = Line::new(KNOWN_MAX);
    for number in 0..3 {
        line.push(attempt(1, number));
    }
    for peer in 2..9 {
        line.push(attempt(peer, 10 * u64::from(peer)));
    }
    assert_eq!(begun(&mut line), [0, 20, 30, 40], "as many as go at a time");
    assert_eq!(line.end(attempt(1, 0).id, Made::Not), Some(attempt(1, 0)));
    assert_eq!(begun(&mut line), [50]);
    for peer in 2..6 {
        assert!(line.end(attempt(peer, 10 * u64::from(peer)).id, Made::Not).is_some());
    }
    assert_eq!(begun(&mut line), [60, 70, 80, 1], "the others first");
}

#[test]
fn what_has_ended_waits_no_more_and_what_goes_on_keeps_its_place() {
    let mut line = Line::new(KNOWN_MAX);
    for number in 0..3 {
        line.push(attempt(1, number));
    }
    assert_eq!(begun(&mut line), [0]);
    line.forget(attempt(1, 0).id);
    line.forget(attempt(1, 1).id);
    assert_eq!(begun(&mut line), [0; 0], "the first one is still being connected");
    assert_eq!(line.end(attempt(1, 1).id, Made::Not), None);
    assert!(line.end(attempt(1, 0).id, Made::Not).is_some());
    assert_eq!(begun(&mut line), [2]);
}

/// Others want more as soon as they may, and end what waits and begin anew: nobody waits for two attempts of another one.
// [RDMA-51]
#[test]
fn whoever_waits_does_so_for_one_attempt_of_each_other_peer() {
    const HONEST: u8 = 0;
    let mut served = 0;
    for seed in 0..50 {
        let (mut random, mut line, mut number) = (Random::new(seed), Line::new(KNOWN_MAX), 0);
        let (mut waits, mut over, mut under_way) = (None, [0; 20], Vec::<Attempt>::new());
        for _ in 0..1000 {
            number += 1;
            line.push(attempt(1 + random.below(19) as u8, number));
            if waits.is_none() && under_way.iter().all(|it| it.who != attempt(HONEST, 0).who) {
                number += 1;
                line.push(attempt(HONEST, number));
                (waits, over) = (Some(number), [0; 20]);
            }
            let ended = random.below(2 * number);
            if ended <= number && Some(ended) != waits {
                line.forget(attempt(1, ended).id);
            }
            under_way.extend(std::iter::from_fn(|| line.begin(0)));
            assert!(under_way.len() <= AT_A_TIME + 1);
            let is_unknown = |attempt: &&Attempt| !line.known.contains_key(&attempt.who);
            assert!(under_way.iter().filter(is_unknown).count() <= AT_A_TIME);
            if under_way.iter().any(|attempt| Some(attempt.number) == waits) {
                (waits, served) = (None, served + 1);
            }
            if random.below(2) == 0 && !under_way.is_empty() {
                let at = random.below(under_way.len() as u64) as usize;
                let ended = under_way.swap_remove(at);
                let peer = usize::from(ended.who.0[0]);
                // Those that are known may have had the place that is theirs alone.
                over[peer] += usize::from(!line.known.contains_key(&ended.who));
                let made = [Made::Connected, Made::Not][random.below(2) as usize];
                assert_eq!(line.end(ended.id, made), Some(ended));
                assert!(waits.is_none() || over[peer] <= 1, "seed {seed}, peer {peer}");
            }
        }
    }
    assert!(served > 500, "{served} had their turn");
}

// [RDMA-51]
#[test]
fn who_was_connected_waits_for_nobody_that_was_not() {
    let mut line = Line::new(KNOWN_MAX);
    line.push(attempt(1, 0));
    assert_eq!(begun(&mut line), [0]);
    line.end(attempt(1, 0).id, Made::Connected);
    for peer in 2..22 {
        line.push(attempt(peer, peer.into()));
    }
    line.push(attempt(1, 1));
    assert_eq!(begun(&mut line), [2, 3, 4, 5, 1]);
    line.push(attempt(1, 31));
    assert_eq!(begun(&mut line), [0; 0], "of each peer one");
    line.end(attempt(1, 1).id, Made::Not);
    assert_eq!(begun(&mut line), [0; 0], "it is known no more");
    assert!(line.known.is_empty());
}

/// They may be connected again and again, each time slowly.
// [RDMA-51]
#[test]
fn who_was_connected_keeps_others_waiting_for_one_attempt_of_each_at_most() {
    let mut line = Line::new(KNOWN_MAX);
    let (mut under_way, mut number) = (Vec::new(), 0);
    let mut push = |line: &mut Line, peer| {
        number += 1;
        line.push(attempt(peer, number));
    };
    let known = 1..=10;
    known.clone().for_each(|peer| line.know(attempt(peer, 0).who));
    known.clone().for_each(|peer| push(&mut line, peer));
    push(&mut line, 99);
    for ended in 0.. {
        under_way.extend(std::iter::from_fn(|| line.begin(0)));
        if under_way.iter().any(|attempt| attempt.who.0[0] == 99) {
            break;
        }
        assert!(ended < known.clone().count(), "it waits for ever");
        let over: Attempt = under_way.remove(0);
        line.end(over.id, Made::Connected);
        push(&mut line, over.who.0[0]);
    }
}

/// However many peers there are, the memory for them has an end; whoever may have a connection has a place.
#[test]
fn who_was_connected_longest_ago_is_forgotten() {
    let who = |number: u16| {
        let mut key = [0; 32];
        key[..2].copy_from_slice(&number.to_be_bytes());
        PublicKey(key)
    };
    for max in [3, KNOWN_MAX, 1000] {
        let mut line = Line::new(max);
        (0..max).for_each(|number| line.know(who(number)));
        assert!((0..max).all(|number| line.is_known(who(number))));
        line.know(who(0));
        line.know(who(max));
        assert_eq!(line.known.len(), usize::from(max));
        let are_known = [0, 1, 2, max].map(|number| line.is_known(who(number)));
        assert_eq!(are_known, [true, false, true, true]);
    }
}
