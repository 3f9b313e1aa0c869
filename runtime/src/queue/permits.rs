//! A number of permits: who takes some leaves fewer, and who finds too few waits for its turn.
//!
//! ```text
//! word: | free permits | CLOSED | QUEUED |
//! ```
//!
//! Taking and giving are one read-modify-write each while nobody waits. Those who wait stand in a queue
//! behind a lock and are served in order, whatever they ask for; nobody takes permits past them.
//!
//! Invariants:
//! 1. While QUEUED is set, permits are taken under the lock alone. They may be given at any time.
//! 2. While the lock is free, QUEUED is set exactly if somebody stands in the queue.
//! 3. Who waits sets QUEUED by a read-modify-write before it looks at the count for the last time, and who
//!    gives looks at QUEUED by the very one that adds: so the one finds the permits, or the other finds
//!    that it has to serve.
//! 4. Who no longer stands in the queue has its permits, unless the word says CLOSED.

use super::waiters::{Waiters, still_waits};
use crate::sync::panic::wake_quietly;
use crate::sync::{AtomicUsize, Mutex, Ordering, planted};
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

const QUEUED: usize = 1;
const CLOSED: usize = 2;
/// One free permit.
const ONE: usize = 4;

/// What became of a wish for permits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Taking {
    /// They are the caller's.
    Taken,
    /// There are too few, or others wait.
    Short,
    /// There will be none any more.
    Closed,
}

/// See the [module](self).
#[derive(Debug)]
pub(crate) struct Permits {
    word: AtomicUsize,
    queue: Mutex<Waiters>,
}

impl Permits {
    /// The most that there can be, given back ones included.
    pub(crate) const MAX: usize = u32::MAX as usize / ONE / 2;

    /// So many free permits.
    pub(crate) fn new(count: usize) -> Self {
        Self { word: AtomicUsize::new(count * ONE), queue: Mutex::new(Waiters::default()) }
    }

    /// Takes `count` permits if they are free and nobody waits.
    #[inline]
    pub(crate) fn try_take(&self, count: usize) -> Taking {
        // Relaxed: a guess; the exchange decides.
        let mut word = self.word.load(Ordering::Relaxed);
        loop {
            if word & CLOSED != 0 {
                return Taking::Closed;
            }
            if word & QUEUED != 0 || word / ONE < count {
                return Taking::Short;
            }
            let fewer = word - count * ONE;
            // Acquire: pairs with the AcqRel in `give`: what the permits stood for is over. Relaxed: only
            // a guess again.
            match self.word.compare_exchange_weak(word, fewer, Ordering::Acquire, Ordering::Relaxed)
            {
                Ok(_) => return Taking::Taken,
                Err(now) => word = now,
            }
        }
    }

