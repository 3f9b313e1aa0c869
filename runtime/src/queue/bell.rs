//! A place for one waker: one side waits, one side rings, and no ring is lost.
//!
//! ```text
//! word   meaning                          set by
//! 0      nobody waits                     ringer, or the waiter that thinks better of it
//! 1, 2   a waker is in that cell          waiter
//! ```
//!
//! Steps:
//! 1. The ringer changes what the waiter waits for, then takes the word by a swap ([`Bell::ring`]).
//! 2. The waiter puts its waker into a cell, then names the cell by a swap ([`Waiter::wait`]), looks
//!    once more at what it waits for, and only then rests.
//!
//! Both swap the same word, so one comes first: either the ringer finds the waker, or the waiter's
//! second look finds the change.
//!
//! Invariants:
//! 1. Who swaps a cell's number out of the word owns the cell and the waker in it.
//! 2. The cell that the waiter will use next is empty, and not being read: when the ringer took one
//!    cell, it was done with the other.

use crate::sync::panic::wake_quietly;
use crate::sync::{AtomicUsize, Ordering, UnsafeCell, planted};
use std::task::Waker;

/// Where a waker is left.
#[derive(Debug)]
pub(crate) struct Bell {
    word: AtomicUsize,
    cells: [UnsafeCell<Option<Waker>>; 2],
}

/// The waiting side's knowledge of the bell.
#[derive(Debug, Default)]
pub(crate) struct Waiter {
    /// The cell that is in the word, or will be next.
    cell: usize,
    /// Whether this side put the cell's number into the word and has not taken it back.
    waits: bool,
}

// SAFETY: a cell is one side's at a time, and swaps of the word order the hand-over.
unsafe impl Sync for Bell {}

impl Bell {
    pub(crate) fn new() -> Self {
        Self { word: AtomicUsize::new(0), cells: [UnsafeCell::new(None), UnsafeCell::new(None)] }
    }

    /// Wakes the waiter, if it waits.
    ///
    /// # Safety
    /// One thread at a time rings, after it has changed what the waiter looks at.
    #[inline]
    pub(crate) unsafe fn ring(&self) {
        // AcqRel: releases the change to the waiter's next swap, or acquires the waker it left.
        let order = planted!("bell-ring-relaxed": Ordering::AcqRel => Ordering::Relaxed);
        let named = self.word.swap(0, order);
        if named != 0 {
            // SAFETY: by invariant 1 the cell is the ringer's.
            if let Some(waker) = unsafe { self.take(named - 1) } {
                wake_quietly(waker);
            }
        }
    }

    /// # Safety
    /// The cell is the caller's.
    #[cold]
    unsafe fn take(&self, cell: usize) -> Option<Waker> {
        // SAFETY: the caller's promise.
        self.cells[cell].with_mut(|place| unsafe { (*place).take() })
    }
}

impl Waiter {
    /// Leaves `waker` behind, to be woken by the next ring. The caller looks again after this.
    ///
    /// # Safety
    /// The waiter is used with one bell alone, and is that bell's only one.
    pub(crate) unsafe fn wait(&mut self, bell: &Bell, waker: &Waker) {
        // SAFETY: the caller's promise.
        let old = unsafe { self.leave(bell) };
        let waker = match old {
            Some(old) if old.will_wake(waker) => old,
            _ => waker.clone(),
        };
        // SAFETY: by invariant 2 the cell is the waiter's, and empty.
        bell.cells[self.cell].with_mut(|place| unsafe { *place = Some(waker) });
        // AcqRel: releases the waker to the ringer's swap; acquires the change of a ringer that came
        // before.
        bell.word.swap(self.cell + 1, Ordering::AcqRel);
        self.waits = true;
    }

    /// Takes the waker back, if it is still there.
    ///
    /// # Safety
    /// As [`Waiter::wait`].
    pub(crate) unsafe fn leave(&mut self, bell: &Bell) -> Option<Waker> {
        if !std::mem::take(&mut self.waits) {
            return None;
        }
        // AcqRel: pairs with the ringer's swap, whose change or whose use of the other cell this
        // acquires.
        if bell.word.swap(0, Ordering::AcqRel) == 0 {
            self.cell = 1 - self.cell;
            return None;
        }
        // SAFETY: by invariant 1 the cell is the waiter's again.
        unsafe { bell.take(self.cell) }
    }
}

#[cfg(all(test, loom))]
mod model;
