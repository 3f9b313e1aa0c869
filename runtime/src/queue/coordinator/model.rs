//! loom: nothing is run by two at a time, and nothing that is registered is overlooked.

use super::{Coordinator, InvokeResult, MailboxIndex, ReadySlots, Registered};
use crate::sync::{AtomicUsize, Ordering, UnsafeCell, thread};
use std::sync::Arc;
use std::time::Duration;

const MAILBOX: MailboxIndex = MailboxIndex { slot: 0, generation: 0 };
const DONE: InvokeResult = InvokeResult::Completed { ready_hint: false };

/// One mailbox: its mail is handed over by read-modify-writes, its state is the runner's alone.
struct Stage<Q> {
    coordinator: Coordinator<Q>,
    mail: AtomicUsize,
    handled: UnsafeCell<usize>,
}

// SAFETY: that the state is one runner's at a time is what loom checks.
unsafe impl<Q: Sync> Sync for Stage<Q> {}

impl<Q: ReadySlots> Stage<Q> {
    fn new(coordinator: Coordinator<Q>) -> Arc<Self> {
        Arc::new(Self { coordinator, mail: AtomicUsize::new(0), handled: UnsafeCell::new(0) })
    }

    fn tell(&self) -> Registered {
        // AcqRel: the rendezvous with `run`, which the contract asks for.
        self.mail.fetch_add(1, Ordering::AcqRel);
        self.coordinator.register_ready(MAILBOX)
    }

    fn run(&self) {
        // AcqRel: the rendezvous with `tell`.
        let mail = self.mail.swap(0, Ordering::AcqRel);
        // SAFETY: the runner's alone, which loom checks.
        self.handled.with_mut(|handled| unsafe { *handled += mail });
    }

    /// Drains once, and runs what is ready.
    fn turn(&self, result: InvokeResult) -> usize {
        let mut out = Vec::with_capacity(1);
        let count = self.coordinator.drain_ready_cycle(1, &mut out);
        for index in out {
            self.run();
            self.coordinator.handle_invoke_result(index, result, Duration::ZERO);
        }
        count
    }

    fn handled(&self) -> usize {
        // SAFETY: the other threads have ended, or are done with it, which loom checks.
        self.handled.with(|handled| unsafe { *handled })
    }
}

fn nothing_is_overlooked<Q: ReadySlots + 'static>(coordinator: fn() -> Coordinator<Q>) {
    loom::model(move || {
        let stage = Stage::new(coordinator());
        let (caller, worker) = (stage.clone(), stage.clone());
        let caller = thread::spawn(move || {
            caller.tell();
            caller.tell();
        });
        let worker = thread::spawn(move || {
            worker.turn(DONE);
        });
        stage.turn(DONE);
        caller.join().expect("no panic");
        worker.join().expect("no panic");
        while stage.turn(DONE) > 0 {}
        assert_eq!(stage.handled(), 2);
        assert_eq!(stage.tell(), Registered::Queued, "it rests");
    });
}

#[test]
fn nothing_is_overlooked_behind_a_lock() {
    nothing_is_overlooked(|| Coordinator::locked(1));
}

#[test]
fn nothing_is_overlooked_without_a_lock() {
    nothing_is_overlooked(|| Coordinator::lock_free(1));
}

/// What a caller did before a registration that was not known is seen by the run that follows, whatever hands it over.
#[test]
fn who_runs_sees_what_was_before_its_registration() {
    loom::model(|| {
        let stage = Stage::new(Coordinator::locked(1));
        assert_eq!(stage.coordinator.register_ready(MAILBOX), Registered::Queued);
        let caller = stage.clone();
        let caller = thread::spawn(move || {
            // SAFETY: nobody else's before it is registered, which loom checks.
            caller.handled.with_mut(|letter| unsafe { *letter = 1 });
            caller.coordinator.register_ready(MAILBOX)
        });
        let mut out = Vec::with_capacity(1);
        stage.coordinator.drain_ready_cycle(1, &mut out);
        stage.coordinator.handle_invoke_result(MAILBOX, DONE, Duration::ZERO);
        // A second run there is for the caller's sake alone.
        if stage.coordinator.drain_ready_cycle(1, &mut out) > 0 {
            assert_eq!(stage.handled(), 1);
        }
        caller.join().expect("no panic");
    });
}

