//! Ready queues from outside, and what the check of queues says of those that break their promises.

#![allow(clippy::unwrap_used, reason = "what goes wrong in a test may panic")]

use super::host;
use crate::support::{Builds, LONG, OwnSystem, hold_worker, on, poll_once, run, soon};
use greenroom::{Batch, Hint, Origin, Ready, ReadyQueue, Scheduler, System, WorkerId, testing};
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A queue from outside: one line for all workers.
#[derive(Debug, Default)]
pub(super) struct Line(Mutex<VecDeque<Ready>>);

impl ReadyQueue for Line {
    fn push(&self, _from: Origin, ready: Ready, _hint: Hint) {
        self.0.lock().push_back(ready);
    }
    fn pop(&self, _worker: WorkerId, batch: &mut Batch) {
        if let Some(ready) = self.0.lock().pop_front() {
            batch.push(ready);
        }
    }
    fn has_work(&self, _worker: WorkerId) -> bool {
        !self.0.lock().is_empty()
    }
    fn len(&self) -> usize {
        self.0.lock().len()
    }
}

#[test]
fn a_queue_from_outside_conforms_and_runs_a_system() {
    testing::ready_queue_conforms(|_| Line::default());
    for workers in [1, 3] {
        let scheduler = Scheduler::custom(move |asked| {
            assert_eq!(asked, workers);
            Line::default()
        });
        on(workers, scheduler, async |system| {
            let hosts = [host(system).await, host(system).await];
            for number in 0..500 {
                assert_eq!(hosts[number as usize % 2].spawn_inside(number).await, Ok(number + 1));
            }
        });
    }
}

/// A queue in which whoever came last runs first.
#[derive(Debug, Default)]
struct Pile(Mutex<Vec<Ready>>);

impl ReadyQueue for Pile {
    fn push(&self, _from: Origin, ready: Ready, _hint: Hint) {
        self.0.lock().push(ready);
    }
    fn pop(&self, _worker: WorkerId, batch: &mut Batch) {
        if let Some(ready) = self.0.lock().pop() {
            batch.push(ready);
        }
    }
    fn has_work(&self, _worker: WorkerId) -> bool {
        !self.0.lock().is_empty()
    }
    fn len(&self) -> usize {
        self.0.lock().len()
    }
}

#[test]
#[should_panic(expected = "starves none")]
fn a_queue_that_starves_the_oldest_does_not_conform() {
    testing::ready_queue_conforms(|_| Pile::default());
}

/// A queue that forgets every hundredth actor.
#[derive(Debug, Default)]
struct Leaky(Line, AtomicUsize);

impl ReadyQueue for Leaky {
    fn push(&self, from: Origin, ready: Ready, hint: Hint) {
        if self.1.fetch_add(1, Ordering::Relaxed) % 100 != 99 {
            self.0.push(from, ready, hint);
        }
    }
    fn pop(&self, worker: WorkerId, batch: &mut Batch) {
        self.0.pop(worker, batch);
    }
    fn has_work(&self, worker: WorkerId) -> bool {
        self.0.has_work(worker)
    }
    fn len(&self) -> usize {
        self.0.len()
    }
}

#[test]
#[should_panic(expected = "knows its length")]
fn a_queue_that_loses_actors_does_not_conform() {
    testing::ready_queue_conforms(|_| Leaky::default());
}

/// A line whose length is the difference of two counters, which are right only while nobody pushes or pops.
#[derive(Debug, Default)]
struct Tallied {
    line: Line,
    pushed: AtomicUsize,
    popped: AtomicUsize,
}

impl ReadyQueue for Tallied {
    fn push(&self, from: Origin, ready: Ready, hint: Hint) {
        self.line.push(from, ready, hint);
        self.pushed.fetch_add(1, Ordering::Relaxed);
    }
    fn pop(&self, worker: WorkerId, batch: &mut Batch) {
        self.line.pop(worker, batch);
        self.popped.fetch_add(batch.len(), Ordering::Relaxed);
    }
    fn has_work(&self, worker: WorkerId) -> bool {
        self.line.has_work(worker)
    }
    fn len(&self) -> usize {
        self.pushed.load(Ordering::Relaxed).saturating_sub(self.popped.load(Ordering::Relaxed))
    }
}

