//! The wheel against a sorted map, at any cadence.

use super::{TICK_NANOS, TimerKey, Wheel};
use crate::time::Time;
use proptest::prelude::*;
use std::collections::BTreeMap;

#[derive(Clone, Debug)]
enum Step {
    Insert(u64),
    Cancel(usize),
    Advance(u64),
    /// Advance exactly as far as the wheel says.
    Sleep,
}

/// Spans from nothing to years, dense where the levels meet.
fn span() -> impl Strategy<Value = u64> {
    prop_oneof![
        0..200_u64 * TICK_NANOS,
        0..10_000_u64 * TICK_NANOS,
        (0..37_u32, 0..3_u64)
            .prop_map(|(bits, more)| ((1 << bits) + more) * TICK_NANOS - TICK_NANOS / 2),
        0..(1 << 40) * TICK_NANOS,
    ]
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        5 => span().prop_map(Step::Insert),
        2 => any::<usize>().prop_map(Step::Cancel),
        3 => span().prop_map(Step::Advance),
        2 => Just(Step::Sleep),
    ];
    prop::collection::vec(step, 1..120)
}

proptest! {
    #[test]
    fn it_fires_what_a_sorted_map_says(start in 0..1_u64 << 50, steps in steps()) {
        let mut wheel = Wheel::new();
        let mut due: BTreeMap<(u64, usize), TimerKey> = BTreeMap::new();
        let mut now = start;
        wheel.advance(Time(now), |_: usize| unreachable!("an empty wheel fires nothing"));
        for (number, step) in steps.into_iter().enumerate() {
            match step {
                Step::Insert(span) => {
                    let at = now + span;
                    due.insert((at, number), wheel.insert(Time(at), number));
                }
                Step::Cancel(pick) if !due.is_empty() => {
                    let (&(at, item), &key) = due.iter().nth(pick % due.len()).unwrap();
                    prop_assert_eq!(wheel.cancel(key), Some(item));
                    prop_assert_eq!(wheel.cancel(key), None, "a key is good for once");
                    due.remove(&(at, item));
                }
                Step::Cancel(_) => {}
                Step::Advance(span) => now += span,
                Step::Sleep => {
                    if let Some(next) = wheel.next_time() {
                        let first = due.keys().next().unwrap().0;
                        prop_assert!(next.0 <= first.next_multiple_of(TICK_NANOS).max(now + TICK_NANOS));
                        now = now.max(next.0);
                    }
                }
            }
            let mut fired = Vec::new();
            wheel.advance(Time(now), |item| fired.push(item));
            for item in fired {
                let (&(at, _), _) = due.iter().find(|((_, other), _)| *other == item).unwrap();
                prop_assert!(at <= now, "never early");
                due.remove(&(at, item));
            }
            for &(at, _) in due.keys() {
                prop_assert!(at + 2 * TICK_NANOS > now, "at most two ticks late when looked at");
            }
            prop_assert_eq!(wheel.len(), due.len());
            prop_assert_eq!(wheel.next_time().is_none(), due.is_empty());
        }
    }
}
