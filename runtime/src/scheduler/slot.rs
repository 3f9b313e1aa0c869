//! Room for one word beside a ring, which its owner fills, and whoever comes first empties.
//!
//! Invariants:
//! 1. Only the owner fills it, so one that it finds empty stays empty.
//! 2. A word is taken out by a swap, so once.

use crate::sync::{AtomicUsize, CachePadded, Ordering, planted};

/// See the [module](self). Zero stands for no word.
#[derive(Debug)]
pub(crate) struct Slot(CachePadded<AtomicUsize>);

impl Slot {
    pub(crate) fn new() -> Self {
        Self(CachePadded(AtomicUsize::new(0)))
    }

    /// Puts in a word, which is not zero; returns the one that it displaces. Owner only.
    #[inline]
    pub(crate) fn put(&self, word: usize) -> Option<usize> {
        // Acquire: pairs with the AcqRel of a thief's swap.
        if self.0.load(Ordering::Acquire) == 0 {
            // Release: hands what the word stands for to whoever swaps it out; pairs with `take`.
            let order = planted!("stealing-slot-relaxed": Ordering::Release => Ordering::Relaxed);
            self.0.store(word, order);
            return None;
        }
        // AcqRel: the same, and acquires the one that it displaces.
        let order = planted!("stealing-slot-swap-relaxed": Ordering::AcqRel => Ordering::Relaxed);
        Some(self.0.swap(word, order)).filter(|&word| word != 0)
    }

    /// Takes the word out, if there is one.
    #[inline]
    pub(crate) fn take(&self) -> Option<usize> {
        // Relaxed: only a guess; the swap decides.
        if self.0.load(Ordering::Relaxed) == 0 {
            return None;
        }
        // AcqRel: acquires what was released by `put`; thieves compete by the same swap.
        let word = planted!("stealing-slot-copied": self.0.swap(0, Ordering::AcqRel)
            => self.0.load(Ordering::Acquire));
        Some(word).filter(|&word| word != 0)
    }

    /// Whether nothing is in it.
    pub(crate) fn is_empty(&self) -> bool {
        // Acquire: pairs with `put`.
        self.0.load(Ordering::Acquire) == 0
    }
}

#[cfg(all(test, loom))]
mod model;
