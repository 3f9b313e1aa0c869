//! A queue behind a lock that all workers share, beside their own.

use crate::sync::{AtomicUsize, CachePadded, Mutex, Ordering, planted};
use crate::task::Ready;
use std::collections::VecDeque;

/// See the [module](self).
#[derive(Debug)]
pub(super) struct Lane {
    actors: Mutex<VecDeque<Ready>>,
    /// The lane's length, written under its lock.
    len: CachePadded<AtomicUsize>,
}

impl Lane {
    pub(super) fn new() -> Self {
        Self { actors: Mutex::new(VecDeque::new()), len: CachePadded(AtomicUsize::new(0)) }
    }

    /// Puts an actor at the back.
    pub(super) fn push(&self, ready: Ready) {
        let mut actors = self.actors.lock();
        actors.push_back(ready);
        let len = planted!("stealing-unannounced": actors.len() => actors.len() - 1);
        // Release: pairs with the Acquire in `is_empty`.
        self.len.store(len, Ordering::Release);
    }

    /// Takes the actor at the front.
    pub(super) fn pop(&self) -> Option<Ready> {
        if self.is_empty() { None } else { self.change(VecDeque::pop_front) }
    }

    /// Changes what is in the lane, under its lock.
    pub(super) fn change<R>(&self, change: impl FnOnce(&mut VecDeque<Ready>) -> R) -> R {
        let mut actors = self.actors.lock();
        let result = change(&mut actors);
        // Release: pairs with the Acquire in `is_empty`.
        self.len.store(actors.len(), Ordering::Release);
        result
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        // Acquire: pairs with the Release of the pushes.
        self.len.load(Ordering::Acquire) == 0
    }

    /// Actors in the lane, roughly.
    pub(super) fn len(&self) -> usize {
        // Relaxed: a rough figure.
        self.len.load(Ordering::Relaxed)
    }
}
