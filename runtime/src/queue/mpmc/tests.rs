//! The queue against its locked twin, step by step, and under real threads.

use super::{CAPACITY, CLAIM_MAX, Mpmc};
use crate::queue::ring::Ring;
use crate::queue::twin::LockedLine;
use crate::sync::{Arc, AtomicUsize, Ordering, rounds, thread};
use proptest::prelude::*;

#[derive(Clone, Debug)]
enum Step {
    Push(usize),
    Claim { times: usize, parts: usize },
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        3 => (1..40_usize).prop_map(Step::Push),
        // Enough for the spill, and for a refill.
        1 => (1..2 * CAPACITY).prop_map(Step::Push),
        3 => (1..20_usize, 1..5_usize).prop_map(|(times, parts)| Step::Claim { times, parts }),
        1 => (1..300_usize).prop_map(|times| Step::Claim { times, parts: 1 }),
    ];
    prop::collection::vec(step, 1..rounds(60, 60, 20))
}

/// One claim, in order.
fn claim(queue: &Mpmc, parts: usize, own: &Ring) -> Vec<usize> {
    let first = queue.claim(parts, own);
    first.into_iter().chain(std::iter::from_fn(|| own.pop())).collect()
}

proptest! {
    #[test]
    fn it_does_what_its_locked_twin_does(steps in steps()) {
        let real = Mpmc::new();
        let twin = LockedLine::new();
        let own = Ring::new();
        let mut next = 2;
        for step in steps {
            match step {
                Step::Push(count) => for _ in 0..count {
                    real.push(next);
                    twin.push(next);
                    next += 2;
                },
                Step::Claim { times, parts } => for _ in 0..times {
                    let claimed = claim(&real, parts, &own);
                    // A claim takes from the ring or from the spill, so it may be smaller.
                    let expected = twin.claim(1, claimed.len());
                    prop_assert_eq!(&claimed, &expected);
                    prop_assert!(claimed.len() <= CLAIM_MAX);
                    prop_assert!(!claimed.is_empty() || twin.len() == 0);
                    prop_assert!(claimed.len() <= (twin.len() + claimed.len()).div_ceil(parts));
                },
            }
            prop_assert_eq!(real.len(), twin.len());
        }
    }
}

#[test]
fn a_claim_is_a_fair_share_of_the_ring() {
    let (real, twin) = (Mpmc::new(), LockedLine::new());
    let own = Ring::new();
    for word in 0..CAPACITY {
        real.push(2 * word);
        twin.push(2 * word);
    }
    while real.len() > 0 {
        assert_eq!(claim(&real, 3, &own), twin.claim(3, CLAIM_MAX));
    }
    assert_eq!(claim(&real, 3, &own), []);
}

#[test]
fn a_full_ring_of_ones_own_limits_the_claim() {
    let (queue, own) = (Mpmc::new(), Ring::new());
    for word in 0..100 {
        queue.push(2 * word);
    }
    while own.room() > 2 {
        own.push(2).unwrap();
    }
    assert_eq!(queue.claim(1, &own), Some(0));
    assert_eq!((queue.len(), own.room()), (97, 0));
}

#[test]
fn producers_and_consumers_meet_each_word_once() {
    const WORDS: usize = rounds(200_000, 20_000, 100);
    let queue = Arc::new(Mpmc::new());
    let left = Arc::new(AtomicUsize::new(2 * WORDS));
    let producers = (0..2).map(|half| {
        let queue = queue.clone();
        thread::spawn(move || (0..WORDS).for_each(|word| queue.push(4 * word + 2 * half)))
    });
    let producers: Vec<_> = producers.collect();
    let consumers = (0..2).map(|_| {
        let (queue, left) = (queue.clone(), left.clone());
        thread::spawn(move || {
            let own = Ring::new();
            let mut seen = Vec::new();
            // Relaxed: only a counter.
            while left.load(Ordering::Relaxed) > 0 {
                let claimed = claim(&queue, 2, &own);
                if claimed.is_empty() {
                    thread::yield_now();
                }
                left.fetch_sub(claimed.len(), Ordering::Relaxed);
                seen.extend(claimed);
            }
            seen
        })
    });
    let consumers: Vec<_> = consumers.collect();
    producers.into_iter().for_each(|producer| producer.join().unwrap());
    let mut seen: Vec<_> = consumers.into_iter().flat_map(|it| it.join().unwrap()).collect();
    seen.sort_unstable();
    assert_eq!(seen, (0..2 * WORDS).map(|word| 2 * word).collect::<Vec<_>>());
}

#[test]
fn one_producers_words_stay_in_order_through_the_spill() {
    let (queue, own) = (Mpmc::new(), Ring::new());
    let mut expected = 0;
    let mut next = 0;
    for _ in 0..4 {
        for _ in 0..CAPACITY {
            queue.push(2 * next);
            next += 1;
        }
        for _ in 0..CAPACITY / 64 {
            for word in claim(&queue, 1, &own) {
                assert_eq!(word, 2 * expected);
                expected += 1;
            }
        }
    }
    while let words @ [_, ..] = &claim(&queue, 1, &own)[..] {
        for &word in words {
            assert_eq!(word, 2 * expected);
            expected += 1;
        }
    }
    assert_eq!(expected, next);
}
