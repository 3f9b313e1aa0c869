//! What the handler of an actor waits for, as far as the wait-for graph has to know.
//!
//! A handler is stuck in a circle of asks only if it waits for nothing but answers: beside a timer or a channel in a
//! `select!` it may go on. What a future waits for cannot be seen from outside, but it has to leave a waker with
//! whatever will wake it, the one of its last poll. So the handler is *inspected*: polled with a waker that is not the
//! one that it knows, and that notes whether it is cloned, or used at once. Asks that the graph sees leave the
//! handler's own instead ([`waker`](super::waker)).
//!
//! ```text
//! an ask has waited for a while -> INSPECT -> poll -> others: nothing follows
//!                                               | none: ALONE, a cycle is searched for -> FOUND -> poll: the ask fails
//! any poll: not ALONE from its beginning
//! ```
//!
//! The search comes after the poll, not inside it: there an ask may be answered, and what comes after it wait for a timer.

use crate::sync::{AtomicU32, Ordering, planted};

/// See the [module](self).
#[derive(Debug)]
pub(crate) struct Awaited(AtomicU32);

/// The next poll is to be inspected.
const INSPECT: u32 = 1 << 31;
/// In the poll that is inspected, something else than an answer was waited for.
const OTHERS: u32 = 1 << 30;
/// Nothing but answers was waited for when the handler was inspected last, and it was not polled since.
const ALONE: u32 = 1 << 29;
/// One of the asks is on a cycle, and about to fail.
const FOUND: u32 = 1 << 28;
/// Answers that the graph does not know of.
const UNSEEN: u32 = FOUND - 1;

// Relaxed everywhere: one thread at a time polls a handler, each acquires what the one before did, and whoever else has to
// know of it is told under the graph's lock: of ALONE when an edge is added or goes, or a cycle is searched for, after it
// was changed.
impl Awaited {
    pub(super) fn new() -> Self {
        Self(AtomicU32::new(0))
    }

    /// The handler begins to wait for an answer.
    pub(super) fn begin_wait(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    /// The wait is over, or the graph knows of it.
    pub(super) fn end_wait(&self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }

    /// Whether the handler waits for answers that the graph does not know of.
    pub(super) fn has_unseen(&self) -> bool {
        self.0.load(Ordering::Relaxed) & UNSEEN > 0
    }

    /// Whether the handler waits for nothing but answers.
    pub(super) fn is_alone(&self) -> bool {
        planted!("waits-others-ignored": self.0.load(Ordering::Relaxed) & ALONE > 0 => true)
    }

    /// Has the next poll of the handler inspected.
    pub(super) fn inspect(&self) {
        // The first poll of a handler is not told of, and an earlier one may have been dropped as it waited.
        self.0.fetch_and(!stale(), Ordering::Relaxed);
        self.0.fetch_or(INSPECT, Ordering::Relaxed);
    }

    /// The handler is about to be polled; `true` if that is to be inspected.
    #[inline]
    pub(super) fn begin_poll(&self) -> bool {
        let now = self.0.load(Ordering::Relaxed);
        now & (INSPECT | ALONE) > 0 && self.begin_marked_poll(now)
    }

    #[cold]
    fn begin_marked_poll(&self, now: u32) -> bool {
        let over = INSPECT | OTHERS | stale();
        self.0.fetch_and(!over, Ordering::Relaxed);
        now & INSPECT > 0
    }

    /// In a poll that is inspected, something else than an answer is waited for.
    pub(crate) fn note_other(&self) {
        self.0.fetch_or(OTHERS, Ordering::Relaxed);
    }

    /// A poll that was inspected is over, and the handler waits; `true` if it does so for nothing but answers.
    pub(super) fn end_inspection(&self) -> bool {
        let is_alone = self.0.load(Ordering::Relaxed) & OTHERS == 0;
        if is_alone {
            self.0.fetch_or(ALONE, Ordering::Relaxed);
        }
        is_alone
    }

    /// One of the handler's asks is on a cycle.
    pub(super) fn note_found(&self) {
        self.0.fetch_or(FOUND, Ordering::Relaxed);
    }

    /// That ask is over.
    pub(super) fn forget_found(&self) {
        self.0.fetch_and(!FOUND, Ordering::Relaxed);
    }

    /// Whether one of the handler's asks is on a cycle.
    pub(super) fn has_found(&self) -> bool {
        self.0.load(Ordering::Relaxed) & FOUND > 0
    }
}

/// What does not outlast the poll after it.
fn stale() -> u32 {
    planted!("waits-alone-stays": ALONE => 0)
}
