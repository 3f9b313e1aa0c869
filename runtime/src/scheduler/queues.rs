//! What workers take ready actors from: a queue that they share, or each its own.

use super::per_core::{PerCore, Post, Visit};
#[cfg(not(shuttle))]
use super::unsteady::Unsteady;
use super::{Batch, Origin, ReadyQueue, WorkerId};
#[cfg(not(shuttle))]
use crate::sync::WakeList;
use crate::task::{Hint, Ready};

/// See the [module](self).
pub(crate) enum Queues {
    /// One queue, however it is made inside; an idle worker finds there what a busy one has.
    Shared(Box<dyn ReadyQueue>),
    /// Every actor lives on one worker.
    PerCore(PerCore),
}

/// What one worker takes ready actors from: found out once per slice, not for each of them.
#[derive(Clone, Copy)]
pub(super) enum Source<'a> {
    Shared(&'a dyn ReadyQueue),
    PerCore(&'a PerCore, &'a Post),
}

impl Source<'_> {
    /// The next actor to run, for the worker whose source this is. `batch` keeps what was taken with others before
    /// it; `wake` ends another worker's sleep.
    #[inline]
    pub(super) fn next(
        self,
        id: WorkerId,
        batch: &mut Batch,
        wake: &impl Fn(usize),
    ) -> Option<Ready> {
        match self {
            Self::Shared(queue) => batch.pop().or_else(|| queue.pop_first(id, batch)),
            Self::PerCore(queue, post) => queue.next(id, post, wake),
        }
    }
}

impl Queues {
    /// The same queues as a world has them: they take their rare paths more often. `woken` is told of pushes.
    #[cfg(not(shuttle))]
    pub(crate) fn unsteady(self, woken: &WakeList) -> Self {
        match self {
            Self::Shared(queue) => Self::Shared(Box::new(Unsteady::new(queue, woken.clone()))),
            Self::PerCore(queue) => Self::PerCore(queue.within(woken.clone())),
        }
    }

    /// Queues an actor from the worker that ran it or lets it run.
    #[inline]
    pub(super) fn push(&self, id: WorkerId, ready: Ready, hint: Hint) {
        match self {
            Self::Shared(queue) => queue.push(Origin::Worker(id), ready, hint),
            Self::PerCore(queue) => queue.push(id, ready),
        }
    }

    /// Queues an actor that gives way with work left, from the worker that ran it.
    pub(super) fn give_way(&self, id: WorkerId, ready: Ready) {
        match self {
            Self::Shared(queue) => queue.give_way(id, ready),
            Self::PerCore(queue) => queue.push(id, ready),
        }
    }

    /// Says that a slice begins.
    pub(super) fn begin_slice(&self, id: WorkerId) {
        if let Self::PerCore(queue) = self {
            queue.begin_slice(id);
        }
    }

    /// Where the worker takes actors from.
    #[inline]
    pub(super) fn source(&self, id: WorkerId) -> Source<'_> {
        match self {
            Self::Shared(queue) => Source::Shared(&**queue),
            Self::PerCore(queue) => Source::PerCore(queue, queue.post(id)),
        }
    }

    /// Leaves to all what only the worker, who pops nothing for a while, would have taken first.
    pub(super) fn hand_over(&self, id: WorkerId, batch: &mut Batch) {
        if let Self::Shared(queue) = self {
            queue.hand_over(id);
            while let Some(ready) = batch.pop() {
                queue.push(Origin::External, ready, Hint::Back);
            }
        }
    }

    /// Whether any worker could take what is pushed: with homes, an actor is not handed over before its
    /// worker has too much to do.
    #[inline]
    pub(crate) fn are_shared(&self) -> bool {
        matches!(self, Self::Shared(_))
    }

    /// Whether the worker has something to do.
    #[inline]
    pub(super) fn has_work(&self, id: WorkerId) -> bool {
        match self {
            Self::Shared(queue) => queue.has_work(id),
            Self::PerCore(queue) => queue.has_work(id),
        }
    }

    /// How much waits for room at other workers, if the worker has nothing to do but to send it.
    pub(super) fn stuck(&self, id: WorkerId) -> Option<usize> {
        match self {
            Self::Shared(_) => None,
            Self::PerCore(queue) => queue.stuck(id),
        }
    }

    /// Ready actors that wait where a helper could take them from, or from this worker; roughly.
    pub(super) fn backlog(&self, id: WorkerId) -> usize {
        match self {
            Self::Shared(queue) => queue.len(),
            Self::PerCore(queue) => queue.backlog(id),
        }
    }

    /// Whether the worker may sleep, having announced it to others; it has looked for work before.
    pub(super) fn may_sleep(&self, id: WorkerId) -> bool {
        match self {
            Self::Shared(queue) => !queue.has_work(id),
            Self::PerCore(queue) => !queue.has_work(id) && queue.fall_asleep(id),
        }
    }

    /// Says whether the worker looks for work, and has none.
    pub(super) fn set_searching(&self, id: WorkerId, searches: bool) {
        if let Self::PerCore(queue) = self {
            queue.set_searching(id, searches);
        }
    }

    /// Whether nothing is on its way between workers, all of which sleep.
    pub(super) fn is_at_rest(&self) -> bool {
        match self {
            Self::Shared(_) => true,
            Self::PerCore(queue) => queue.is_at_rest(),
        }
    }

    /// The worker is awake again.
    pub(super) fn wake_up(&self, id: WorkerId) {
        if let Self::PerCore(queue) = self {
            queue.wake_up(id);
        }
    }

    /// Whose mail alone has come to the worker, where each actor lives on one. A hint.
    pub(super) fn visit(&self, id: WorkerId) -> Option<Visit> {
        match self {
            Self::Shared(_) => None,
            Self::PerCore(queue) => queue.visit(id),
        }
    }

    /// Lets the actors that have become ready live on worker `host`, where each lives on one.
    pub(super) fn gather(&self, id: WorkerId, host: usize, wake: &impl Fn(usize)) {
        if let Self::PerCore(queue) = self {
            queue.gather(id, host, wake);
        }
    }
}
