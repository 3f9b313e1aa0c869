//! The coordinator against sets and a deque, step by step, and under real threads.

mod several;

use super::{Coordinator, Handled, InvokeResult, MailboxIndex, ReadySlots, Registered};
use crate::sync::{Arc, AtomicBool, AtomicUsize, Mutex, Ordering, rounds, thread};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

const SLOTS: u32 = 6;
const DONE: InvokeResult = InvokeResult::Completed { ready_hint: false };

fn at(slot: u32) -> MailboxIndex {
    MailboxIndex { slot, generation: 0 }
}

#[derive(Clone, Debug)]
enum Step {
    Register(u32),
    Unregister(u32),
    Drain(usize),
    Finish(u32, u8),
    Resume(u32),
    Wait,
    LookAhead,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        6 => (0..SLOTS).prop_map(Step::Register),
        2 => (0..SLOTS).prop_map(Step::Unregister),
        3 => (0..4_usize).prop_map(Step::Drain),
        5 => (0..SLOTS, 0..7_u8).prop_map(|(slot, result)| Step::Finish(slot, result)),
        1 => (0..SLOTS).prop_map(Step::Resume),
        1 => Just(Step::Wait),
        1 => Just(Step::LookAhead),
    ];
    prop::collection::vec(step, 1..rounds(120, 120, 20))
}

fn result(number: u8) -> InvokeResult {
    let second = Some(Duration::from_secs(1));
    match number {
        0 => DONE,
        1 => InvokeResult::Completed { ready_hint: true },
        2 => InvokeResult::Yielded,
        3 => InvokeResult::Suspended { resume_after: None },
        4 => InvokeResult::Suspended { resume_after: second },
        5 => InvokeResult::Failed { retry_after: second },
        _ => InvokeResult::Failed { retry_after: None },
    }
}

/// The twin: what is ready, running, noted and held, in sets.
#[derive(Default)]
struct Twin {
    ready: BTreeSet<u32>,
    running: BTreeSet<u32>,
    noted: BTreeSet<u32>,
    held: BTreeMap<u32, Option<Duration>>,
    /// Those of the held that wait for a retry.
    retrying: BTreeSet<u32>,
}

impl Twin {
    fn register(&mut self, slot: u32) -> Registered {
        if self.running.contains(&slot) {
            if self.noted.insert(slot) { Registered::Noted } else { Registered::Known }
        } else if self.held.contains_key(&slot) || !self.ready.insert(slot) {
            Registered::Known
        } else {
            Registered::Queued
        }
    }

    fn unregister(&mut self, slot: u32) -> bool {
        let is_retrying = self.held.contains_key(&slot) && self.retrying.contains(&slot);
        self.ready.remove(&slot)
            || self.noted.remove(&slot)
            || is_retrying && self.held.remove(&slot).is_some()
    }

    fn finish(&mut self, slot: u32, result: InvokeResult, now: Duration) -> Handled {
        if !self.running.remove(&slot) {
            return Handled::NotRunning;
        }
        let noted = self.noted.remove(&slot);
        let after = match result {
            InvokeResult::Suspended { resume_after } => Some(resume_after),
            InvokeResult::Failed { retry_after: Some(after) } => Some(Some(after)),
            _ => None,
        };
        if let Some(after) = after {
            self.held.insert(slot, after.map(|after| now + after));
            self.retrying.remove(&slot);
            if matches!(result, InvokeResult::Failed { .. }) {
                self.retrying.insert(slot);
            }
            return Handled::Held;
        }
        let again = InvokeResult::Completed { ready_hint: true };
        if noted || result == again || result == InvokeResult::Yielded {
            self.ready.insert(slot);
            return Handled::Requeued;
        }
        Handled::Rested
    }

