//! How others tell a worker that they have left something, and whether it has to be woken for that.
//!
//! ```text
//! | SLEEPING | EXTERNAL | a bit per worker: its ring has something new |
//! ```
//!
//! Invariants:
//! 1. Whoever leaves something sets its bit afterwards, by a read-modify-write; the owner takes all bits
//!    before it looks into what they stand for. So nothing is left behind without a bit.
//! 2. The owner sets SLEEPING only in place of zero, by a read-modify-write: either it sees the bit of
//!    a sender, or the sender sees that it sleeps, and wakes it.

use crate::sync::{AtomicU64, Ordering, planted};

const SLEEPING: u64 = 1 << 63;
/// The bit of whoever is no worker.
pub(crate) const EXTERNAL: u64 = 1 << 62;

/// Workers that have a bit of their own.
pub(crate) const WORKERS_MAX: usize = 62;

/// See the [module](self).
#[derive(Debug)]
pub(crate) struct Signal {
    word: AtomicU64,
}

impl Signal {
    pub(crate) fn new() -> Self {
        Self { word: AtomicU64::new(0) }
    }

    /// Says that something was left; `true` if the owner sleeps and the caller must wake it.
    #[must_use]
    pub(crate) fn raise(&self, bit: u64) -> bool {
        // AcqRel: releases what was left to `take`; the rendezvous with `fall_asleep`.
        let order = planted!("signal-raise-relaxed": Ordering::AcqRel => Ordering::Relaxed);
        self.word.fetch_or(bit, order) & SLEEPING != 0
    }

    /// Whether something was left. A hint. Owner only.
    #[inline]
    pub(crate) fn is_raised(&self) -> bool {
        // `take` acquires, and `fall_asleep` decides.
        self.left() != 0
    }

    /// The bits of all who left something. Owner only.
    pub(crate) fn take(&self) -> u64 {
        // AcqRel: acquires what was left before the bits were set.
        planted!("signal-bit-lost": self.word.swap(0, Ordering::AcqRel) => {
            let taken = self.word.load(Ordering::Acquire);
            self.word.store(0, Ordering::Release);
            taken
        }) & !SLEEPING
    }

    /// Announces that the owner sleeps; `false` if something was left. Owner only.
    #[must_use]
    pub(crate) fn fall_asleep(&self) -> bool {
        // AcqRel: the rendezvous with `raise`; releases what the owner did to `is_at_rest`.
        planted!(
            "signal-sleep-by-store":
            self.word.compare_exchange(0, SLEEPING, Ordering::AcqRel, Ordering::Relaxed).is_ok()
            => {
                let nothing = self.word.load(Ordering::Acquire) == 0;
                if nothing {
                    self.word.store(SLEEPING, Ordering::Relaxed);
                }
                nothing
            }
        )
    }

    /// Takes the announcement back. Owner only.
    pub(crate) fn wake(&self) {
        // AcqRel: acquires what those released who saw the owner asleep.
        self.word.fetch_and(!SLEEPING, Ordering::AcqRel);
    }

    /// The bits of all who have left something. A hint.
    #[inline]
    pub(crate) fn left(&self) -> u64 {
        // Relaxed: a hint.
        self.word.load(Ordering::Relaxed) & !SLEEPING
    }

    /// Whether the owner sleeps. A hint.
    pub(crate) fn sleeps(&self) -> bool {
        // Relaxed: a hint.
        self.word.load(Ordering::Relaxed) & SLEEPING != 0
    }

    /// Whether the owner sleeps and has taken everything that was left: it has no mail on the way to
    /// anybody, and will know, when it wakes, what the caller did before.
    pub(crate) fn is_at_rest(&self) -> bool {
        // AcqRel: the rendezvous with `fall_asleep` and `wake`.
        self.word.compare_exchange(SLEEPING, SLEEPING, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    }
}

#[cfg(all(test, loom))]
mod model;
