//! What every ready queue must pass, whoever wrote it.

use super::{Batch, Origin, ReadyQueue, WorkerId};
use crate::sync::{Arc, AtomicUsize, Ordering, thread};
use crate::task::{Hint, Priority, Ready};
use std::collections::BTreeSet;
use std::panic::resume_unwind;

/// Times that each actor is pushed again in the threaded check.
const ROUNDS: usize = if cfg!(shuttle) { 3 } else { 200 };
/// Actors that are always ready in the check of fairness.
const EAGER: usize = 3;
/// Actors that want to run once meanwhile.
const WAITING: usize = 300;
/// How many workers the check of fairness has. They take turns on one thread, of which a model checker sees nothing new.
const CREWS: &[usize] = if cfg!(shuttle) { &[1] } else { &[1, 2, 4] };
/// Actors in the threaded check.
const ACTORS: usize = if cfg!(shuttle) { 12 } else { 600 };
/// How many times they are popped, all together.
const POPS: usize = ACTORS * ROUNDS;
/// A worker of the threaded check that finds nothing so often in a row looks no more. What it may leave behind is popped
/// when all threads have ended, so a check on a busy machine fails no queue.
const MISSES_MAX: usize = if cfg!(shuttle) { 1000 } else { 100_000 };

/// Checks that the queues which `make` builds (for a number of workers) keep the promises of
/// [`ReadyQueue`].
///
/// Meant for tests; it starts threads and is done within a second. Where a promise is broken it may take some seconds.
///
/// # Panics
/// With a description of the broken promise, or as the queue itself has panicked.
pub fn ready_queue_conforms<Q: ReadyQueue>(make: impl Fn(usize) -> Q) {
    ready_queue_of_one_thread_conforms(&make);
    survives_threads(make(3));
}

/// As [`ready_queue_conforms`], of a queue that is for one thread, as a world is.
pub(crate) fn ready_queue_of_one_thread_conforms<Q: ReadyQueue>(make: impl Fn(usize) -> Q) {
    hands_out_each_once(&make(1));
    for workers in CREWS {
        is_fair(&make(*workers), *workers);
    }
    shares_between_workers(&make(2));
}

/// # Safety
/// As [`WorkerId::new`].
unsafe fn worker(index: usize) -> WorkerId {
    // SAFETY: the caller's promise.
    unsafe { WorkerId::new(index) }
}

/// A token of no actor; every fifth one is a high actor's.
fn fake(number: usize) -> Ready {
    let priority = if number.is_multiple_of(5) { Priority::High } else { Priority::Normal };
    Ready::fake(number, priority)
}

/// Pops all that there is, which is `most` at most.
fn drain(queue: &impl ReadyQueue, id: WorkerId, most: usize) -> Vec<usize> {
    let mut batch = Batch::new();
    let mut seen = Vec::new();
    loop {
        queue.pop(id, &mut batch);
        if batch.is_empty() {
            return seen;
        }
        while let Some(ready) = batch.pop() {
            seen.push(ready.into_fake());
        }
        assert!(seen.len() <= most, "no more is popped than was pushed");
    }
}

fn hands_out_each_once(queue: &impl ReadyQueue) {
    // SAFETY: this thread alone is a worker of the check.
    let id = unsafe { worker(0) };
    assert!(!queue.has_work(id), "a new queue has no work");
    assert!(drain(queue, id, 0).is_empty(), "a new queue is empty");
    for number in 0..1000 {
        let from = if number % 3 == 0 { Origin::External } else { Origin::Worker(id) };
        let hint = if number % 2 == 0 { Hint::Next } else { Hint::Back };
        queue.push(from, fake(number), hint);
        assert!(queue.has_work(id), "a queue with an actor has work");
    }
    assert!(queue.len() == 1000 && !queue.is_empty(), "an unshared queue knows its length");
    let seen = drain(queue, id, 1000);
    assert_eq!(seen.len(), 1000, "each actor is popped once");
    assert_eq!(seen.iter().collect::<BTreeSet<_>>().len(), 1000, "no actor is popped twice");
    assert!(!queue.has_work(id) && is_empty(queue), "a drained queue is empty");
}

fn is_empty(queue: &impl ReadyQueue) -> bool {
    queue.is_empty() && queue.len() == 0
}

