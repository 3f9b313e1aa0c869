//! Ready queues from outside, and what the check of queues says of those that break their promises.

#![allow(clippy::unwrap_used, reason = "what goes wrong in a test may panic")]

use super::host;
use crate::support::on;
use greenroom::{Batch, Hint, Origin, Ready, ReadyQueue, Scheduler, WorkerId, testing};
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A queue from outside: one line for all workers.
#[derive(Debug, Default)]
struct Line(Mutex<VecDeque<Ready>>);

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