    fn resume_due(&mut self, now: Duration) -> usize {
        let due: Vec<_> = self
            .held
            .iter()
            .filter(|(_, due)| due.is_some_and(|due| due <= now))
            .map(|(slot, _)| *slot)
            .collect();
        for slot in &due {
            self.held.remove(slot);
            self.ready.insert(*slot);
        }
        due.len()
    }
}

fn follow<Q: ReadySlots>(
    real: &Coordinator<Q>,
    mut drain: impl FnMut(usize, &mut Vec<MailboxIndex>) -> usize,
    steps: Vec<Step>,
) {
    let mut twin = Twin::default();
    let mut now = Duration::ZERO;
    for step in steps {
        match step {
            Step::Register(slot) => assert_eq!(real.register_ready(at(slot)), twin.register(slot)),
            Step::Unregister(slot) => assert_eq!(real.unregister(at(slot)), twin.unregister(slot)),
            Step::Drain(max) => {
                let mut out = Vec::new();
                assert_eq!(drain(max, &mut out), max.min(twin.ready.len()));
                for index in out {
                    assert!(twin.ready.remove(&index.slot), "what is drained was ready");
                    assert!(twin.running.insert(index.slot), "nothing is run twice at a time");
                }
            }
            Step::Finish(slot, number) => {
                let result = result(number);
                let handled = real.handle_invoke_result(at(slot), result, now);
                assert_eq!(handled, twin.finish(slot, result, now));
            }
            Step::Resume(slot) => {
                let held = twin.held.remove(&slot).is_some();
                assert_eq!(real.resume(at(slot)), held);
                if held {
                    twin.ready.insert(slot);
                }
            }
            Step::Wait => {
                now += Duration::from_millis(600);
                assert_eq!(real.resume_due(now), twin.resume_due(now));
            }
            Step::LookAhead => {
                assert_eq!(real.next_due(), twin.held.values().flatten().min().copied());
            }
        }
    }
}

/// The tests that every queue has to pass, by a worker's way and by everyone's.
macro_rules! suite {
    ($($name:ident: $coordinator:expr;)+) => {$(mod $name {
        use super::*;

        proptest! {
            #[test]
            fn it_does_what_sets_do(steps in steps()) {
                let make: fn(u32, usize) -> _ = $coordinator;
                let shared = make(SLOTS, 2);
                follow(&shared, |max, out| shared.drain_ready_cycle(max, out), steps.clone());
                let own = make(SLOTS, 1);
                let mut worker = own.worker(0).expect("it is free");
                follow(&own, |max, out| worker.drain_ready_cycle(max, out), steps);
            }
        }

        #[test]
        fn what_a_worker_leaves_goes_to_others() {
            leaves_to_others(&$coordinator(600, 2));
        }

        #[test]
        fn two_workers_handle_everything() {
            handle_everything($coordinator(40, 2));
        }
    })+};
}

suite! {
    locked: |slots, _| Coordinator::locked(slots);
    lock_free: |slots, _| Coordinator::lock_free(slots);
    stealing: Coordinator::stealing;
    per_core: Coordinator::per_core;
}

#[test]
fn the_order_is_that_of_registration() {
    let coordinator = Coordinator::locked(4);
    for slot in [2, 0, 3, 0, 1] {
        coordinator.register_ready(at(slot));
    }
    let mut out = Vec::new();
    assert_eq!(coordinator.drain_ready_cycle(3, &mut out), 3);
    assert_eq!(coordinator.drain_ready_cycle(3, &mut out), 1);
    assert_eq!(out, [at(2), at(0), at(3), at(1)]);
}

#[test]
fn a_stopped_mailbox_leaves_its_slot_to_the_next() {
    let coordinator = Coordinator::locked(1);
    let mut out = Vec::new();
    coordinator.register_ready(at(0));
    coordinator.drain_ready_cycle(1, &mut out);
    coordinator.register_ready(at(0));
    let stopped = InvokeResult::Stopped;
    assert_eq!(coordinator.handle_invoke_result(at(0), stopped, Duration::ZERO), Handled::Ended);
    assert_eq!(coordinator.register_ready(at(0)), Registered::Stale);
    assert!(!coordinator.unregister(at(0)));
    let next = coordinator.index(0).expect("the slot is there");
    assert_eq!(next, MailboxIndex { slot: 0, generation: 1 });
    assert_eq!(coordinator.register_ready(next), Registered::Queued);
    assert_eq!(coordinator.register_ready(at(7)), Registered::Stale);
    assert_eq!(coordinator.index(7), None);
}

