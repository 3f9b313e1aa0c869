//! What both ends of a ring share: the slots, two published positions, and who has left.

use super::layout::Layout;
use crate::sync::{AtomicUsize, CachePadded, Ordering, UnsafeCell, planted};
use std::mem::MaybeUninit;
use std::ptr::NonNull;

/// Of one slot alone an empty ring would have no room before the receiver looks again.
const SLOTS_MIN: usize = 2;

/// More would be no mistake but one of the caller's, and slots without a size would cost nothing but the time to make them.
const SLOTS_MAX: usize = 1 << 31;

const SENDER_LEFT: usize = 1;
const RECEIVER_LEFT: usize = 2;

struct Slot<T, L> {
    mark: L,
    value: UnsafeCell<MaybeUninit<T>>,
}

/// The ring. Its three words lie on lines of their own: one written by the sender, one by the
/// receiver, and one that changes only when an end leaves.
pub(super) struct Shared<T, L: Layout> {
    tail: CachePadded<AtomicUsize>,
    head: CachePadded<AtomicUsize>,
    left: CachePadded<AtomicUsize>,
    slots: Box<[Slot<T, L>]>,
}

// SAFETY: a slot belongs to one end at a time, and published positions or marks order the hand-over.
unsafe impl<T: Send, L: Layout> Sync for Shared<T, L> {}

impl<T, L: Layout> Shared<T, L> {
    pub(super) fn new(capacity: usize) -> Self {
        let capacity =
            capacity.max(SLOTS_MIN).checked_next_power_of_two().expect("a capacity in reach");
        let slot = |_| Slot { mark: L::new(), value: UnsafeCell::new(MaybeUninit::uninit()) };
        let mut slots = Vec::new();
        slots.try_reserve_exact(capacity).expect("memory for the ring");
        assert!(capacity <= SLOTS_MAX, "a capacity in reach");
        slots.extend((0..capacity).map(slot));
        Self {
            tail: CachePadded(AtomicUsize::new(0)),
            head: CachePadded(AtomicUsize::new(0)),
            left: CachePadded(AtomicUsize::new(0)),
            slots: slots.into_boxed_slice(),
        }
    }

    pub(super) fn slots(&self) -> Slots<T, L> {
        Slots { first: NonNull::from(&*self.slots).cast(), mask: self.slots.len() - 1 }
    }

    pub(super) fn memory_bytes(&self) -> usize {
        size_of::<Self>() + size_of_val(&*self.slots)
    }

    #[inline]
    pub(super) fn tail(&self) -> usize {
        // Acquire: pairs with the Release in `publish_tail`; the values before it are written.
        self.tail.load(Ordering::Acquire)
    }

    #[inline]
    pub(super) fn publish_tail(&self, tail: usize) {
        // Release: publishes the values; pairs with the Acquire in `tail`.
        let order = planted!("spsc-tail-relaxed": Ordering::Release => Ordering::Relaxed);
        self.tail.store(tail, order);
    }

    #[inline]
    pub(super) fn head(&self) -> usize {
        // Acquire: pairs with the Release in `publish_head`; the slots before it are empty.
        self.head.load(Ordering::Acquire)
    }

    #[inline]
    pub(super) fn publish_head(&self, head: usize) {
        // Release: the values before it are moved out; pairs with the Acquire in `head`.
        let order = planted!("spsc-head-relaxed": Ordering::Release => Ordering::Relaxed);
        self.head.store(head, order);
    }

    #[inline]
    pub(super) fn receiver_left(&self) -> bool {
        // Relaxed: nothing is read on the strength of it.
        self.left.load(Ordering::Relaxed) & RECEIVER_LEFT != 0
    }

    #[inline]
    pub(super) fn sender_left(&self) -> bool {
        // Acquire: pairs with the AcqRel in `sender_leaves`; what was flushed before is visible.
        self.left.load(Ordering::Acquire) & SENDER_LEFT != 0
    }

    pub(super) fn sender_leaves(&self, tail: usize) {
        // The flagged layout publishes its tail here alone, for the drop of what is left.
        self.publish_tail(tail);
        // AcqRel: releases all that was flushed to the Acquire in `sender_left`.
        let order = planted!("spsc-leave-relaxed": Ordering::AcqRel => Ordering::Relaxed);
        self.left.fetch_or(SENDER_LEFT, order);
    }

    pub(super) fn receiver_leaves(&self) {
        // Relaxed: pairs with no read; the sender only stops.
        self.left.fetch_or(RECEIVER_LEFT, Ordering::Relaxed);
    }
}

impl<T, L: Layout> Drop for Shared<T, L> {
    fn drop(&mut self) {
        // The count of references orders both ends' last stores before this.
        let (mut head, tail) = (self.head(), self.tail());
        let slots = self.slots();
        while head != tail {
            // SAFETY: by invariant 4 the slots between the positions hold values nobody took.
            drop(unsafe { slots.take(head) });
            head = head.wrapping_add(1);
        }
    }
}

/// The slots as an end reaches them. Usable while that end holds the [`Shared`] they are of.
pub(super) struct Slots<T, L> {
    first: NonNull<Slot<T, L>>,
    mask: usize,
}

impl<T, L> Clone for Slots<T, L> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T, L> Copy for Slots<T, L> {}

// SAFETY: it gives access to a `T` on the thread of the end that holds it, and to marks, which are
// atomic.
unsafe impl<T: Send, L: Layout> Send for Slots<T, L> {}
// SAFETY: through a shared reference it reads marks alone; moving values is `unsafe`.
unsafe impl<T: Send, L: Layout> Sync for Slots<T, L> {}

impl<T, L: Layout> Slots<T, L> {
    #[inline(always)]
    pub(super) fn capacity(&self) -> usize {
        self.mask.wrapping_add(1)
    }

    /// How much is taken before room is given back.
    #[inline(always)]
    pub(super) fn quarter(&self) -> usize {
        (self.capacity() / 4).max(1)
    }

    #[inline(always)]
    fn slot(&self, position: usize) -> &Slot<T, L> {
        // SAFETY: the mask keeps the offset within the slots.
        let slot = unsafe { self.first.add(position & self.mask) };
        // SAFETY: whoever holds this holds the ring, which keeps its slots where they are.
        unsafe { slot.as_ref() }
    }

    #[inline(always)]
    pub(super) fn mark(&self, position: usize) {
        self.slot(position).mark.set(position);
    }

    #[inline(always)]
    pub(super) fn is_marked(&self, position: usize) -> bool {
        self.slot(position).mark.is_set(position)
    }

    /// # Safety
    /// The slot is the caller's and holds no value.
    #[inline(always)]
    pub(super) unsafe fn put(&self, position: usize, value: T) {
        self.slot(position).value.with_mut(|place| {
            // SAFETY: the caller owns the slot.
            let place = unsafe { &mut *place };
            place.write(value);
        });
    }

    /// # Safety
    /// The slot is the caller's and holds a value, which is the caller's from now on.
    #[inline(always)]
    pub(super) unsafe fn take(&self, position: usize) -> T {
        self.slot(position).value.with(|place| {
            // SAFETY: the caller owns the slot.
            let place = unsafe { &*place };
            // SAFETY: the caller's promise.
            unsafe { place.assume_init_read() }
        })
    }
}
