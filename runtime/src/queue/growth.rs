//! Whether mail comes faster than a receiver's turns take it.
//!
//! Everybody's turn is as long, so a receiver that several others send to in their turns falls behind by all
//! but one of them in every round. Its mailbox grows, its mail leaves the cache before it is handled, and
//! memory has to be got for it first. So a turn that was used up, and after which more mail came, is followed
//! by one twice as long. Mail that an actor sends to itself comes while it runs and does not count: that would
//! only be a way to get more than the others. Figures are in `book/src/decisions/0022-turns.md`.

use crate::sync::{AtomicU32, Ordering, planted};

/// Doublings at most.
pub(crate) const DOUBLINGS_MAX: u32 = 6;

/// The bits that count doublings.
const DOUBLINGS: u32 = 7;

/// What a receiver's turns were like. Written by who runs it.
///
/// ```text
/// | where the mail ended when a turn was used up, zero after other turns: 29 bits | doublings: 3 bits |
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
        self.0.load(Ordering::Relaxed) & DOUBLINGS
    }

    /// Whether the last turn was used up, and the next one has not begun.
    #[inline(always)]
    pub(super) fn is_behind(&self) -> bool {
        self.0.load(Ordering::Relaxed) > DOUBLINGS
    }

    /// Notes that a turn was used up, when the mail ended at the node of that address.
    pub(super) fn note_spent(&self, end: usize) {
        self.0.store(mark(end) | self.doublings(), Ordering::Relaxed);
    }

    /// Works out the length of the next turn after one that was used up; the mail ends at that address now.
    pub(super) fn adapt(&self, end: usize) {
        let before = self.0.load(Ordering::Relaxed) & !DOUBLINGS;
        let grew = planted!("growth-unseen": before != mark(end) => false);
        let more = (self.doublings() + 1).min(DOUBLINGS_MAX);
        self.0.store(if grew { more } else { 0 }, Ordering::Relaxed);
    }
}

/// What is kept of a node's address, for which there is little room: enough to tell most of them apart, and
/// never zero.
fn mark(address: usize) -> u32 {
    let bits = u32::try_from((address >> 5) & 0xFFF_FFFF).unwrap_or(0);
    (bits << 1 | 1) << DOUBLINGS.count_ones()
}
