//! One queue behind one lock, and the same with a length that is read without it.

use super::ready::ReadySlots;
use crate::sync::{AtomicUsize, Mutex, Ordering};
use std::collections::VecDeque;

/// One queue behind one lock, which is taken once per batch.
#[derive(Debug)]
pub struct Locked {
    slots: Mutex<VecDeque<u32>>,
}

impl Locked {
    /// Makes a queue with room for all of `slots` slots.
    #[must_use]
    pub fn new(slots: u32) -> Self {
        Self { slots: Mutex::new(VecDeque::with_capacity(slots as usize)) }
    }
}

impl ReadySlots for Locked {
    type End<'a> = ();

    fn end(&self, _: usize) -> Option<()> {
        Some(())
    }

    #[inline]
    fn push(&self, _: Option<&mut ()>, slot: u32) {
        self.slots.lock().push_back(slot);
    }

    #[inline]
    fn pop(&self, _: Option<&mut ()>, max: usize, take: impl FnMut(u32)) -> usize {
        let mut slots = self.slots.lock();
        let count = max.min(slots.len());
        slots.drain(..count).for_each(take);
        count
    }
}

/// Where slots are left for workers who look elsewhere first: a queue that is locked only if there is
/// something in it.
#[derive(Debug)]
pub(super) struct Outside {
    slots: Mutex<VecDeque<u32>>,
    /// The queue's length, written under its lock.
    count: AtomicUsize,
}

impl Outside {
    /// With room for `slots` slots.
    pub(super) fn new(slots: usize) -> Self {
        Self { slots: Mutex::new(VecDeque::with_capacity(slots)), count: AtomicUsize::new(0) }
    }

    /// Does something to the queue.
    pub(super) fn change(&self, change: impl FnOnce(&mut VecDeque<u32>)) {
        let mut slots = self.slots.lock();
        change(&mut slots);
        // Relaxed: the lock orders the slots, and this only says where to look.
        self.count.store(slots.len(), Ordering::Relaxed);
    }

    /// Gives up to `max` slots to `take`; how many.
    #[inline]
    pub(super) fn pop(&self, max: usize, take: impl FnMut(u32)) -> usize {
        // Relaxed: who is to find a slot has been told of it, which orders this, too.
        if max == 0 || self.count.load(Ordering::Relaxed) == 0 {
            return 0;
        }
        let mut count = 0;
        self.change(|slots| {
            count = max.min(slots.len());
            slots.drain(..count).for_each(take);
        });
        count
    }
}
