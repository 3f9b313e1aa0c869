//! A fixed ring of words: its owner pushes and pops, thieves take half.
//!
//! ```text
//!      steal      head            tail
//!        |         |                |
//!  [ . . S  S  S   x  x  x  x  x  x . . ]     S: claimed by a thief that is still copying
//! ```
//!
//! `head` packs two 32-bit positions, `steal` and `head`; they differ only while one thief copies the
//! slots between them. Positions count up and wrap; a slot is `position % CAPACITY`.
//!
//! Invariants:
//! 1. Only the owner writes `tail` and the slots in `tail .. steal + CAPACITY`.
//! 2. A slot is read only by whoever moved `head` past it, and written again only after `steal` has
//!    passed it: slots are claimed before they are read.
//! 3. At most one thief at a time (`steal != head` keeps the others away).
//!
//! The layout is that of tokio's run queue (tokio blog, "Making the Tokio scheduler 10x faster", 2019).

use crate::sync::{AtomicU32, AtomicU64, AtomicUsize, CachePadded, Ordering, planted};

/// Slots; four under the model checkers, so that overflow and wrap-around are reached, and few under Miri, which
/// looks at each of them whenever one is used.
pub(crate) const CAPACITY: u32 = if cfg!(any(loom, shuttle)) {
    4
} else if cfg!(miri) {
    32
} else {
    256
};

/// A ring of non-zero words.
#[derive(Debug)]
pub(crate) struct Ring {
    head: CachePadded<AtomicU64>,
    tail: CachePadded<AtomicU32>,
    slots: Box<[AtomicUsize; CAPACITY as usize]>,
}

fn pack(steal: u32, head: u32) -> u64 {
    u64::from(steal) << 32 | u64::from(head)
}

#[expect(clippy::cast_possible_truncation, reason = "the two halves of a packed word")]
fn unpack(packed: u64) -> (u32, u32) {
    ((packed >> 32) as u32, packed as u32)
}

/// A number of slots, as positions are counted.
#[expect(clippy::cast_possible_truncation, reason = "there are far fewer slots")]
fn narrow(slots: usize) -> u32 {
    slots as u32
}

impl Ring {
    pub(crate) fn new() -> Self {
        Self {
            head: CachePadded(AtomicU64::new(0)),
            tail: CachePadded(AtomicU32::new(0)),
            slots: Box::new(std::array::from_fn(|_| AtomicUsize::new(0))),
        }
    }

    fn slot(&self, position: u32) -> &AtomicUsize {
        &self.slots[(position % CAPACITY) as usize]
    }

    /// Adds `value` at the back, or gives it back when the ring is full. Owner only.
    ///
    /// # Errors
    /// The value, when the ring is full.
    #[inline]
    pub(crate) fn push(&self, value: usize) -> Result<(), usize> {
        // Acquire: pairs with the AcqRel in `steal_into`, so that a slot a thief has left is free.
        let (steal, head) = unpack(self.head.load(Ordering::Acquire));
        let first = planted!("ring-slot-free-early": steal => head);
        // Relaxed: only this thread writes the tail.
        let tail = self.tail.load(Ordering::Relaxed);
        if tail.wrapping_sub(first) >= CAPACITY {
            return Err(value);
        }
        // Relaxed: published by the store of the tail.
        self.slot(tail).store(value, Ordering::Relaxed);
        // Release: publishes the slot; pairs with the Acquire of the tail in `steal_into`.
        let order = planted!("ring-push-relaxed": Ordering::Release => Ordering::Relaxed);
        self.tail.store(tail.wrapping_add(1), order);
        Ok(())
    }

    /// Values that certainly fit. Owner only.
    #[inline]
    pub(crate) fn room(&self) -> usize {
        // Acquire: pairs with the AcqRel in `end_claim`: the slots that thieves have left are free.
        let (steal, _) = unpack(self.head.load(Ordering::Acquire));
        // Relaxed: only this thread writes the tail.
        let taken = self.tail.load(Ordering::Relaxed).wrapping_sub(steal);
        (CAPACITY - taken) as usize
    }

