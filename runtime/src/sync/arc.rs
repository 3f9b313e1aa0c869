//! A counted pointer whose last drop synchronises by the count alone.
//!
//! The standard `Arc` orders its last drop with a fence. ThreadSanitizer does not model fences and
//! reports a race that is none; here the decrement itself acquires, so every tool sees the edge.
//! No weak references: nothing in the crate needs them.

use super::{AtomicUsize, Ordering, planted};
use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;
use std::ptr::NonNull;

/// The allocation behind an [`Arc`].
pub(crate) struct Inner<T> {
    count: AtomicUsize,
    value: T,
}

/// A shared pointer to `T`; cloning counts one up, dropping one down.
pub(crate) struct Arc<T> {
    inner: NonNull<Inner<T>>,
    owns: PhantomData<Inner<T>>,
}

// SAFETY: an `Arc` hands out `&T` on any thread and drops `T` on any thread.
unsafe impl<T: Send + Sync> Send for Arc<T> {}
// SAFETY: as above; `&Arc<T>` gives no more than an `Arc<T>` does.
unsafe impl<T: Send + Sync> Sync for Arc<T> {}

impl<T> Arc<T> {
    /// Moves `value` to the heap with a count of one.
    pub(crate) fn new(value: T) -> Self {
        let inner = Box::new(Inner { count: AtomicUsize::new(1), value });
        Self { inner: NonNull::from(Box::leak(inner)), owns: PhantomData }
    }
}

impl<T> Arc<T> {
    /// The address of the allocation, which keeps the count that `self` stood for.
    #[cfg(any(not(loom), test))]
    pub(crate) fn into_raw(self) -> *const () {
        std::mem::ManuallyDrop::new(self).inner.as_ptr().cast_const().cast()
    }

    /// # Safety
    /// `raw` comes from [`Arc::into_raw`] of the same type, and its count becomes the new pointer's.
    #[cfg(any(not(loom), test))]
    pub(crate) unsafe fn from_raw(raw: *const ()) -> Self {
        // SAFETY: by the caller's promise it is the address of an allocation.
        let inner = unsafe { NonNull::new_unchecked(raw.cast_mut().cast()) };
        Self { inner, owns: PhantomData }
    }

    /// Its value to change; a new one, if others have it as well.
    #[cfg(any(all(test, loom), all(feature = "net", not(any(loom, shuttle)))))]
    pub(crate) fn unshared(&mut self) -> &mut T
    where
        T: Default,
    {
        // Acquire: pairs with the decrements of others, whose uses are over.
        let order = planted!("arc-unshared-relaxed": Ordering::Acquire => Ordering::Relaxed);
        if self.inner().count.load(order) != 1 {
            *self = Self::new(T::default());
        }
        // SAFETY: the count is one, so there is no other pointer, and `self` is borrowed as long as the value is.
        &mut unsafe { self.inner.as_mut() }.value
    }

    /// Counts that many pointers more, for copies of this one.
    #[cfg(not(loom))]
    pub(crate) fn count_up(&self, count: usize) {
        // Relaxed: as in `clone`.
        let before = self.inner().count.fetch_add(count, Ordering::Relaxed);
        assert!(before < usize::MAX / 2, "reference count overflow");
    }

    /// Counts that many pointers less, beside this one.
    ///
    /// # Safety
    /// So many counts are the caller's, and stand for no pointer any more.
    #[cfg(not(loom))]
    pub(crate) unsafe fn count_down(&self, count: usize) {
        // AcqRel: as in `drop`; this pointer keeps it from being the last.
        self.inner().count.fetch_sub(count, Ordering::AcqRel);
    }

    fn inner(&self) -> &Inner<T> {
        // SAFETY: the count is at least one while `self` exists, so the allocation is live.
        unsafe { self.inner.as_ref() }
    }
}

impl<T> Clone for Arc<T> {
    fn clone(&self) -> Self {
        // Relaxed: a new reference is made from one that exists, which orders everything already.
        let before = self.inner().count.fetch_add(1, Ordering::Relaxed);
        assert!(before < usize::MAX / 2, "reference count overflow");
        Self { inner: self.inner, owns: PhantomData }
    }
}

impl<T> Drop for Arc<T> {
    fn drop(&mut self) {
        // AcqRel: releases this owner's uses, and in the last owner acquires those released by the
        // other drops of this same count.
        let order = planted!("arc-drop-relaxed": Ordering::AcqRel => Ordering::Relaxed);
        if self.inner().count.fetch_sub(1, order) == 1 {
            // SAFETY: the count was one, so this is the only pointer left and came from `Box::leak`.
            drop(unsafe { Box::from_raw(self.inner.as_ptr()) });
        }
    }
}

impl<T> Deref for Arc<T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        &self.inner().value
    }
}

impl<T: fmt::Debug> fmt::Debug for Arc<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

#[cfg(all(test, loom))]
#[path = "model.rs"]
mod model;
