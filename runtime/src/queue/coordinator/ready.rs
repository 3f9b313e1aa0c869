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
    ///
    /// The work of each mailbox lies behind a lock here: it is put there before the registration, and taken after the
    /// drain. So whoever puts something there too late for a run finds the mailbox running, which is noted. The
    /// mailboxes of the first half pass on what they get to those of the second half.
    ///
    /// ```
    /// use greenroom::queue::coordinator::{Coordinator, InvokeResult, MailboxIndex, ReadySlots};
    /// use std::collections::VecDeque;
    /// use std::sync::Mutex;
    /// use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
    /// use std::{mem, thread, time::Duration};
    ///
    /// const NUMBERS: u64 = 1_000;
    ///
    /// fn sum_of_doubles(coordinator: &Coordinator<impl ReadySlots>) -> u64 {
    ///     let inboxes: [Mutex<VecDeque<u64>>; 8] = Default::default();
    ///     let put = |slot: u32, number| {
    ///         inboxes[slot as usize].lock().unwrap().push_back(number);
    ///         MailboxIndex { slot, generation: 0 }
    ///     };
    ///     let (added, sum) = (AtomicU64::new(0), AtomicU64::new(0));
    ///     let work = |id| {
    ///         let mut worker = coordinator.worker(id).expect("each is made once");
    ///         let mut batch = Vec::with_capacity(32);
    ///         while added.load(Relaxed) < NUMBERS {
    ///             if worker.drain_ready_cycle(32, &mut batch) == 0 {
    ///                 thread::yield_now();
    ///             }
    ///             for mailbox in batch.drain(..) {
    ///                 let numbers = mem::take(&mut *inboxes[mailbox.slot as usize].lock().unwrap());
    ///                 for number in numbers {
    ///                     if mailbox.slot < 4 {
    ///                         worker.register_ready(put(7 - mailbox.slot, 2 * number));
    ///                     } else {
    ///                         sum.fetch_add(number, Relaxed);
    ///                         added.fetch_add(1, Relaxed);
    ///                     }
    ///                 }
    ///                 let done = InvokeResult::Completed { ready_hint: false };
    ///                 worker.handle_invoke_result(mailbox, done, Duration::ZERO);
    ///             }
    ///         }
    ///     };
    ///     thread::scope(|scope| {
    ///         let work = &work;
    ///         (0..2).for_each(|id| drop(scope.spawn(move || work(id))));
    ///         // Whoever is no worker registers with the coordinator.
    ///         for number in 1..=NUMBERS {
    ///             coordinator.register_ready(put(number as u32 % 4, number));
    ///         }
    ///     });
    ///     sum.into_inner()
    /// }
    ///
    /// assert_eq!(sum_of_doubles(&Coordinator::stealing(8, 2)), NUMBERS * (NUMBERS + 1));
    /// assert_eq!(sum_of_doubles(&Coordinator::per_core(8, 2)), NUMBERS * (NUMBERS + 1));
    /// ```
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