#[test]
fn a_queue_whose_length_is_rough_while_it_is_used_conforms() {
    testing::ready_queue_conforms(|_| Tallied::default());
}

/// A line that knows its length by the score.
#[derive(Debug, Default)]
struct Coarse(Line);

impl ReadyQueue for Coarse {
    fn push(&self, from: Origin, ready: Ready, hint: Hint) {
        self.0.push(from, ready, hint);
    }
    fn pop(&self, worker: WorkerId, batch: &mut Batch) {
        self.0.pop(worker, batch);
    }
    fn has_work(&self, worker: WorkerId) -> bool {
        self.0.has_work(worker)
    }
    fn len(&self) -> usize {
        self.0.len().next_multiple_of(20) + 20
    }
}

#[test]
#[should_panic(expected = "knows its length")]
fn a_queue_whose_length_is_never_right_does_not_conform() {
    testing::ready_queue_conforms(|_| Coarse::default());
}

/// What a queue does wrong, now and then, that one thread never sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    Loses,
    Panics,
}

/// A line that keeps its promises to one worker and two, but not to three, who run at once.
#[derive(Debug)]
struct Racy {
    line: Line,
    fault: Option<Fault>,
    pushes: AtomicUsize,
}

impl Racy {
    fn new(workers: usize, fault: Fault) -> Self {
        let fault = (workers == 3).then_some(fault);
        Self { line: Line::default(), fault, pushes: AtomicUsize::new(0) }
    }
}

impl ReadyQueue for Racy {
    fn push(&self, from: Origin, ready: Ready, hint: Hint) {
        let is_wrong = self.pushes.fetch_add(1, Ordering::Relaxed) % 1000 == 999;
        match self.fault {
            Some(Fault::Loses) if is_wrong => {}
            Some(Fault::Panics) if is_wrong => panic!("a race was lost"),
            _ => self.line.push(from, ready, hint),
        }
    }
    fn pop(&self, worker: WorkerId, batch: &mut Batch) {
        self.line.pop(worker, batch);
    }
    fn has_work(&self, worker: WorkerId) -> bool {
        self.line.has_work(worker)
    }
    fn len(&self) -> usize {
        self.line.len()
    }
}

#[test]
#[should_panic(expected = "each push is popped exactly once")]
fn a_queue_that_loses_actors_among_threads_does_not_conform() {
    testing::ready_queue_conforms(|workers| Racy::new(workers, Fault::Loses));
}

#[test]
#[should_panic(expected = "a race was lost")]
fn a_queue_that_panics_among_threads_does_not_conform() {
    testing::ready_queue_conforms(|workers| Racy::new(workers, Fault::Panics));
}

/// One line for several systems.
#[derive(Debug)]
struct Common(Arc<Line>);

impl ReadyQueue for Common {
    fn push(&self, from: Origin, ready: Ready, hint: Hint) {
        self.0.push(from, ready, hint);
    }
    fn pop(&self, worker: WorkerId, batch: &mut Batch) {
        self.0.pop(worker, batch);
    }
    fn has_work(&self, worker: WorkerId) -> bool {
        self.0.has_work(worker)
    }
    fn len(&self) -> usize {
        self.0.len()
    }
}

/// Two systems with that line, whose threads have those names.
fn pair(line: &Arc<Line>) -> [OwnSystem; 2] {
    ["one", "other"].map(|name| {
        let common = Common(Arc::clone(line));
        let built = System::builder().workers(2).thread_name(name);
        built.scheduler(Scheduler::custom(|_| common)).own()
    })
}