    /// Writes `value` where `ahead` pushes from now would put another one; it is in the ring once it is
    /// [published](Ring::publish). Owner only, and there is [room](Ring::room).
    #[inline]
    pub(crate) fn stage(&self, ahead: usize, value: usize) {
        debug_assert!(ahead < self.room(), "a slot that thieves may read is not the owner's");
        // Relaxed: only this thread writes the tail.
        let tail = self.tail.load(Ordering::Relaxed);
        // Relaxed: published by the store of the tail.
        self.slot(tail.wrapping_add(narrow(ahead))).store(value, Ordering::Relaxed);
    }

    /// Adds the first `count` values that were staged. Owner only.
    #[inline]
    pub(crate) fn publish(&self, count: usize) {
        if count > 0 {
            // Relaxed: only this thread writes the tail.
            let tail = self.tail.load(Ordering::Relaxed).wrapping_add(narrow(count));
            // Release: publishes the slots; pairs with the Acquire of the tail in `claim_half`.
            self.tail.store(tail, Ordering::Release);
        }
    }

    /// Takes the oldest value. Owner only.
    #[inline]
    pub(crate) fn pop(&self) -> Option<usize> {
        // Relaxed: only a guess; the exchange decides.
        let mut packed = self.head.load(Ordering::Relaxed);
        loop {
            let (steal, head) = unpack(packed);
            // Relaxed: only this thread writes the tail.
            if head == self.tail.load(Ordering::Relaxed) {
                return None;
            }
            let next = head.wrapping_add(1);
            let to = if steal == head { pack(next, next) } else { pack(steal, next) };
            if planted!("ring-double-claim": false => true) {
                // Relaxed: part of a planted fault.
                self.head.store(to, Ordering::Relaxed);
                return Some(self.slot(head).load(Ordering::Relaxed));
            }
            // AcqRel: claims the slot against thieves, whose claims of the same word it acquires.
            match self.head.compare_exchange_weak(packed, to, Ordering::AcqRel, Ordering::Relaxed) {
                // Relaxed: this thread wrote the slot, and now owns it.
                Ok(_) => return Some(self.slot(head).load(Ordering::Relaxed)),
                Err(now) => packed = now,
            }
        }
    }

    /// Takes up to `max` of the oldest values out by one claim, oldest first. Owner only. Returns how
    /// many.
    #[inline]
    pub(crate) fn pop_many(&self, max: usize, mut take: impl FnMut(usize)) -> usize {
        let max = u32::try_from(max).unwrap_or(u32::MAX);
        // Relaxed: only a guess; the exchange decides.
        let mut packed = self.head.load(Ordering::Relaxed);
        loop {
            let (steal, head) = unpack(packed);
            // Relaxed: only this thread writes the tail.
            let count = self.tail.load(Ordering::Relaxed).wrapping_sub(head).min(max);
            if count == 0 {
                return 0;
            }
            let next = head.wrapping_add(count);
            let to = if steal == head { pack(next, next) } else { pack(steal, next) };
            // AcqRel: claims the slots against thieves, whose claims of the same word it acquires.
            match self.head.compare_exchange_weak(packed, to, Ordering::AcqRel, Ordering::Relaxed) {
                Ok(_) => {
                    for offset in 0..count {
                        // Relaxed: this thread wrote the slots, and now owns them.
                        take(self.slot(head.wrapping_add(offset)).load(Ordering::Relaxed));
                    }
                    return count as usize;
                }
                Err(now) => packed = now,
            }
        }
    }