/// The first actors make themselves ready again each time they ran; the others must get their turn.
fn is_fair(queue: &impl ReadyQueue, workers: usize) {
    // SAFETY: this thread alone is a worker of the check, each in turn.
    let ids: Vec<_> = (0..workers).map(|index| unsafe { worker(index) }).collect();
    for priority in [Priority::Normal, Priority::High] {
        for hint in [Hint::Next, Hint::Back] {
            starves_none(queue, &ids, hint, priority);
        }
    }
}

fn starves_none(queue: &impl ReadyQueue, ids: &[WorkerId], hint: Hint, priority: Priority) {
    let wait = |number: usize| {
        let id = ids[number / 2 % ids.len()];
        let from = if number.is_multiple_of(2) { Origin::External } else { Origin::Worker(id) };
        queue.push(from, Ready::fake(number, Priority::Normal), Hint::Back);
    };
    // Some wait before the eager ones come and some after, so that neither the oldest nor the newest may be favoured.
    (EAGER..EAGER + WAITING / 2).for_each(wait);
    for number in 0..EAGER {
        let id = ids[number % ids.len()];
        queue.push(Origin::Worker(id), Ready::fake(number, priority), hint);
    }
    (EAGER + WAITING / 2..EAGER + WAITING).for_each(wait);
    let mut waiting = WAITING;
    let mut batch = Batch::new();
    for turn in 0..100_000 {
        let id = ids[turn % ids.len()];
        queue.pop(id, &mut batch);
        while let Some(ready) = batch.pop() {
            match ready.into_fake() {
                number @ 0..EAGER => push_again(queue, id, Ready::fake(number, priority), hint),
                _ => waiting = waiting.saturating_sub(1),
            }
        }
        if waiting == 0 {
            break;
        }
    }
    assert_eq!(waiting, 0, "an actor that is always ready ({hint:?}, {priority:?}) starves none");
    for id in ids {
        drain(queue, *id, EAGER);
    }
}

/// Checks what the runtime's own queues for all workers promise beside that: what waits behind a handler that blocks its
/// worker comes to another one, though that has so many that are always
/// ready.
#[cfg(test)]
pub(super) fn frees_the_stuck(queue: &impl ReadyQueue, restless: usize) {
    // SAFETY: this thread alone is a worker of the check, both in turn.
    let stuck = unsafe { worker(0) };
    // SAFETY: as above.
    let busy = unsafe { worker(1) };
    for number in restless..restless + WAITING {
        let hint = if number % 10 == 0 { Hint::Next } else { Hint::Back };
        queue.push(Origin::Worker(stuck), Ready::fake(number, Priority::Normal), hint);
    }
    let mut batch = Batch::new();
    queue.pop(stuck, &mut batch);
    let mut waiting = WAITING - batch.len();
    while let Some(ready) = batch.pop() {
        ready.into_fake();
    }
    for number in 0..restless {
        queue.push(Origin::Worker(busy), Ready::fake(number, Priority::Normal), Hint::Back);
    }
    for _ in 0..100_000 {
        queue.pop(busy, &mut batch);
        while let Some(ready) = batch.pop() {
            match ready.into_fake() {
                number if number < restless => {
                    push_again(queue, busy, Ready::fake(number, Priority::Normal), Hint::Back);
                }
                _ => waiting = waiting.saturating_sub(1),
            }
        }
        if waiting == 0 {
            break;
        }
    }
    assert_eq!(waiting, 0, "a worker that takes nothing any more keeps nothing back");
    drain(queue, busy, restless);
}

/// What one worker pushed, another one finds when it is the only one to look.
fn shares_between_workers(queue: &impl ReadyQueue) {
    // SAFETY: this thread alone is a worker of the check, both in turn.
    let first = unsafe { worker(0) };
    // SAFETY: as above.
    let second = unsafe { worker(1) };
    for number in 0..100 {
        let hint = if number % 10 == 0 { Hint::Next } else { Hint::Back };
        queue.push(Origin::Worker(first), fake(number), hint);
    }
    let mut seen = Vec::new();
    while queue.has_work(second) {
        let stolen = drain(queue, second, 100 - seen.len());
        if stolen.is_empty() {
            break;
        }
        seen.extend(stolen);
    }
    let rest = 100 - seen.len();
    seen.extend(drain(queue, first, rest));
    assert_eq!(seen.iter().collect::<BTreeSet<_>>().len(), 100, "nothing is lost between workers");
    assert_eq!(seen.len(), 100, "nothing is doubled between workers");
    assert!(!queue.has_work(first) && !queue.has_work(second), "both find the queue drained");
}