/// Which no queue has to be for; but what it hands out to the wrong one must not end that one's workers.
#[test]
fn systems_that_have_one_queue_run_their_own_actors() {
    let line = Arc::new(Line::default());
    run(async {
        let [one, other] = pair(&line);
        for number in 0..100 {
            for system in [&one, &other] {
                let host = host(system).await;
                let answer = host.spawn_inside(number).within(LONG).await;
                assert_eq!(answer, Ok(number + 1));
                assert!(host.stop(), "it lives");
            }
        }
        one.shutdown(LONG).await.unwrap();
        assert_eq!(host(&other).await.spawn_inside(1).within(LONG).await, Ok(2));
        other.shutdown(LONG).await.unwrap();
    });
}

#[test]
fn an_actor_that_another_system_takes_goes_home_until_its_own_workers_have_time() {
    let line = Arc::new(Line::default());
    run(async {
        let [one, other] = pair(&line);
        let (stranger, host) = (host(&one).await, host(&other).await);
        let holds = [hold_worker(&one).await, hold_worker(&one).await];
        let alone = Arc::new(std::sync::Barrier::new(1));
        let mut asked = Box::pin(async { stranger.meet(alone).within(LONG).await });
        assert!(poll_once(&mut asked).is_pending(), "its workers are held");
        // Behind the stranger in the line.
        assert_eq!(host.spawn_inside(1).within(LONG).await, Ok(2));
        assert!(poll_once(&mut asked).is_pending(), "its workers are held still");
        drop(holds);
        let name = soon(asked).await.unwrap();
        assert!(name.starts_with("one-"), "{name}");
        one.shutdown(LONG).await.unwrap();
        other.shutdown(LONG).await.unwrap();
    });
}

/// What a check pushes to it goes into the line of a system.
#[derive(Debug)]
struct Astray(Arc<Line>);

impl ReadyQueue for Astray {
    fn push(&self, from: Origin, ready: Ready, hint: Hint) {
        self.0.push(from, ready, hint);
    }
    fn pop(&self, _worker: WorkerId, _batch: &mut Batch) {}
    fn has_work(&self, _worker: WorkerId) -> bool {
        false
    }
    fn len(&self) -> usize {
        0
    }
}

#[test]
fn what_a_check_has_pushed_to_the_queue_of_a_system_no_worker_runs() {
    let line = Arc::new(Line::default());
    let check = || testing::ready_queue_conforms(|_| Astray(Arc::clone(&line)));
    assert!(catch_unwind(AssertUnwindSafe(check)).is_err(), "it does not conform");
    assert_eq!(line.len(), 1, "the first one that was pushed");
    run(async {
        let common = Common(Arc::clone(&line));
        let built = System::builder().workers(1).scheduler(Scheduler::custom(|_| common));
        let system = built.own();
        // Behind that one in the line.
        let host = soon(host(&system)).await;
        assert_eq!(host.spawn_inside(1).within(LONG).await, Ok(2));
        system.shutdown(LONG).await.unwrap();
    });
}

/// A queue that always says that it has more than there could be.
#[derive(Debug, Default)]
struct Boastful(Line);

impl ReadyQueue for Boastful {
    fn push(&self, from: Origin, ready: Ready, hint: Hint) {
        self.0.push(from, ready, hint);
    }
    fn pop(&self, worker: WorkerId, batch: &mut Batch) {
        self.0.pop(worker, batch);
    }
    fn has_work(&self, _worker: WorkerId) -> bool {
        true
    }
    fn len(&self) -> usize {
        usize::MAX
    }
}

#[test]
#[should_panic(expected = "a new queue has no work")]
fn a_queue_that_boasts_does_not_conform() {
    testing::ready_queue_conforms(|_| Boastful::default());
}

#[test]
fn a_queue_that_boasts_costs_sleep_and_nothing_else() {
    for workers in [1, 2] {
        on(workers, Scheduler::custom(|_| Boastful::default()), async |system| {
            let host = host(system).await;
            for number in 0..100 {
                assert_eq!(host.spawn_inside(number).within(LONG).await, Ok(number + 1));
            }
        });
    }
}
