//! Several workers and callers that are none, one step each as the script says: as if they all were at it at once, in an
//! order that is known.

use super::{Coordinator, MailboxIndex, ReadySlots, SLOTS, Twin, at, result};
use crate::sync::rounds;
use proptest::prelude::*;
use std::time::Duration;

const WORKERS: usize = 3;

/// What is done next. Who does it, where that matters, is a worker, or nobody in particular if there is none of that number.
#[derive(Clone, Debug)]
enum Step {
    Register(usize, u32),
    Unregister(u32),
    Drain(usize, usize),
    Finish(usize, u32, u8),
    Resume(u32),
    Wait,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let by = 0..=WORKERS;
    let step = prop_oneof![
        6 => (by.clone(), 0..SLOTS).prop_map(|(by, slot)| Step::Register(by, slot)),
        2 => (0..SLOTS).prop_map(Step::Unregister),
        4 => (by.clone(), 0..4_usize).prop_map(|(by, max)| Step::Drain(by, max)),
        5 => (by, 0..SLOTS, 0..7_u8).prop_map(|(by, slot, end)| Step::Finish(by, slot, end)),
        1 => (0..SLOTS).prop_map(Step::Resume),
        1 => Just(Step::Wait),
    ];
    prop::collection::vec(step, 1..rounds(200, 200, 20))
}

/// Follows the script and then drains what is left; returns what was drained, in order. `reaches` says who is to find which
/// slots.
fn follow<Q: ReadySlots>(
    real: &Coordinator<Q>,
    reaches: impl Fn(usize, u32) -> bool,
    steps: &[Step],
) -> Vec<MailboxIndex> {
    let (mut twin, mut now) = (Twin::default(), Duration::ZERO);
    let worker = |id| real.worker(id).expect("it is free");
    let mut workers: Vec<_> = (0..WORKERS).map(worker).collect();
    let mut drained = Vec::new();
    let rest: Vec<_> = (0..=WORKERS).map(|by| Step::Drain(by, SLOTS as usize)).collect();
    for step in steps.iter().chain(&rest) {
        match *step {
            Step::Register(by, slot) => {
                let registered = match workers.get_mut(by) {
                    Some(worker) => worker.register_ready(at(slot)),
                    None => real.register_ready(at(slot)),
                };
                assert_eq!(registered, twin.register(slot));
            }
            Step::Unregister(slot) => assert_eq!(real.unregister(at(slot)), twin.unregister(slot)),
            Step::Drain(by, max) => {
                let mut out = Vec::new();
                let count = match workers.get_mut(by) {
                    Some(worker) => worker.drain_ready_cycle(max, &mut out),
                    None => real.drain_ready_cycle(max, &mut out),
                };
                let ready = twin.ready.iter().filter(|slot| reaches(by, **slot)).count();
                assert_eq!((count, out.len()), (max.min(ready), count));
                for index in &out {
                    assert!(reaches(by, index.slot), "{by} drains {index:?}");
                    assert!(twin.ready.remove(&index.slot), "what is drained was ready");
                    assert!(twin.running.insert(index.slot), "nothing is run twice at a time");
                }
                drained.extend(out);
            }
            Step::Finish(by, slot, number) => {
                let result = result(number);
                let handled = match workers.get_mut(by) {
                    Some(worker) => worker.handle_invoke_result(at(slot), result, now),
                    None => real.handle_invoke_result(at(slot), result, now),
                };
                assert_eq!(handled, twin.finish(slot, result, now));
            }
            Step::Resume(slot) => {
                let is_held = twin.held.remove(&slot).is_some();
                assert_eq!(real.resume(at(slot)), is_held);
                if is_held {
                    twin.ready.insert(slot);
                }
            }
            Step::Wait => {
                now += Duration::from_millis(600);
                assert_eq!(real.resume_due(now), twin.resume_due(now));
            }
        }
    }
    assert!(twin.ready.is_empty(), "nobody finds {:?}", twin.ready);
    drained
}

proptest! {
    #[test]
    fn several_workers_do_what_sets_do(steps in steps()) {
        let expected = follow(&Coordinator::locked(SLOTS), |_, _| true, &steps);
        let lock_free = Coordinator::lock_free(SLOTS);
        assert_eq!(follow(&lock_free, |_, _| true, &steps), expected, "in the same order");
        follow(&Coordinator::stealing(SLOTS, WORKERS), |_, _| true, &steps);
        let is_home = |by: usize, slot: u32| slot as usize % WORKERS == by;
        follow(&Coordinator::per_core(SLOTS, WORKERS), is_home, &steps);
    }
}
