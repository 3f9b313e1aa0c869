//! A pointer that is its own lock.
//!
//! The lowest bit of the word says that somebody holds it. Who locks takes the pointer with it, by a compare-and-swap; who
//! unlocks stores the pointer that is to be there, without the bit. That is one read-modify-write where a lock that
//! threads can sleep on takes two, since its unlock must learn of sleepers; here they look again ([`Patience`]). So what
//! is done in between has to be short, and to run nobody else's code.

use crate::sync::{AtomicPtr, Ordering, Patience, planted};
use std::ptr;

const LOCKED: usize = 1;

/// See the [module](self). Guards whatever its users say.
pub(crate) struct LockedPtr<T>(AtomicPtr<T>);

/// The pointer of a [`LockedPtr`], and the right to it until this is dropped.
#[must_use = "it is unlocked at once"]
pub(crate) struct Guard<'a, T> {
    of: &'a AtomicPtr<T>,
    /// What will be there.
    pub(crate) pointer: *mut T,
}

impl<T> LockedPtr<T> {
    /// A null pointer that nobody holds.
    pub(crate) fn new() -> Self {
        const { assert!(align_of::<T>() > LOCKED, "the lowest bit is free") };
        Self(AtomicPtr::new(ptr::null_mut()))
    }

    /// Waits until nobody else holds it.
    #[inline]
    pub(crate) fn lock(&self) -> Guard<'_, T> {
        match self.try_lock() {
            Some(guard) => guard,
            None => self.lock_later(),
        }
    }

    #[inline]
    fn try_lock(&self) -> Option<Guard<'_, T>> {
        // Relaxed: the exchange below is what synchronises.
        let pointer = self.0.load(Ordering::Relaxed);
        if pointer.addr() & LOCKED != 0 {
            return None;
        }
        let locked = pointer.map_addr(|address| address | LOCKED);
        // Acquire: pairs with the store of who unlocked it. Relaxed on failure: nothing was learnt.
        let taken =
            self.0.compare_exchange(pointer, locked, Ordering::Acquire, Ordering::Relaxed).is_ok();
        taken.then(|| Guard { of: &self.0, pointer })
    }

    #[cold]
    fn lock_later(&self) -> Guard<'_, T> {
        let mut patience = Patience::default();
        loop {
            patience.wait();
            if let Some(guard) = self.try_lock() {
                return guard;
            }
        }
    }
}

impl<T> Drop for Guard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        // Release: pairs with the exchange in `try_lock`. It is the last access: what the word is in may be gone then.
        let order = planted!("locked-ptr-not-released": Ordering::Release => Ordering::Relaxed);
        self.of.store(self.pointer, order);
    }
}

#[cfg(all(test, loom))]
mod model;
#[cfg(all(test, not(any(loom, shuttle))))]
mod tests;
