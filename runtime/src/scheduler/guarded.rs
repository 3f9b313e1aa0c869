//! A ready queue that was written by a user, and may panic.
//!
//! A panic in it is no reason for a worker to end, or for a handler that only sends. So it goes no further than this,
//! and a queue that has panicked is trusted less: what becomes ready from then on goes into a *refuge*. As long as only
//! [`push`](ReadyQueue::push), or what gives a hint, has panicked, what is in the queue is still asked for. After a panic in
//! [`pop`](ReadyQueue::pop) or [`has_work`](ReadyQueue::has_work) it is not: a worker would come back to it for ever. A
//! panic in its drop ends here, too.
//!
//! The actor that was being pushed is lost, and so is what is in a queue that is not asked any more: whether the queue
//! has handed an actor out, nobody knows but itself, and no actor may run twice at once.

use super::{Batch, LockedQueue, Origin, ReadyQueue, WorkerId};
use crate::event::{Event, Events};
use crate::sync::panic::catch;
use crate::sync::{Arc, AtomicBool, Ordering, planted};
use crate::task::{Hint, Ready};

/// See the [module](self).
pub(crate) struct Guarded {
    queue: Box<dyn ReadyQueue>,
    /// Where actors go that the queue is not trusted with.
    refuge: LockedQueue,
    /// Whether the queue is given actors.
    takes: AtomicBool,
    /// Whether it is asked for them.
    gives: AtomicBool,
    events: Arc<Events>,
    /// Whether what it hands out is not run but looked at, by a check of queues.
    is_checked: bool,
}

impl Guarded {
    /// Around the queue of so many workers; the first panic is told to those who listen to `events`.
    pub(crate) fn new(queue: Box<dyn ReadyQueue>, workers: usize, events: Arc<Events>) -> Self {
        Self {
            queue,
            refuge: LockedQueue::new(workers),
            takes: AtomicBool::new(true),
            gives: AtomicBool::new(true),
            events,
            is_checked: false,
        }
    }

    /// For a check of queues, whose tokens are no actors'. No worker may have it.
    #[cfg(all(test, not(shuttle)))]
    pub(crate) fn checked(queue: Box<dyn ReadyQueue>, workers: usize) -> Self {
        let events = Arc::new(Events::new(workers));
        let mut guarded = Self::new(queue, workers, events);
        guarded.is_checked = true;
        guarded
    }

    /// What the queue says, if it is asked and does not panic.
    fn ask<R>(&self, question: impl FnOnce(&dyn ReadyQueue) -> R) -> Option<R> {
        // Relaxed, as all that is done to the flags: who misses a change asks the queue once more.
        if !self.gives.load(Ordering::Relaxed) {
            return None;
        }
        let answer = self.call(question);
        if answer.is_none() {
            self.gives.store(false, Ordering::Relaxed);
        }
        answer
    }

    /// The same of what is no more than a hint, which a queue that has panicked is not asked for. One that panics over a
    /// hint gives what it has all the same.
    fn guess<R>(&self, question: impl FnOnce(&dyn ReadyQueue) -> R) -> Option<R> {
        // Relaxed: as above.
        if self.takes.load(Ordering::Relaxed) { self.call(question) } else { None }
    }

    /// What the queue does, unless it panics.
    fn call<R>(&self, work: impl FnOnce(&dyn ReadyQueue) -> R) -> Option<R> {
        let work = || work(&*self.queue);
        let done = planted!("queue-unguarded": catch(work) => Ok::<R, String>(work()));
        done.inspect_err(|text| self.distrust(text)).ok()
    }

    /// Gives actors of other systems back to those, in case they have the queue, too, and drops what a check has pushed.
    fn send_strangers_home(&self, batch: &mut Batch) {
        for _ in 0..batch.len() {
            match batch.pop() {
                Some(ready) if self.is_for_worker(&ready) => batch.push(ready),
                Some(ready) => ready.go_home(),
                None => {}
            }
        }
    }

    /// Whether whoever has asked for actors gets this one.
    fn is_for_worker(&self, ready: &Ready) -> bool {
        planted!("stranger-is-run": ready.belongs_to(&self.events) => true)
            || self.is_checked && ready.is_fake()
    }

    #[cold]
    fn distrust(&self, text: &str) {
        if self.takes.swap(false, Ordering::Relaxed) {
            self.events.emit(|| Event::QueuePanicked { text: text.to_owned() });
        }
    }
}

impl ReadyQueue for Guarded {
    fn push(&self, from: Origin, ready: Ready, hint: Hint) {
        if self.takes.load(Ordering::Relaxed) {
            // `None`: it is lost.
            let _ = self.call(|queue| queue.push(from, ready, hint));
        } else {
            self.refuge.push(from, ready, hint);
        }
    }

    fn pop(&self, worker: WorkerId, batch: &mut Batch) {
        // First, since it is given nothing more once there is something in the refuge: so nobody waits for ever.
        // `None`: there is nothing but what it has moved before it panicked.
        let _ = self.ask(|queue| queue.pop(worker, batch));
        self.send_strangers_home(batch);
        if batch.is_empty() {
            self.refuge.pop(worker, batch);
        }
    }

    fn has_work(&self, worker: WorkerId) -> bool {
        self.refuge.has_work(worker) || self.ask(|queue| queue.has_work(worker)).unwrap_or(false)
    }

    fn len(&self) -> usize {
        self.refuge.len() + self.guess(ReadyQueue::len).unwrap_or(0)
    }

    fn is_empty(&self) -> bool {
        self.refuge.is_empty() && self.guess(ReadyQueue::is_empty).unwrap_or(true)
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        let queue = std::mem::replace(&mut self.queue, Box::new(LockedQueue::new(1)));
        if let Err(text) = catch(|| drop(queue)) {
            self.distrust(&text);
        }
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests;
