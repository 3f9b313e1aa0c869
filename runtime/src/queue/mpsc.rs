//! An unbounded queue of many producers and one consumer, who append whole chains.
//!
//! ```text
//! consumer: oldest -> link -> link -> ... -> newest        (linked oldest to newest)
//! ```
//!
//! Invariants:
//! 1. Who swaps its chain's last link into `newest` owns the right to link what was there before to the
//!    chain's first. Until it does, the queue ends there for the consumer.
//! 2. The consumer alone touches `oldest`, whose value is taken already; it frees a link when it goes on
//!    to the next, so no producer can still have to link to it.
//!
//! Vyukov's queue (1024cores), with links that hold their value and a swap per chain.

use crate::sync::{Arc, AtomicPtr, CachePadded, Ordering, UnsafeCell, planted};
use std::ptr::{self, NonNull};

struct Link<T> {
    next: AtomicPtr<Self>,
    value: UnsafeCell<Option<T>>,
}

impl<T> Link<T> {
    fn new(value: Option<T>) -> NonNull<Self> {
        let link = Self { next: AtomicPtr::new(ptr::null_mut()), value: UnsafeCell::new(value) };
        NonNull::from(Box::leak(Box::new(link)))
    }

    /// # Safety
    /// Nobody uses the link any more.
    unsafe fn free(link: NonNull<Self>) {
        // SAFETY: links come from `new` alone, and the caller is the last to know this one.
        drop(unsafe { Box::from_raw(link.as_ptr()) });
    }
}

struct Shared<T> {
    newest: CachePadded<AtomicPtr<Link<T>>>,
    /// Where the consumer stood when it left.
    oldest: AtomicPtr<Link<T>>,
}

/// A producer's end.
pub(super) struct Inlet<T> {
    shared: Arc<Shared<T>>,
}

/// The consumer's end.
pub(super) struct Outlet<T> {
    oldest: NonNull<Link<T>>,
    shared: Arc<Shared<T>>,
}

/// Values to be appended in one step.
pub(super) struct Chain<T> {
    /// The first and the last link.
    ends: Option<[NonNull<Link<T>>; 2]>,
}

// SAFETY: an outlet owns the links behind its own, and their values.
unsafe impl<T: Send> Send for Outlet<T> {}
// SAFETY: a shared outlet offers nothing.
unsafe impl<T: Send> Sync for Outlet<T> {}
// SAFETY: a chain owns its links and their values.
unsafe impl<T: Send> Send for Chain<T> {}
// SAFETY: a shared chain offers nothing.
unsafe impl<T: Send> Sync for Chain<T> {}

/// Makes an empty queue.
pub(super) fn queue<T: Send>() -> (Inlet<T>, Outlet<T>) {
    let stub = Link::new(None);
    let newest = CachePadded(AtomicPtr::new(stub.as_ptr()));
    let shared = Arc::new(Shared { newest, oldest: AtomicPtr::new(stub.as_ptr()) });
    (Inlet { shared: shared.clone() }, Outlet { oldest: stub, shared })
}

impl<T> Clone for Inlet<T> {
    fn clone(&self) -> Self {
        Self { shared: self.shared.clone() }
    }
}

impl<T: Send> Inlet<T> {
    /// Moves all of `chain` behind everything else: one swap.
    #[inline]
    pub(super) fn append(&self, chain: &mut Chain<T>) {
        let Some([first, last]) = chain.ends.take() else { return };
        // AcqRel: acquires the making of the link that was newest; releases this chain's to the next
        // producer that swaps.
        let before = self.shared.newest.swap(last.as_ptr(), Ordering::AcqRel);
        let before = NonNull::new(before).expect("the queue ends in a link");
        // SAFETY: by invariant 2 the consumer keeps it until it is linked on.
        let before = unsafe { before.as_ref() };
        // Release: publishes the chain; pairs with the Acquire in `pop`.
        let order = planted!("mpsc-link-relaxed": Ordering::Release => Ordering::Relaxed);
        before.next.store(first.as_ptr(), order);
    }
}

impl<T> Chain<T> {
    pub(super) const fn new() -> Self {
        Self { ends: None }
    }

    #[inline]
    pub(super) fn push(&mut self, value: T) {
        let link = Link::new(Some(value));
        self.ends = match self.ends {
            None => Some([link, link]),
            Some([first, last]) => {
                // SAFETY: the chain owns its links.
                let last = unsafe { last.as_ref() };
                // Relaxed: `append` publishes it.
                last.next.store(link.as_ptr(), Ordering::Relaxed);
                Some([first, link])
            }
        };
    }
}

impl<T> Drop for Chain<T> {
    fn drop(&mut self) {
        let mut next = self.ends.map(|[first, _]| first);
        while let Some(link) = next {
            // SAFETY: the chain owns its links. Relaxed: it made them.
            next = NonNull::new(unsafe { link.as_ref() }.next.load(Ordering::Relaxed));
            // SAFETY: nobody else has seen it.
            unsafe { Link::free(link) };
        }
    }
}

impl<T> Outlet<T> {
    /// Bytes of an empty queue.
    pub(super) const BYTES: usize =
        size_of::<Self>() + size_of::<Shared<T>>() + size_of::<Link<T>>();

    /// Takes the oldest value. `None` also while a producer is between its swap and its link.
    #[inline]
    pub(super) fn pop(&mut self) -> Option<T> {
        // SAFETY: by invariant 2 it is the consumer's.
        let oldest = unsafe { self.oldest.as_ref() };
        // Acquire: pairs with the Release in `append`.
        let next = NonNull::new(oldest.next.load(Ordering::Acquire))?;
        let done = std::mem::replace(&mut self.oldest, next);
        // SAFETY: by invariant 2 it is linked on, and the consumer's.
        unsafe { Link::free(done) };
        // SAFETY: the value is the consumer's since it was linked.
        unsafe { next.as_ref() }.value.with_mut(|value| {
            // SAFETY: as above.
            unsafe { (*value).take() }
        })
    }
}

impl<T> Outlet<T> {
    fn note(&self) {
        // Relaxed: the count of references orders it before the drop of what is shared.
        self.shared.oldest.store(self.oldest.as_ptr(), Ordering::Relaxed);
    }
}

impl<T> Drop for Outlet<T> {
    fn drop(&mut self) {
        self.note();
        while let Some(value) = self.pop() {
            // Before the value's drop, which may panic.
            self.note();
            drop(value);
        }
    }
}

impl<T> Drop for Shared<T> {
    fn drop(&mut self) {
        // Relaxed: the count of references orders all that was done.
        let mut next = NonNull::new(self.oldest.load(Ordering::Relaxed));
        while let Some(link) = next {
            // SAFETY: all ends are gone, and what is linked from the oldest is not freed.
            let after = unsafe { link.as_ref() }.next.load(Ordering::Relaxed);
            next = NonNull::new(after);
            // SAFETY: as above.
            unsafe { Link::free(link) };
        }
    }
}

#[cfg(all(test, loom))]
mod model;

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests;
