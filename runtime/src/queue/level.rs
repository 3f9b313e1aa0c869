//! How full something is: a count with a high and a low mark, which holds back those who can wait.
//!
//! ```text
//! word: | how much is in | ALERT | CLOSED | QUEUED | OVERLOADED |
//! ```
//!
//! Whoever can wait takes a place while there is one below the high mark, and whoever cannot takes one
//! anyway; so the count may pass the mark, but not by those who wait. OVERLOADED is set when the high mark
//! is reached, and cleared when the count has fallen to the low mark and nobody waits. Those who wait stand
//! in a queue and go on, in order and as many as there are places for, once the count has fallen to the
//! *resume* mark: the low one, so that they come in batches, or the high one, so that no place stays empty.
//!
//! Invariants:
//! 1. While QUEUED is set, only those who do not wait take places without the lock.
//! 2. While the lock is free, QUEUED is set exactly if somebody stands in the queue; then OVERLOADED is set.
//! 3. OVERLOADED and QUEUED change under the lock alone, so the two reports alternate.
//! 4. Who waits sets QUEUED by a read-modify-write before it looks at the count for the last time, and who
//!    leaves looks at QUEUED by the very one that subtracts; so one of them sees the other.
//! 5. Who no longer stands in the queue has its places, unless the word says CLOSED.

mod take;

pub(crate) use take::{Places, Take};

use super::permits::Taking;
use super::waiters::Waiters;
use crate::sync::panic::wake_quietly;
use crate::sync::{AtomicUsize, Mutex, Ordering, planted};
use std::task::Waker;

const OVERLOADED: usize = 1;
const QUEUED: usize = 2;
const CLOSED: usize = 4;
const ALERT: usize = 8;
/// One place that is taken.
const ONE: usize = 16;

/// Who is told of a level. The first two are called under its lock, so that they come in order: they must
/// not come back to it.
pub(crate) trait Marks: Copy {
    /// The high mark is reached, or somebody waits.
    fn rose(&self);
    /// The count has fallen to the low mark, and nobody waits.
    fn fell(&self);
    /// Something came in after [`Level::arm`].
    fn alerted(&self);
}

/// Where the marks are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mark {
    /// Who can wait does, rather than pass it.
    pub(crate) high: usize,
    /// At or below it the overload is over.
    pub(crate) low: usize,
    /// At or below it those who wait go on.
    pub(crate) resume: usize,
}

/// What a level shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reading {
    pub(crate) count: usize,
    pub(crate) peak: usize,
    pub(crate) is_overloaded: bool,
}

/// See the [module](self).
#[derive(Debug)]
pub(crate) struct Level {
    word: AtomicUsize,
    /// The greatest count there was.
    peak: AtomicUsize,
    mark: Mark,
    queue: Mutex<Waiters>,
}

impl Level {
    /// The greatest high mark.
    pub(crate) const MAX: usize = usize::MAX / ONE / 2;

    /// An empty level.
    pub(crate) fn new(mark: Mark) -> Self {
        debug_assert!(mark.low < mark.high && mark.high <= Self::MAX, "{mark:?}");
        Self {
            word: AtomicUsize::new(0),
            peak: AtomicUsize::new(0),
            mark,
            queue: Mutex::new(Waiters::default()),
        }
    }

    /// Takes `count` places if they are there, nobody waits, and no overload is on its way down.
    #[inline]
    pub(crate) fn try_take(&self, count: usize, marks: impl Marks) -> Taking {
        // Relaxed: a guess; the exchange decides.
        let mut word = self.word.load(Ordering::Relaxed);
        loop {
            if word & CLOSED != 0 {
                return Taking::Closed;
            }
            if word & QUEUED != 0 || !self.admits(word, count) {
                if word & OVERLOADED == 0 {
                    self.rise(marks);
                }
                return Taking::Short;
            }
            match self.add(word, count) {
                Ok(()) => {
                    self.entered(word, count, marks);
                    return Taking::Taken;
                }
                Err(now) => word = now,
            }
        }
    }

    /// Takes `count` places, above the mark if need be.
    #[inline]
    pub(crate) fn take_anyway(&self, count: usize, marks: impl Marks) {
        // Relaxed: a guess; the exchange decides.
        let mut word = self.word.load(Ordering::Relaxed);
        while let Err(now) = self.add(word, count) {
            word = now;
        }
        self.entered(word, count, marks);
    }