    /// Takes the older half out to make room, oldest first. Owner only. Returns how many; zero when
    /// a thief is at work, who makes room as well.
    #[cold]
    pub(crate) fn shed(&self, mut take: impl FnMut(usize)) -> u32 {
        // Relaxed: only a guess; the exchange decides.
        let packed = self.head.load(Ordering::Relaxed);
        let (steal, head) = unpack(packed);
        // Relaxed: only this thread writes the tail.
        let count = self.tail.load(Ordering::Relaxed).wrapping_sub(head) / 2;
        if steal != head || count == 0 {
            return 0;
        }
        let next = head.wrapping_add(count);
        // AcqRel: claims the slots against thieves, whose claims of the same word it acquires.
        if self
            .head
            .compare_exchange(packed, pack(next, next), Ordering::AcqRel, Ordering::Relaxed)
            .is_err()
        {
            return 0;
        }
        for position in 0..count {
            // Relaxed: this thread wrote the slots, and now owns them.
            take(self.slot(head.wrapping_add(position)).load(Ordering::Relaxed));
        }
        count
    }

    /// Moves half of this ring (rounded up) into `to`, which the caller owns and which is at most half full, or else
    /// nothing; the last value moved is returned instead, to be run at once.
    pub(crate) fn steal_into(&self, to: &Self) -> Option<usize> {
        // Relaxed: only the caller writes its own tail.
        let to_tail = to.tail.load(Ordering::Relaxed);
        // Acquire: pairs with the AcqRel in `end_claim`; another thief may still be copying out of
        // the caller's ring, and its slots are not free yet.
        let (to_steal, _) = unpack(to.head.load(Ordering::Acquire));
        if to_tail.wrapping_sub(to_steal) > CAPACITY / 2 {
            return None;
        }
        let (head, count) = self.claim_half()?;
        for offset in 0..count {
            // Relaxed: the claim acquired the slot's content, and the store of `to.tail` below
            // publishes it.
            let value = self.slot(head.wrapping_add(offset)).load(Ordering::Relaxed);
            to.slot(to_tail.wrapping_add(offset)).store(value, Ordering::Relaxed);
        }
        self.end_claim();
        let kept = count - 1;
        // Relaxed: this thread just wrote the slot.
        let first = to.slot(to_tail.wrapping_add(kept)).load(Ordering::Relaxed);
        // Release: publishes the moved slots; pairs with the Acquire of the tail in `claim_half`.
        to.tail.store(to_tail.wrapping_add(kept), Ordering::Release);
        Some(first)
    }

    /// Moves `head` past the older half and leaves `steal` before it.
    fn claim_half(&self) -> Option<(u32, u32)> {
        // Acquire: pairs with the AcqRel of the owner's and other thieves' claims.
        let mut packed = self.head.load(Ordering::Acquire);
        loop {
            let (steal, head) = unpack(packed);
            // Acquire: pairs with the Release in `push`; the slots up to here are written.
            let tail = self.tail.load(Ordering::Acquire);
            let length = tail.wrapping_sub(head);
            // A stale head makes the length absurd; the exchange would fail, so do not try.
            if steal != head || length == 0 || length > CAPACITY {
                return None;
            }
            let count = length - length / 2;
            let to = pack(steal, head.wrapping_add(count));
            // AcqRel: claims the slots against the owner and other thieves.
            match self.head.compare_exchange_weak(packed, to, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => return Some((head, count)),
                Err(now) => packed = now,
            }
        }
    }

    /// Moves `steal` up to `head`: the copied slots are free again.
    fn end_claim(&self) {
        // Relaxed: only a guess; the exchange decides.
        let mut packed = self.head.load(Ordering::Relaxed);
        loop {
            let (_, head) = unpack(packed);
            let to = pack(head, head);
            // AcqRel: releases the reads of the slots to the Acquire in `push`.
            match self.head.compare_exchange_weak(packed, to, Ordering::AcqRel, Ordering::Relaxed) {
                Ok(_) => return,
                Err(now) => packed = now,
            }
        }
    }

    /// Values in the ring. A hint for other threads.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        // Acquire: pairs with the owner's Release, so that a positive length is really there.
        let (_, head) = unpack(self.head.load(Ordering::Acquire));
        let tail = self.tail.load(Ordering::Acquire);
        let length = tail.wrapping_sub(head);
        if length > CAPACITY { 0 } else { length as usize }
    }
}

#[cfg(all(test, loom))]
mod model;

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests;