#[test]
fn a_failed_mailbox_is_retried_when_its_time_has_come() {
    let coordinator = Coordinator::locked(1);
    let mut out = Vec::new();
    let retry = InvokeResult::Failed { retry_after: Some(Duration::from_secs(2)) };
    let seconds = Duration::from_secs;
    coordinator.register_ready(at(0));
    coordinator.drain_ready_cycle(1, &mut out);
    assert_eq!(coordinator.handle_invoke_result(at(0), retry, seconds(1)), Handled::Held);
    assert_eq!(coordinator.next_due(), Some(seconds(3)));
    assert_eq!(coordinator.register_ready(at(0)), Registered::Known);
    assert_eq!(coordinator.resume_due(seconds(2)), 0);
    assert_eq!(coordinator.drain_ready_cycle(1, &mut out), 0);
    assert_eq!(coordinator.resume_due(seconds(3)), 1);
    assert_eq!(coordinator.drain_ready_cycle(1, &mut out), 1);
    // The end of an earlier hold does not end a later one.
    coordinator.handle_invoke_result(at(0), retry, seconds(3));
    assert!(coordinator.resume(at(0)));
    coordinator.drain_ready_cycle(1, &mut out);
    coordinator.handle_invoke_result(at(0), retry, seconds(4));
    assert_eq!(coordinator.resume_due(seconds(5)), 0);
    assert_eq!(coordinator.resume_due(seconds(6)), 1);
}

/// Runs a mailbox once, after which it is held.
fn held_after(result: InvokeResult) -> Coordinator {
    let coordinator = Coordinator::locked(1);
    coordinator.register_ready(at(0));
    assert_eq!(coordinator.drain_ready_cycle(1, &mut Vec::new()), 1);
    let handled = coordinator.handle_invoke_result(at(0), result, Duration::ZERO);
    assert_eq!(handled, Handled::Held);
    coordinator
}

#[test]
fn a_suspended_mailbox_whose_registration_is_taken_back_stays_suspended() {
    let hour = Duration::from_secs(3600);
    for resume_after in [None, Some(hour)] {
        let coordinator = held_after(InvokeResult::Suspended { resume_after });
        assert_eq!(coordinator.register_ready(at(0)), Registered::Known);
        assert!(!coordinator.unregister(at(0)), "what resumes it queues it");
        assert_eq!(coordinator.register_ready(at(0)), Registered::Known, "it is suspended still");
        assert_eq!(coordinator.drain_ready_cycle(1, &mut Vec::new()), 0);
        assert_eq!(coordinator.next_due(), resume_after);
        assert!(coordinator.resume(at(0)));
        assert_eq!(coordinator.drain_ready_cycle(1, &mut Vec::new()), 1);
    }
}

#[test]
fn a_retry_can_be_taken_back() {
    let second = Duration::from_secs(1);
    let coordinator = held_after(InvokeResult::Failed { retry_after: Some(second) });
    assert!(coordinator.unregister(at(0)));
    assert_eq!((coordinator.resume_due(second), coordinator.resume(at(0))), (0, false));
    assert_eq!(coordinator.register_ready(at(0)), Registered::Queued, "it rests");
}

/// Gives every slot twice, however many it is asked for.
#[derive(Debug, Default)]
struct Generous(Mutex<Vec<u32>>);

impl ReadySlots for Generous {
    type End<'a> = ();

    fn end(&self, _: usize) -> Option<()> {
        Some(())
    }

