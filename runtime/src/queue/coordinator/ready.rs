//! What a coordinator stands on: a queue of slots, and the workers' own ends of it.

use super::{Coordinator, Handled, InvokeResult, MailboxIndex, Registered};
use std::fmt::Debug;
use std::time::Duration;

/// A queue of slots, for a [`Coordinator`].
///
/// A slot is in it at most once, so a queue never holds more than there are slots. Every slot that is
/// pushed is popped once, by some call; none waits for ever while others are popped. A slot that is popped
/// without having been pushed is not run.
pub trait ReadySlots: Send + Sync + Debug {
    /// What a worker has to itself; dropping it gives the worker's place back.
    type End<'a>: Debug
    where
        Self: 'a;

    /// The end of worker `worker`: `None` if that is taken, or out of range.
    fn end(&self, worker: usize) -> Option<Self::End<'_>>;

    /// Takes `slot` in, from a worker or from anyone else.
    fn push(&self, from: Option<&mut Self::End<'_>>, slot: u32);

    /// Gives up to `max` slots to `take`, for a worker or for nobody in particular; how many.
    /// Zero says that there was none, as far as could be seen.
    fn pop(&self, at: Option<&mut Self::End<'_>>, max: usize, take: impl FnMut(u32)) -> usize;
}

impl<Q: ReadySlots> Coordinator<Q> {
    /// Makes the caller worker `id`: `None` if that is taken, or out of range. Any number is in range
    /// where workers have nothing of their own.
    #[must_use]
    pub fn worker(&self, id: usize) -> Option<Worker<'_, Q>> {
        let end = self.ready.end(id)?;
        Some(Worker { coordinator: self, end })
    }
}

/// A worker's hold on its own end of the queue: the calls of a [`Coordinator`], by the short way.
#[derive(Debug)]
pub struct Worker<'a, Q: ReadySlots> {
    coordinator: &'a Coordinator<Q>,
    end: Q::End<'a>,
}

impl<Q: ReadySlots> Worker<'_, Q> {
    /// As [`Coordinator::register_ready`], into this worker's own queue.
    #[inline]
    pub fn register_ready(&mut self, index: MailboxIndex) -> Registered {
        self.coordinator.register(Some(&mut self.end), index)
    }

    /// As [`Coordinator::drain_ready_cycle`], from this worker's own queue, and from wherever else the
    /// queue's kind lets it look.
    #[inline]
    pub fn drain_ready_cycle(&mut self, max: usize, out: &mut Vec<MailboxIndex>) -> usize {
        self.coordinator.drain(Some(&mut self.end), max, out)
    }

    /// As [`Coordinator::handle_invoke_result`], into this worker's own queue.
    #[inline]
    pub fn handle_invoke_result(
        &mut self,
        index: MailboxIndex,
        result: InvokeResult,
        now: Duration,
    ) -> Handled {
        self.coordinator.handle(Some(&mut self.end), index, result, now)
    }
}