    /// Waits for `count` places, in order; `None` when the level is closed.
    ///
    /// # Cancel safety
    /// Dropping the future gives up the place in the queue and takes nothing.
    pub(crate) fn take<M: Marks>(&self, count: usize, marks: M) -> Take<'_, M> {
        Take { level: self, count, marks, ticket: None }
    }

    /// Leaves `count` places.
    #[inline]
    pub(crate) fn give(&self, count: usize, marks: impl Marks) {
        // AcqRel: releases the use of the places to those who take them; the rendezvous of invariant 4.
        let order = planted!("level-give-relaxed": Ordering::AcqRel => Ordering::Relaxed);
        let before = self.word.fetch_sub(count * ONE, order);
        let left = before / ONE - count;
        let serves = before & QUEUED != 0 && left <= self.mark.resume;
        let falls = before & OVERLOADED != 0 && left <= self.mark.low;
        if planted!("level-unserved": serves || falls => false) {
            self.serve(marks);
        }
    }

    /// Lets [`Marks::alerted`] be called by what comes in next; `true` if something is in already.
    pub(crate) fn arm(&self) -> bool {
        // AcqRel: the rendezvous with `add`.
        self.word.fetch_or(ALERT, Ordering::AcqRel) / ONE > 0
    }

    /// Ends every wait, now and later.
    pub(crate) fn close(&self, marks: impl Marks) {
        // AcqRel: the rendezvous with `queue_up`.
        self.word.fetch_or(CLOSED, Ordering::AcqRel);
        let mut queue = self.queue.lock();
        let waiting = queue.take_all();
        self.settle(&queue, marks);
        drop(queue);
        waiting.for_each(wake_quietly);
    }

    /// Shows how each one who waits is woken, in order; `each` must not come back here.
    pub(crate) fn look_at_waiting(&self, each: impl FnMut(&Waker)) {
        self.queue.lock().look(each);
    }

    /// Whether something is in.
    pub(crate) fn is_occupied(&self) -> bool {
        // Acquire: pairs with the AcqRel in `add`; who was alerted sees what alerted it.
        self.word.load(Ordering::Acquire) / ONE > 0
    }

    /// Whether the high mark was reached, and it is not over yet.
    pub(crate) fn is_overloaded(&self) -> bool {
        // Acquire: pairs with the AcqRel in `rise`; who was woken by it sees it.
        self.word.load(Ordering::Acquire) & OVERLOADED != 0
    }

    /// Whether `count` places are more than there will ever be for those who wait.
    pub(crate) fn is_too_large(&self, count: usize) -> bool {
        count > self.mark.high
    }

    /// What it shows now.
    pub(crate) fn read(&self) -> Reading {
        // Relaxed, both: a look that orders nothing.
        let word = self.word.load(Ordering::Relaxed);
        Reading {
            count: word / ONE,
            peak: self.peak.load(Ordering::Relaxed),
            is_overloaded: word & OVERLOADED != 0,
        }
    }

    /// Whether `count` places are there for who can wait, apart from those who wait already.
    fn admits(&self, word: usize, count: usize) -> bool {
        let used = word / ONE;
        let falls = planted!("level-no-hysteresis": word & OVERLOADED != 0 => false);
        used + count <= self.mark.high && !(falls && used > self.mark.resume)
    }

    /// Adds to the count of `word`, and takes the alert.
    fn add(&self, word: usize, count: usize) -> Result<(), usize> {
        let more = (word & !ALERT) + count * ONE;
        // AcqRel: pairs with the AcqRel in `give`: what the places stood for is over; the rendezvous with
        // `arm`. Relaxed: only a guess again.
        self.word.compare_exchange_weak(word, more, Ordering::AcqRel, Ordering::Relaxed).map(|_| ())
    }

    /// Notes what an addition to the count of `before` means. Not under the lock.
    #[inline]
    fn entered(&self, before: usize, count: usize, marks: impl Marks) {
        let used = before / ONE + count;
        self.note_peak(used);
        if used >= self.mark.high && before & OVERLOADED == 0 {
            self.rise(marks);
        }
        if before & ALERT != 0 {
            marks.alerted();
        }
    }

    #[inline]
    fn note_peak(&self, used: usize) {
        // Relaxed, both: a number to be read, which orders nothing.
        if used > self.peak.load(Ordering::Relaxed) {
            self.peak.fetch_max(used, Ordering::Relaxed);
        }
    }

    /// Sets OVERLOADED, unless the count has fallen meanwhile.
    #[cold]
    fn rise(&self, marks: impl Marks) {
        let _queue = self.queue.lock();
        // Relaxed: a guess; the exchange decides.
        let mut word = self.word.load(Ordering::Relaxed);
        while word & (OVERLOADED | CLOSED) == 0 && word / ONE > self.mark.low {
            let next = word | OVERLOADED;
            // AcqRel: the rendezvous with `give`, which sees the flag or has been seen. Relaxed: a guess.
            match self.word.compare_exchange_weak(word, next, Ordering::AcqRel, Ordering::Relaxed) {
                Ok(_) => return marks.rose(),
                Err(now) => word = now,
            }
        }
    }

    /// Lets those go on who wait, as far as places go, and sees whether the overload is over.
    #[cold]
    fn serve(&self, marks: impl Marks) {
        let mut queue = self.queue.lock();
        let mut served = Vec::new();
        // Acquire: pairs with the AcqRel in `give`.
        if self.word.load(Ordering::Acquire) / ONE <= self.mark.resume {
            while let Some(count) = queue.first()
                && self.grant(count)
            {
                served.extend(queue.pop());
            }
        }
        self.settle(&queue, marks);
        drop(queue);
        served.into_iter().for_each(wake_quietly);
    }

    /// Takes places below the high mark for the one who waits first; the caller holds the lock.
    fn grant(&self, count: usize) -> bool {
        // Relaxed: a guess; the exchange decides.
        let mut word = self.word.load(Ordering::Relaxed);
        while word / ONE + count <= self.mark.high {
            let more = word + count * ONE;
            // AcqRel: as in `add`; the lock releases it to the one who is served. Relaxed: a guess.
            match self.word.compare_exchange_weak(word, more, Ordering::AcqRel, Ordering::Relaxed) {
                Ok(_) => {
                    self.note_peak(more / ONE);
                    return true;
                }
                Err(now) => word = now,
            }
        }
        false
    }

    /// Clears QUEUED if nobody waits, and then OVERLOADED if the count is low; the caller holds the lock.
    fn settle(&self, queue: &Waiters, marks: impl Marks) {
        if !queue.is_empty() {
            return;
        }
        // Relaxed: a guess; the exchange decides.
        let mut word = self.word.load(Ordering::Relaxed);
        loop {
            let falls = word & OVERLOADED != 0 && word / ONE <= self.mark.low;
            let next = word & !(if falls { QUEUED | OVERLOADED } else { QUEUED });
            // AcqRel: those who take places see what was done under the lock; pairs with the one in
            // `add`. Relaxed: a guess.
            match self.word.compare_exchange_weak(word, next, Ordering::AcqRel, Ordering::Relaxed) {
                Ok(_) if falls => return marks.fell(),
                Ok(_) => return,
                Err(now) => word = now,
            }
        }
    }

    /// Stands in the queue, with that ticket, unless it has become needless.
    #[cold]
    fn queue_up(&self, count: usize, waker: &Waker, marks: impl Marks) -> Result<Taking, u64> {
        let mut queue = self.queue.lock();
        // AcqRel: the rendezvous of invariant 4.
        let word = self.word.fetch_or(QUEUED, Ordering::AcqRel);
        let taking = if word & CLOSED != 0 {
            Taking::Closed
        } else if queue.is_empty() && self.admits(word, count) && self.grant(count) {
            Taking::Taken
        } else {
            let ticket = queue.push(count, waker);
            // AcqRel: as in `rise`.
            if self.word.fetch_or(OVERLOADED, Ordering::AcqRel) & OVERLOADED == 0 {
                marks.rose();
            }
            return Err(ticket);
        };
        self.settle(&queue, marks);
        drop(queue);
        // Relaxed: `rise` looks again.
        let word = self.word.load(Ordering::Relaxed);
        if word & OVERLOADED == 0 && word / ONE >= self.mark.high {
            self.rise(marks);
        }
        Ok(taking)
    }

    /// Leaves the queue; if it is served already, gives back.
    #[cold]
    fn give_up(&self, ticket: u64, count: usize, marks: impl Marks) {
        let mut queue = self.queue.lock();
        let gone = queue.remove(ticket);
        drop(queue);
        match gone {
            // Those behind may ask for less.
            Some(gone) => {
                drop(gone);
                self.serve(marks);
            }
            // Who was in the queue when it was closed has nothing.
            None if self.is_closed() => {}
            None => self.give(count, marks),
        }
    }

    fn is_closed(&self) -> bool {
        // Relaxed: nothing is read on the strength of it.
        self.word.load(Ordering::Relaxed) & CLOSED != 0
    }
}

#[cfg(all(test, loom))]
mod model;

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests;
