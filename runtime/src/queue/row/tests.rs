//! Checks of the [row](super).

use super::{PLACES, Row};
use crate::sync::rounds;
use proptest::collection::vec;
use proptest::prelude::{any, proptest};
use std::collections::VecDeque;
use std::sync::Arc;

proptest! {
    /// Against a `VecDeque`; each step puts some in, takes some out of the middle, and some from the front.
    #[test]
    fn a_row_keeps_its_order_however_much_it_holds(
        steps in vec((0..=2 * PLACES + 2, 0..40_usize, 0..=2 * PLACES + 2), 1..rounds(24, 24, 12)),
        begin in any::<bool>(),
    ) {
        let (mut row, mut twin) = (Row::new(), VecDeque::new());
        if begin {
            // Positions that are about to wrap, at a place in the middle of the array.
            (row.first, row.next) = (usize::MAX - PLACES / 2, usize::MAX - PLACES / 2);
            row.full = row.first.wrapping_add(PLACES);
        }
        let mut number = 0;
        for (pushed, window, popped) in steps {
            for _ in 0..pushed {
                row.push_back(number);
                twin.push_back(number);
                number += 1;
            }
            assert_eq!(row.len(), twin.len());
            let in_array = row.next.wrapping_sub(row.first);
            let taken = row.take_some(window, window / 3, |number| number % 3 != 0);
            assert_eq!(taken, take_some(&mut twin, window.min(in_array), window / 3));
            for _ in 0..popped {
                assert_eq!(row.pop_front(), twin.pop_front());
            }
        }
        while let Some(value) = twin.pop_front() {
            assert_eq!(row.pop_front(), Some(value));
        }
        assert_eq!((row.pop_front(), row.len()), (None, 0));
    }
}

/// What [`Row::take_some`] takes of numbers that are no multiples of three.
fn take_some(twin: &mut VecDeque<usize>, window: usize, most: usize) -> Vec<usize> {
    let (mut taken, mut stay) = (Vec::new(), Vec::new());
    for number in twin.drain(..window) {
        if taken.len() < most && number % 3 != 0 { taken.push(number) } else { stay.push(number) }
    }
    stay.into_iter().rev().for_each(|number| twin.push_front(number));
    taken
}

#[test]
fn what_is_in_a_row_is_dropped_with_it() {
    let witness = Arc::new(());
    let mut row = Row::new();
    for _ in 0..PLACES + 5 {
        row.push_back(Arc::clone(&witness));
    }
    drop(row.pop_front());
    assert_eq!(Arc::strong_count(&witness), PLACES + 5);
    drop(row);
    assert_eq!(Arc::strong_count(&witness), 1);
}
