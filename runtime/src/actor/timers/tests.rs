//! The table of timers against a naive one.

use super::{TimerId, Timers};
use crate::time::{Time, Wheel};
use proptest::prelude::*;
use std::collections::BTreeMap;

#[derive(Clone, Copy, Debug)]
enum Step {
    Set,
    /// Takes the timer set as that one, counted round.
    Take(usize),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![Just(Step::Set), any::<usize>().prop_map(Step::Take)]
}

proptest! {
    /// Each timer is taken once, whatever places are used again, and the places are never more than
    /// there were timers at a time.
    #[test]
    fn a_timer_is_taken_once(steps in prop::collection::vec(step(), 0..200)) {
        let mut timers = Timers::default();
        let mut naive = BTreeMap::new();
        let mut all: Vec<TimerId> = Vec::new();
        let mut most = 0;
        let mut wheel = Wheel::new();
        for step in steps {
            match step {
                Step::Set => {
                    let number = all.len() as u64;
                    let id = timers.reserve(number);
                    let key = wheel.insert(Time(number), ());
                    timers.set(id, crate::task::core::AlarmKey::of_worker(0, key));
                    naive.insert(number, id);
                    all.push(id);
                }
                Step::Take(which) if !all.is_empty() => {
                    let id = all[which % all.len()];
                    let expected = naive.remove(&id.number).is_some();
                    prop_assert_eq!(timers.is_set(id), expected);
                    prop_assert_eq!(timers.take(id).is_some(), expected);
                }
                Step::Take(_) => {}
            }
            most = most.max(naive.len());
            prop_assert_eq!(timers.places.iter().flatten().count(), naive.len());
            prop_assert!(timers.places.len() <= most);
        }
        prop_assert_eq!(timers.into_alarms().count(), naive.len());
    }
}
