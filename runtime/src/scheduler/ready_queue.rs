//! The seam: what a ready queue must do.

use crate::task::{Hint, Ready};
use std::fmt;
use std::marker::PhantomData;

/// Which worker the calling thread is.
///
/// A value exists only on its worker's own thread (it is neither `Send` nor `Sync`), and is unique within
/// one system. So a queue may keep parts that only their worker touches; but where two systems, or one and
/// a check, could have the same queue, each has a worker of that number, and `unsafe` code must not rely on it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct WorkerId {
    index: usize,
    stays_on_its_thread: PhantomData<*const ()>,
}

impl WorkerId {
    /// Names the calling thread.
    ///
    /// # Safety
    /// No other thread is worker `index` of the same system, or the same check of a queue, at the same time.
    pub(crate) const unsafe fn new(index: usize) -> Self {
        Self { index, stays_on_its_thread: PhantomData }
    }

    /// The worker's number, counted from zero.
    #[must_use]
    pub const fn index(self) -> usize {
        self.index
    }
}

impl fmt::Debug for WorkerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "WorkerId({})", self.index)
    }
}

/// Where a push comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The calling thread is this worker.
    Worker(WorkerId),
    /// Any other thread.
    External,
}

/// Actors taken from a queue to be run in order. Holds [`Batch::CAPACITY`] at most.
#[derive(Debug)]
pub struct Batch {
    actors: [Option<Ready>; Self::CAPACITY],
    /// Where the first one is; the others follow, around the end.
    first: usize,
    len: usize,
}

impl Batch {
    /// Actors that fit.
    pub const CAPACITY: usize = 32;

    pub(crate) fn new() -> Self {
        Self { actors: [const { None }; Self::CAPACITY], first: 0, len: 0 }
    }

    /// Adds an actor behind the others.
    ///
    /// # Panics
    /// When the batch is full.
    #[inline]
    pub fn push(&mut self, ready: Ready) {
        assert!(self.len < Self::CAPACITY, "a batch holds {} actors", Self::CAPACITY);
        self.actors[(self.first + self.len) % Self::CAPACITY] = Some(ready);
        self.len += 1;
    }

    /// Takes the first actor.
    #[inline]
    pub fn pop(&mut self) -> Option<Ready> {
        if self.len == 0 {
            return None;
        }
        self.len -= 1;
        let first = self.first % Self::CAPACITY;
        self.first = first + 1;
        self.actors[first].take()
    }

    /// Actors in the batch.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether no actor is in the batch.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

/// A queue of actors that are ready to run.
///
/// It is shared by all workers and pushed to from any thread. An actor is in it at most once (its
/// mailbox sees to that), so a queue needs no set and checks for no duplicates.
///
/// What an implementation must keep, and [`ready_queue_conforms`](crate::testing::ready_queue_conforms)
/// checks:
/// 1. Every actor pushed is popped exactly once, by some worker.
/// 2. [`has_work`](ReadyQueue::has_work) is true for every worker that could pop an actor whose push
///    has happened before the call: workers ask it last before they sleep. It is false when all actors
///    are popped and no call is under way: who is told otherwise looks again, and does not sleep.
/// 3. Nothing waits for ever: an actor pushed with [`Hint::Back`] is popped after finitely many
///    others, even if some actors are pushed again each time they ran, and whatever their
///    [priorities](Ready::priority). What a priority means beyond that is the queue's own choice.
/// 4. [`len`](ReadyQueue::len) and [`is_empty`](ReadyQueue::is_empty) are right while no call is under way
///    that pushes or pops. Meanwhile they are hints, by which a worker judges whether it needs help: counters
///    that are added up one after the other are good enough.
pub trait ReadyQueue: Send + Sync + 'static {
    /// Takes `ready` in. Callable from any thread; must not fail and should not block.
    fn push(&self, from: Origin, ready: Ready, hint: Hint);

    /// Takes in an actor that `worker` has run, and which gives way with work left: behind others.
    #[doc(hidden)]
    fn give_way(&self, worker: WorkerId, ready: Ready) {
        self.push(Origin::Worker(worker), ready, Hint::Back);
    }

    /// Moves actors for `worker` to run into `batch`, which is empty; none if there is nothing. Never more than
    /// [`Batch::CAPACITY`]: the batch panics then, as the queue may, and a queue that has panicked is not asked again: what
    /// is in it never runs nor ends, and its system does not, either.
    fn pop(&self, worker: WorkerId, batch: &mut Batch);

    /// Takes the first actor that [`pop`](ReadyQueue::pop) would move into `batch`, which is empty and gets the others.
    #[doc(hidden)]
    fn pop_first(&self, worker: WorkerId, batch: &mut Batch) -> Option<Ready> {
        self.pop(worker, batch);
        batch.pop()
    }

    /// Whether `worker` would find something in [`pop`](ReadyQueue::pop). While others push and pop it may be true for
    /// nothing.
    fn has_work(&self, worker: WorkerId) -> bool;

    /// Says, on `worker` itself, that it will pop nothing for a while: what others take only when they have
    /// nothing else to do goes where all look. Only called where the runtime has chosen the queue.
    #[doc(hidden)]
    fn hand_over(&self, _worker: WorkerId) {}

    /// Actors in the queue; roughly, while others push and pop.
    fn len(&self) -> usize;

    /// Whether the queue is empty; roughly, while others push and pop.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