    fn push(&self, _: Option<&mut ()>, slot: u32) {
        self.0.lock().push(slot);
    }

    fn pop(&self, _: Option<&mut ()>, _: usize, mut take: impl FnMut(u32)) -> usize {
        let slots = std::mem::take(&mut *self.0.lock());
        for &slot in &slots {
            take(slot);
            take(slot);
        }
        2 * slots.len()
    }
}

#[test]
fn what_a_queue_gives_twice_is_run_once() {
    let coordinator = Coordinator::with_queue(3, Generous::default());
    for slot in 0..3 {
        coordinator.register_ready(at(slot));
    }
    assert!(coordinator.unregister(at(1)));
    let mut out = Vec::new();
    assert_eq!(coordinator.drain_ready_cycle(1, &mut out), 2, "more than asked for");
    assert_eq!(out, [at(0), at(2)]);
    assert_eq!(coordinator.register_ready(at(1)), Registered::Queued, "it rests");
    assert_eq!(coordinator.register_ready(at(0)), Registered::Noted, "it runs");
}

/// Runs a mailbox once, after which it waits an hour for a retry unless somebody ends that.
fn hold(coordinator: &Coordinator, slot: u32, now: Duration) {
    let (mut out, hour) = (Vec::new(), Some(Duration::from_secs(3600)));
    coordinator.register_ready(at(slot));
    assert_eq!(coordinator.drain_ready_cycle(1, &mut out), 1);
    let failed = InvokeResult::Failed { retry_after: hour };
    assert_eq!(coordinator.handle_invoke_result(at(slot), failed, now), Handled::Held);
}

#[test]
fn holds_that_end_early_leave_nothing_behind() {
    const CYCLES: usize = rounds(10_000, 10_000, 300);
    let coordinator = Coordinator::locked(40);
    (0..30).for_each(|slot| hold(&coordinator, slot, Duration::ZERO));
    for cycle in 1..CYCLES {
        let now = Duration::from_millis(cycle as u64);
        hold(&coordinator, 39, now);
        let ended = if cycle % 2 == 0 {
            coordinator.resume(at(39)) && coordinator.unregister(at(39))
        } else {
            coordinator.unregister(at(39))
        };
        assert!(ended);
        let entries = coordinator.held.lock().entries.len();
        assert!(entries <= 2 * coordinator.slots(), "{entries} entries after {cycle} holds");
    }
    let hour = Duration::from_secs(3600);
    assert_eq!((coordinator.next_due(), coordinator.resume_due(hour)), (Some(hour), 30));
    assert_eq!(coordinator.next_due(), None, "nothing is held");
}

#[test]
fn a_worker_with_a_queue_of_its_own_is_taken_once() {
    let (stealing, per_core) = (Coordinator::stealing(4, 2), Coordinator::per_core(4, 2));
    for _ in 0..2 {
        let workers = (stealing.worker(0).expect("free"), per_core.worker(0).expect("free"));
        assert!(stealing.worker(0).is_none() && stealing.worker(2).is_none());
        assert!(per_core.worker(0).is_none() && per_core.worker(2).is_none());
        assert!(stealing.worker(1).is_some() && per_core.worker(1).is_some());
        drop(workers);
    }
}

fn leaves_to_others<Q: ReadySlots>(coordinator: &Coordinator<Q>) {
    const MANY: u32 = rounds(600, 600, 40) as u32;
    let mut worker = coordinator.worker(0).expect("it is free");
    for slot in 0..MANY {
        worker.register_ready(at(slot));
    }
    let mut out = Vec::new();
    assert_eq!(worker.drain_ready_cycle(1, &mut out), 1);
    drop(worker);
    let mut other = coordinator.worker(1).expect("it is free");
    while other.drain_ready_cycle(32, &mut out) + coordinator.drain_ready_cycle(1, &mut out) > 0 {}
    let drained: BTreeSet<_> = out.iter().map(|index| index.slot).collect();
    assert_eq!((out.len(), drained.len()), (MANY as usize, MANY as usize));
}