/// How often which actor of the threaded check was popped.
struct Tally {
    each: Vec<AtomicUsize>,
    all: AtomicUsize,
}

impl Tally {
    fn new() -> Self {
        Self { each: (0..ACTORS).map(|_| AtomicUsize::new(0)).collect(), all: AtomicUsize::new(0) }
    }

    /// How often that actor was popped by now.
    fn count(&self, number: usize) -> usize {
        // Relaxed, here and below: counters only.
        self.all.fetch_add(1, Ordering::Relaxed);
        self.each[number].fetch_add(1, Ordering::Relaxed) + 1
    }

    fn is_complete(&self) -> bool {
        self.all.load(Ordering::Relaxed) >= POPS
    }
}

/// Three workers and two other threads push and pop at once; every push is popped exactly once.
fn survives_threads<Q: ReadyQueue>(queue: Q) {
    let queue = Arc::new(queue);
    let tally = Arc::new(Tally::new());
    let mut threads = Vec::new();
    for index in 0..3 {
        let (queue, tally) = (queue.clone(), tally.clone());
        threads.push(thread::spawn(move || work(index, &*queue, &tally)));
    }
    for half in 0..2 {
        let queue = queue.clone();
        threads.push(thread::spawn(move || {
            for number in (half..ACTORS).step_by(2) {
                queue.push(Origin::External, fake(number), Hint::Back);
            }
        }));
    }
    let ends: Vec<_> = threads.into_iter().map(|thread| thread.join()).collect();
    if let Some(panic) = ends.into_iter().find_map(Result::err) {
        resume_unwind(panic);
    }
    finish(&*queue, &tally);
    for count in &tally.each {
        assert_eq!(count.load(Ordering::Relaxed), ROUNDS, "each push is popped exactly once");
    }
    assert!(is_empty(&*queue), "nothing is left over");
    for index in 0..3 {
        // SAFETY: the threads of the check have ended, so this one is each worker in turn.
        let id = unsafe { worker(index) };
        assert!(!queue.has_work(id), "there is no work where nothing is left");
    }
}

fn work(index: usize, queue: &impl ReadyQueue, tally: &Tally) {
    // SAFETY: each thread of the check is a different worker.
    let id = unsafe { worker(index) };
    let mut misses = 0;
    while !tally.is_complete() && misses < MISSES_MAX {
        if run_some(queue, id, tally) {
            misses = 0;
        } else {
            misses += 1;
            thread::yield_now();
        }
    }
}

/// Pops, on one thread, what workers that looked no more have left.
fn finish(queue: &impl ReadyQueue, tally: &Tally) {
    // SAFETY: this thread alone is a worker of the check by now, each in turn.
    let ids = [0, 1, 2].map(|index| unsafe { worker(index) });
    let run_round = || ids.map(|id| run_some(queue, id, tally)).contains(&true);
    while !tally.is_complete() && run_round() {}
}

/// Pops once, and pushes again who has rounds left; `false` if there was nobody.
fn run_some(queue: &impl ReadyQueue, id: WorkerId, tally: &Tally) -> bool {
    let mut batch = Batch::new();
    queue.pop(id, &mut batch);
    let has_found = !batch.is_empty();
    while let Some(ready) = batch.pop() {
        let number = ready.into_fake();
        let round = tally.count(number);
        if round < ROUNDS {
            let hint = if (number + round).is_multiple_of(4) { Hint::Next } else { Hint::Back };
            push_again(queue, id, fake(number), hint);
        }
    }
    has_found
}

/// Pushes an actor that `worker` has run.
fn push_again(queue: &impl ReadyQueue, worker: WorkerId, ready: Ready, hint: Hint) {
    match hint {
        Hint::Next => queue.push(Origin::Worker(worker), ready, hint),
        Hint::Back => queue.give_way(worker, ready),
    }
}