/// A worker and a caller from outside register the mailboxes of the other worker, who drains meanwhile.
#[test]
fn nothing_that_another_core_registers_is_overlooked() {
    const OTHERS: MailboxIndex = MailboxIndex { slot: 1, generation: 0 };
    loom::model(|| {
        let coordinator = Arc::new(Coordinator::per_core(6, 2));
        let (neighbour, caller) = (coordinator.clone(), coordinator.clone());
        let neighbour = thread::spawn(move || {
            let mut worker = neighbour.worker(0).expect("it is free");
            // The third one finds no room in the ring if the others are still there.
            worker.register_ready(OTHERS);
            worker.register_ready(MailboxIndex { slot: 3, generation: 0 });
            worker.register_ready(MailboxIndex { slot: 5, generation: 0 });
        });
        let caller = thread::spawn(move || {
            caller.register_ready(OTHERS);
        });
        let mut worker = coordinator.worker(1).expect("it is free");
        let (mut out, mut seen) = (Vec::with_capacity(3), [0, 0, 0]);
        let mut turn = || {
            worker.drain_ready_cycle(3, &mut out);
            for index in out.drain(..) {
                seen[index.slot as usize / 2] += 1;
                worker.handle_invoke_result(index, DONE, Duration::ZERO);
            }
        };
        turn();
        neighbour.join().expect("no panic");
        caller.join().expect("no panic");
        turn();
        turn();
        assert!((1..=2).contains(&seen[0]) && seen[1..] == [1, 1], "{seen:?}");
        worker.register_ready(OTHERS);
        assert_eq!(worker.drain_ready_cycle(2, &mut out), 1, "nobody is left behind");
    });
}

#[test]
fn nothing_is_overlooked_where_it_is_stolen() {
    loom::model(|| {
        let stage = Stage::new(Coordinator::stealing(1, 1));
        let thief = stage.clone();
        let thief = thread::spawn(move || thief.turn(DONE));
        let mut worker = stage.coordinator.worker(0).expect("it is free");
        for _ in 0..2 {
            // AcqRel: as in `tell`.
            stage.mail.fetch_add(1, Ordering::AcqRel);
            worker.register_ready(MAILBOX);
        }
        let mut out = Vec::with_capacity(1);
        worker.drain_ready_cycle(1, &mut out);
        for index in out {
            stage.run();
            worker.handle_invoke_result(index, DONE, Duration::ZERO);
        }
        thief.join().expect("no panic");
        while stage.turn(DONE) > 0 {}
        assert_eq!(stage.handled(), 2);
    });
}

#[test]
fn an_unregistration_meets_everything_else() {
    loom::model(|| {
        let stage = Stage::new(Coordinator::locked(1));
        let (caller, spoiler) = (stage.clone(), stage.clone());
        let caller = thread::spawn(move || {
            caller.tell();
            caller.tell();
        });
        let spoiler = thread::spawn(move || {
            spoiler.coordinator.unregister(MAILBOX);
        });
        stage.turn(DONE);
        caller.join().expect("no panic");
        spoiler.join().expect("no panic");
        stage.tell();
        while stage.turn(DONE) > 0 {}
        assert_eq!(stage.handled(), 3, "a later registration runs it");
    });
}

#[test]
fn a_hold_meets_its_end_and_a_registration() {
    loom::model(|| {
        let stage = Stage::new(Coordinator::locked(1));
        stage.tell();
        let (caller, clock) = (stage.clone(), stage.clone());
        let caller = thread::spawn(move || {
            caller.tell();
        });
        let clock = thread::spawn(move || {
            clock.coordinator.resume_due(Duration::ZERO);
        });
        stage.turn(InvokeResult::Failed { retry_after: Some(Duration::ZERO) });
        caller.join().expect("no panic");
        clock.join().expect("no panic");
        stage.coordinator.resume_due(Duration::ZERO);
        while stage.turn(DONE) > 0 {}
        assert_eq!(stage.handled(), 2);
    });
}
