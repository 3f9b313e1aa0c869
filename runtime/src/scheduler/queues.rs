//! What workers take ready actors from: a queue that they share, or each its own.

use super::per_core::PerCore;
use super::{Batch, Origin, ReadyQueue, WorkerId};
use crate::task::{Hint, Ready};

/// See the [module](self).
pub(crate) enum Queues {
    /// One queue, however it is made inside; an idle worker finds there what a busy one has.
    Shared(Box<dyn ReadyQueue>),
    /// Every actor lives on one worker.
    PerCore(PerCore),
}

impl Queues {
    /// Queues an actor from the worker that ran it or lets it run.
    #[inline]
    pub(super) fn push(&self, id: WorkerId, ready: Ready, hint: Hint) {
        match self {
            Self::Shared(queue) => queue.push(Origin::Worker(id), ready, hint),
            Self::PerCore(queue) => queue.push(id, ready),
        }
    }

    /// Moves actors to run into `batch`, which is empty; `wake` ends another worker's sleep.
    #[inline]
    pub(super) fn pop(&self, id: WorkerId, batch: &mut Batch, wake: &impl Fn(usize)) {
        match self {
            Self::Shared(queue) => queue.pop(id, batch),
            Self::PerCore(queue) => queue.pop(id, batch, wake),
        }
    }

    /// Whether the worker has something to do.
    #[inline]
    pub(super) fn has_work(&self, id: WorkerId) -> bool {
        match self {
            Self::Shared(queue) => queue.has_work(id),
            Self::PerCore(queue) => queue.has_work(id),
        }
    }

    /// Whether the worker may sleep, having announced it to others; it has looked for work before.
    pub(super) fn may_sleep(&self, id: WorkerId) -> bool {
        match self {
            Self::Shared(queue) => !queue.has_work(id),
            Self::PerCore(queue) => !queue.has_work(id) && queue.fall_asleep(id),
        }
    }

    /// The worker is awake again.
    pub(super) fn wake_up(&self, id: WorkerId) {
        if let Self::PerCore(queue) = self {
            queue.wake_up(id);
        }
    }
}
