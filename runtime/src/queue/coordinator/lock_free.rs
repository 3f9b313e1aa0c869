//! One queue that callers and workers share without a lock.

use super::ready::ReadySlots;
use crate::queue::mpmc::Mpmc;

/// One queue without a lock, from which a batch is claimed at once.
///
/// A worker that is interrupted while it claims, or a caller while it registers, delays what lies behind
/// it, not the others: what finds no room meanwhile is kept behind a lock, which may allocate.
#[derive(Debug)]
pub struct LockFree {
    slots: Mpmc,
}

impl LockFree {
    /// Makes a queue with room for all of `slots` slots.
    #[must_use]
    pub fn new(slots: u32) -> Self {
        Self { slots: Mpmc::with_room(slots as usize) }
    }
}

impl ReadySlots for LockFree {
    type End<'a> = ();

    fn end(&self, _: usize) -> Option<()> {
        Some(())
    }

    #[inline]
    fn push(&self, _: Option<&mut ()>, slot: u32) {
        // The queue holds even words.
        self.slots.push(2 * slot as usize);
    }

    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "a slot was put in")]
    fn pop(&self, _: Option<&mut ()>, max: usize, mut take: impl FnMut(u32)) -> usize {
        self.slots.take(max, |word| take((word / 2) as u32))
    }
}