#[test]
fn a_mailbox_is_always_run_by_its_own_core() {
    // More than a ring holds, but under Miri, where each takes long.
    const MANY: u32 = rounds(1200, 1200, 120) as u32;
    let coordinator = Coordinator::per_core(MANY, 2);
    let mut workers = [0, 1].map(|id| coordinator.worker(id).expect("it is free"));
    for slot in 0..MANY {
        // From the wrong worker and from outside.
        match slot % 3 {
            0 => coordinator.register_ready(at(slot)),
            _ => workers[1 - slot as usize % 2].register_ready(at(slot)),
        };
    }
    let mut out = Vec::new();
    assert_eq!(coordinator.drain_ready_cycle(9, &mut out), 0, "both have their worker");
    for (id, worker) in workers.iter_mut().enumerate() {
        assert_eq!(worker.drain_ready_cycle(usize::MAX, &mut out), MANY as usize / 2);
        assert!(out.drain(..).all(|index| index.slot as usize % 2 == id));
    }
}

/// What the threads of a stress share: mail by mailbox, and who runs.
struct Stage<Q> {
    coordinator: Coordinator<Q>,
    mail: Vec<AtomicUsize>,
    running: Vec<AtomicBool>,
    handled: AtomicUsize,
}

const MAIL: usize = rounds(100_000, 5_000, 40);
const MAILBOXES: usize = 40;

impl<Q: ReadySlots> Stage<Q> {
    fn tell_all(&self) {
        for message in 0..MAIL {
            let slot = message % MAILBOXES;
            self.mail[slot].fetch_add(1, Ordering::AcqRel);
            self.coordinator.register_ready(at(u32::try_from(slot).expect("few mailboxes")));
        }
    }

    fn work(
        &self,
        mut drain: impl FnMut(usize, &mut Vec<MailboxIndex>) -> usize,
        mut handle: impl FnMut(MailboxIndex, InvokeResult),
    ) {
        let mut batch = Vec::new();
        while self.handled.load(Ordering::Acquire) < 2 * MAIL {
            if drain(8, &mut batch) == 0 {
                thread::yield_now();
            }
            for index in batch.drain(..) {
                let slot = index.slot as usize;
                assert!(!self.running[slot].swap(true, Ordering::AcqRel), "one worker at a time");
                let mail = self.mail[slot].swap(0, Ordering::AcqRel);
                self.handled.fetch_add(mail, Ordering::AcqRel);
                self.running[slot].store(false, Ordering::Release);
                handle(index, if mail % 3 == 2 { InvokeResult::Yielded } else { DONE });
            }
        }
    }
}

fn stage<Q>(coordinator: Coordinator<Q>) -> Arc<Stage<Q>> {
    Arc::new(Stage {
        coordinator,
        mail: (0..MAILBOXES).map(|_| AtomicUsize::new(0)).collect(),
        running: (0..MAILBOXES).map(|_| AtomicBool::new(false)).collect(),
        handled: AtomicUsize::new(0),
    })
}

fn handle_everything<Q: ReadySlots + 'static>(coordinator: Coordinator<Q>) {
    let stage = stage(coordinator);
    let threads: Vec<_> = (0..4)
        .map(|id| {
            let stage = stage.clone();
            thread::spawn(move || {
                if id >= 2 {
                    return stage.tell_all();
                }
                let worker = stage.coordinator.worker(id).expect("it is free");
                let worker = std::cell::RefCell::new(worker);
                stage.work(
                    |max, out| worker.borrow_mut().drain_ready_cycle(max, out),
                    |index, result| {
                        worker.borrow_mut().handle_invoke_result(index, result, Duration::ZERO);
                    },
                );
            })
        })
        .collect();
    for thread in threads {
        thread.join().expect("no panic");
    }
}
