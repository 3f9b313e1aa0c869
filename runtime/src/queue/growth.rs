//! Whether mail comes faster than a receiver's turns take it.
//!
//! Everybody's turn is as long, so a receiver that several others send to in their turns falls behind by all
//! but one of them in every round. Its mailbox grows, its mail leaves the cache before it is handled, and
//! memory has to be got for it first. So a turn that ended with work left, and after which more mail came, is
//! followed by one twice as long; one after which none came, by one half as long. What comes while the receiver
//! runs does not count, as that may be its own: keeping oneself busy would only be a way to get more than the
//! others. Figures are in `book/src/decisions/0022-turns.md`.

use super::pool::BLOCK_ALIGN;
use crate::sync::{AtomicU32, Ordering, planted};

/// Doublings at most.
pub(crate) const DOUBLINGS_MAX: u32 = 6;

/// The bits that count doublings.
const DOUBLINGS_MASK: u32 = 7;

/// What a receiver's turns were like. Written by who runs it.
///
/// ```text
/// | where the mail ended when a turn ended with work left, zero once the next has begun: 29 bits | doublings: 3 |
/// ```
#[derive(Debug)]
pub(super) struct Growth(AtomicU32);

// Relaxed, everywhere: what others read is a hint, and who runs a receiver has acquired what was written before.
impl Growth {
    pub(super) fn new() -> Self {
        Self(AtomicU32::new(0))
    }

    /// How often the length of turns was doubled.
    pub(super) fn doublings(&self) -> u32 {
        self.0.load(Ordering::Relaxed) & DOUBLINGS_MASK
    }

    /// Whether turns are ordinary ones, and the last one left no work.
    #[inline(always)]
    pub(super) fn is_none(&self) -> bool {
        self.0.load(Ordering::Relaxed) == 0
    }

    /// Whether the last turn ended with work left, and the next one has not begun.
    #[inline(always)]
    pub(super) fn is_behind(&self) -> bool {
        self.0.load(Ordering::Relaxed) > DOUBLINGS_MASK
    }

    /// Notes that a turn ended with work left, when the mail ended at the node of that address.
    pub(super) fn note_spent(&self, end: usize) {
        self.0.store(mark(end) | self.doublings(), Ordering::Relaxed);
    }

    /// Works out the length of the turn after one that ended so; the mail ends at that address now.
    pub(super) fn adapt(&self, end: usize) {
        let before = self.0.load(Ordering::Relaxed) & !DOUBLINGS_MASK;
        let grew = planted!("growth-unseen": before != mark(end) => false);
        let doublings = self.doublings();
        let more = (doublings + 1).min(DOUBLINGS_MAX);
        self.0.store(if grew { more } else { doublings.saturating_sub(1) }, Ordering::Relaxed);
    }
}

/// What is kept of a node's address, for which there is little room: enough to tell most of them apart, and
/// never zero.
fn mark(address: usize) -> u32 {
    // Only the lower bits are kept.
    let block = (address >> BLOCK_ALIGN.ilog2()) as u32;
    (block << 1 | 1) << DOUBLINGS_MASK.count_ones()
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests;
