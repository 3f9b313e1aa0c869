//! The queue against a deque, and under real threads.

use super::{Chain, queue};
use crate::sync::{rounds, thread};
use proptest::prelude::*;
use std::collections::VecDeque;

proptest! {
    #[test]
    fn it_does_what_a_deque_does(
        steps in prop::collection::vec((0..5_u8, 0..5_u8), 1..rounds(60, 60, 20)),
    ) {
        let (inlet, mut outlet) = queue();
        let mut twin = VecDeque::new();
        let mut next = 0;
        for (pushes, pops) in steps {
            let mut chain = Chain::new();
            for _ in 0..pushes {
                chain.push(Box::new(next));
                twin.push_back(next);
                next += 1;
            }
            inlet.append(&mut chain);
            for _ in 0..pops {
                prop_assert_eq!(outlet.pop().map(|value| *value), twin.pop_front());
            }
        }
    }
}

#[test]
fn each_producer_is_heard_in_order() {
    let values = rounds(50_000, 3_000, 50);
    let (inlet, mut outlet) = queue();
    let producers: Vec<_> = (0..2)
        .map(|producer| {
            let inlet = inlet.clone();
            thread::spawn(move || {
                let mut chain = Chain::new();
                for value in 0..values {
                    chain.push((producer, value));
                    if value % 3 == 0 || value + 1 == values {
                        inlet.append(&mut chain);
                    }
                }
            })
        })
        .collect();
    let mut expected = [0, 0];
    while expected != [values; 2] {
        match outlet.pop() {
            Some((producer, value)) => {
                let expected: &mut usize = &mut expected[producer];
                assert_eq!(value, *expected);
                *expected += 1;
            }
            None => thread::yield_now(),
        }
    }
    for producer in producers {
        producer.join().expect("no panic");
    }
}