    /// Waits for `count` permits, in order; `None` when there will be none any more.
    ///
    /// # Cancel safety
    /// Dropping the future gives up the place in the queue and takes nothing.
    pub(crate) fn take(&self, count: usize) -> Take<'_> {
        Take { permits: self, count, ticket: None }
    }

    /// Gives `count` permits back, and wakes who can go on with them.
    #[inline]
    pub(crate) fn give(&self, count: usize) {
        // AcqRel: releases the use of the permits to those who take them; the rendezvous of invariant 3.
        let order = planted!("permits-give-relaxed": Ordering::AcqRel => Ordering::Relaxed);
        let before = self.word.fetch_add(count * ONE, order);
        if before & QUEUED != 0 {
            self.serve();
        }
    }

    /// Gives permits to those who wait, as far as they go.
    #[cold]
    fn serve(&self) {
        while let Some(waker) = self.serve_first() {
            wake_quietly(waker);
        }
    }

    fn serve_first(&self) -> Option<Waker> {
        let mut queue = self.queue.lock();
        let count = queue.first()?;
        // Acquire: pairs with the AcqRel in `give`. There may be more by now, but not fewer: invariant 1.
        if self.word.load(Ordering::Acquire) / ONE < count {
            return None;
        }
        // Relaxed: acquired above; the lock releases it to the one who is served.
        self.word.fetch_sub(count * ONE, Ordering::Relaxed);
        let first = queue.pop();
        self.leave_empty(&queue);
        first
    }

    /// Clears QUEUED if nobody waits; the caller holds the lock.
    fn leave_empty(&self, queue: &Waiters) {
        if queue.is_empty() {
            // Release: those who take permits see what was done under the lock; pairs with the Acquire in
            // `try_take`.
            self.word.fetch_and(!QUEUED, Ordering::Release);
        }
    }

    /// Ends every wait, now and later.
    pub(crate) fn close(&self) {
        // AcqRel: the rendezvous with `queue_up`, as for permits that are given.
        self.word.fetch_or(CLOSED, Ordering::AcqRel);
        let mut queue = self.queue.lock();
        let waiting = queue.take_all();
        self.leave_empty(&queue);
        drop(queue);
        waiting.for_each(wake_quietly);
    }

    /// Stands in the queue, with that ticket, unless it has become needless.
    #[cold]
    fn queue_up(&self, count: usize, waker: &Waker) -> Result<Taking, u64> {
        let mut queue = self.queue.lock();
        // AcqRel: the rendezvous of invariant 3.
        let word = planted!(
            "permits-unannounced":
            self.word.fetch_or(QUEUED, Ordering::AcqRel)
            => {
                let word = self.word.load(Ordering::Acquire);
                self.word.fetch_or(QUEUED, Ordering::AcqRel);
                word
            }
        );
        if word & CLOSED == 0 && (!queue.is_empty() || word / ONE < count) {
            return Err(queue.push(count, waker));
        }
        let taking = if word & CLOSED == 0 { Taking::Taken } else { Taking::Closed };
        if taking == Taking::Taken {
            // Relaxed: acquired above, and nobody else takes any: invariant 1.
            self.word.fetch_sub(count * ONE, Ordering::Relaxed);
        }
        self.leave_empty(&queue);
        Ok(taking)
    }

    /// Leaves the queue; if it is served already, gives back.
    #[cold]
    fn give_up(&self, ticket: u64, count: usize) {
        let mut queue = self.queue.lock();
        let gone = queue.remove(ticket);
        self.leave_empty(&queue);
        drop(queue);
        match gone {
            // Those behind may ask for less.
            Some(gone) => {
                drop(gone);
                self.serve();
            }
            None => planted!("permits-kept": self.give(count) => ()),
        }
    }

    /// Whether somebody waits.
    pub(crate) fn is_waited_for(&self) -> bool {
        // Acquire: pairs with the AcqRel in `queue_up`.
        self.word.load(Ordering::Acquire) & QUEUED != 0
    }

    /// Shows how each one who waits is woken, in order; `each` must not come back here.
    pub(crate) fn look_at_waiting(&self, each: impl FnMut(&Waker)) {
        self.queue.lock().look(each);
    }

    /// Whether [`close`](Self::close) was called.
    fn is_closed(&self) -> bool {
        // Relaxed: nothing is read on the strength of it.
        self.word.load(Ordering::Relaxed) & CLOSED != 0
    }
}

/// A wait for permits.
#[derive(Debug)]
pub(crate) struct Take<'a> {
    permits: &'a Permits,
    count: usize,
    /// The place in the queue, until it is known to be served.
    ticket: Option<u64>,
}

impl<'a> Future for Take<'a> {
    type Output = Option<Permit<'a>>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let (permits, count) = (self.permits, self.count);
        let taking = match self.ticket {
            Some(ticket) if still_waits(&permits.queue, ticket, cx.waker()) => {
                return Poll::Pending;
            }
            Some(_) if permits.is_closed() => Taking::Closed,
            Some(_) => Taking::Taken,
            None => match permits.try_take(count) {
                Taking::Short => match permits.queue_up(count, cx.waker()) {
                    Ok(taking) => taking,
                    Err(ticket) => {
                        self.ticket = Some(ticket);
                        return Poll::Pending;
                    }
                },
                taking => taking,
            },
        };
        self.ticket = None;
        Poll::Ready((taking == Taking::Taken).then(|| Permit { permits, count }))
    }
}

impl Drop for Take<'_> {
    fn drop(&mut self) {
        if let Some(ticket) = self.ticket {
            self.permits.give_up(ticket, self.count);
        }
    }
}

/// Permits that go back when this is dropped.
#[derive(Debug)]
pub(crate) struct Permit<'a> {
    permits: &'a Permits,
    count: usize,
}

impl Permit<'_> {
    /// Takes them away; whoever has them gives them back by [`Permits::give`].
    pub(crate) fn keep(mut self) {
        self.count = 0;
    }
}

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        if self.count > 0 {
            self.permits.give(self.count);
        }
    }
}

#[cfg(all(test, loom))]
mod model;

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests;
