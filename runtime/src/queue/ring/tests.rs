//! The ring against its locked twin, step by step, and under real threads.

use super::{CAPACITY, Ring};
use crate::queue::twin::LockedRing;
use crate::sync::{Arc, AtomicBool, Ordering, rounds, thread};
use proptest::prelude::*;

#[derive(Clone, Debug)]
enum Step {
    Push(u16),
    Pop(u16),
    PopMany(u16),
    Shed,
    Steal,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        4 => (1..200_u16).prop_map(Step::Push),
        3 => (1..200_u16).prop_map(Step::Pop),
        2 => (0..200_u16).prop_map(Step::PopMany),
        1 => Just(Step::Shed),
        2 => Just(Step::Steal),
    ];
    prop::collection::vec(step, 1..rounds(80, 80, 20))
}

/// What a thief gets: its ring in order, then the one to be run at once.
fn steal(ring: &Ring) -> Vec<usize> {
    let own = Ring::new();
    let first = ring.steal_into(&own);
    std::iter::from_fn(|| own.pop()).chain(first).collect()
}

proptest! {
    #[test]
    fn it_does_what_its_locked_twin_does(steps in steps()) {
        let real = Ring::new();
        let twin = LockedRing::new(CAPACITY as usize);
        let mut next = 1;
        for step in steps {
            match step {
                Step::Push(count) => for _ in 0..count {
                    prop_assert_eq!(real.push(next), twin.push(next));
                    next += 1;
                },
                Step::Pop(count) => for _ in 0..count {
                    prop_assert_eq!(real.pop(), twin.pop());
                },
                Step::PopMany(count) => {
                    let mut popped = Vec::new();
                    let count = count.into();
                    prop_assert_eq!(real.pop_many(count, |value| popped.push(value)), popped.len());
                    let same: Vec<_> = (0..count).map_while(|_| twin.pop()).collect();
                    prop_assert_eq!(popped, same);
                }
                Step::Shed => {
                    let mut shed = Vec::new();
                    real.shed(|value| shed.push(value));
                    prop_assert_eq!(shed, twin.shed());
                }
                Step::Steal => prop_assert_eq!(steal(&real), twin.steal()),
            }
            prop_assert_eq!(real.len(), twin.len());
        }
    }
}

#[test]
fn thieves_and_owner_take_each_value_once() {
    const VALUES: usize = rounds(300_000, 20_000, 150);
    let ring = Arc::new(Ring::new());
    let done = Arc::new(AtomicBool::new(false));
    let thieves: Vec<_> = (0..2)
        .map(|_| {
            let (ring, done) = (ring.clone(), done.clone());
            thread::spawn(move || {
                let mut stolen = Vec::new();
                while !done.load(Ordering::Acquire) {
                    stolen.extend(steal(&ring));
                    thread::yield_now();
                }
                stolen
            })
        })
        .collect();
    let mut seen = Vec::new();
    for value in 1..=VALUES {
        if let Err(value) = ring.push(value)
            && (ring.shed(|shed| seen.push(shed)) == 0 || ring.push(value).is_err())
        {
            seen.push(value);
        }
        if value % 5 == 0 {
            seen.extend(ring.pop());
        }
        if value % 11 == 0 {
            ring.pop_many(3, |value| seen.push(value));
        }
    }
    seen.extend(std::iter::from_fn(|| ring.pop()));
    done.store(true, Ordering::Release);
    for thief in thieves {
        seen.extend(thief.join().unwrap());
    }
    // A thief may still have been copying when the owner found the ring empty, but not any more.
    seen.extend(std::iter::from_fn(|| ring.pop()));
    seen.sort_unstable();
    assert_eq!(seen, (1..=VALUES).collect::<Vec<_>>());
}
