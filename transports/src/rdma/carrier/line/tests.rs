use super::*;
use crate::link::Random;

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
    let mut line = Line::default();
    for number in 0..3 {
        line.push(attempt(1, number));
    }
    for peer in 2..9 {
        line.push(attempt(peer, 10 * u64::from(peer)));
    }
    assert_eq!(begun(&mut line), [0, 20, 30, 40], "as many as go at a time");
    assert_eq!(line.end(attempt(1, 0).id), Some(attempt(1, 0)));
    assert_eq!(begun(&mut line), [50]);
    for peer in 2..6 {
        assert!(line.end(attempt(peer, 10 * u64::from(peer)).id).is_some());
    }
    assert_eq!(begun(&mut line), [60, 70, 80, 1], "the others first");
}

#[test]
fn what_has_ended_waits_no_more_and_what_goes_on_keeps_its_place() {
    let mut line = Line::default();
    for number in 0..3 {
        line.push(attempt(1, number));
    }
    assert_eq!(begun(&mut line), [0]);
    line.forget(attempt(1, 0).id);
    line.forget(attempt(1, 1).id);
    assert_eq!(begun(&mut line), [0; 0], "the first one is still being connected");
    assert_eq!(line.end(attempt(1, 1).id), None);
    assert!(line.end(attempt(1, 0).id).is_some());
    assert_eq!(begun(&mut line), [2]);
}

/// Others want more as soon as they may, and end what waits and begin anew: nobody waits for two attempts of another one.
// [RDMA-51]
#[test]
fn whoever_waits_does_so_for_one_attempt_of_each_other_peer() {
    const HONEST: u8 = 0;
    let mut served = 0;
    for seed in 0..50 {
        let (mut random, mut line, mut number) = (Random::new(seed), Line::default(), 0);
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
            assert!(under_way.len() <= AT_A_TIME);
            if under_way.iter().any(|attempt| Some(attempt.number) == waits) {
                (waits, served) = (None, served + 1);
            }
            if random.below(2) == 0 && !under_way.is_empty() {
                let at = random.below(under_way.len() as u64) as usize;
                let ended = line.end(under_way.swap_remove(at).id).expect("it is under way");
                let peer = usize::from(ended.who.0[0]);
                over[peer] += 1;
                assert!(waits.is_none() || over[peer] <= 1, "seed {seed}, peer {peer}");
            }
        }
    }
    assert!(served > 500, "{served} had their turn");
}
