//! Production: the standard library, and parking_lot for locks.

#[cfg(miri)]
pub(crate) use super::miri::{Mutex, MutexGuard};
#[cfg(not(miri))]
pub(crate) use parking_lot::{Mutex, MutexGuard};
pub(crate) use std::hint::spin_loop;
pub(crate) use std::sync::atomic::{
    AtomicBool, AtomicPtr, AtomicU8, AtomicU32, AtomicU64, AtomicUsize,
};
pub(crate) use std::thread;
pub(crate) use std::thread_local;

/// A cell whose every access is a closure, so that loom can watch it; free of cost here.
#[derive(Debug)]
#[repr(transparent)]
pub(crate) struct UnsafeCell<T>(std::cell::UnsafeCell<T>);

impl<T> UnsafeCell<T> {
    pub(crate) const fn new(value: T) -> Self {
        Self(std::cell::UnsafeCell::new(value))
    }

    #[inline(always)]
    pub(crate) fn with<R>(&self, read: impl FnOnce(*const T) -> R) -> R {
        read(self.0.get())
    }

    #[inline(always)]
    pub(crate) fn with_mut<R>(&self, write: impl FnOnce(*mut T) -> R) -> R {
        write(self.0.get())
    }
}
