//! Systematic tests: shuttle's primitives, explored at random.

pub(crate) use shuttle::hint::spin_loop;
pub(crate) use shuttle::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize};
/// shuttle's threads where a schedule is explored, and what else the crate needs to compile.
pub(crate) mod thread {
    pub(crate) use shuttle::thread::{spawn, yield_now};
    pub(crate) use std::thread::{
        Builder, Thread, available_parallelism, current, panicking, park, park_timeout,
    };
}

/// The same face as loom's cell; shuttle itself does not watch plain memory.
#[derive(Debug)]
#[repr(transparent)]
pub(crate) struct UnsafeCell<T>(std::cell::UnsafeCell<T>);

impl<T> UnsafeCell<T> {
    pub(crate) const fn new(value: T) -> Self {
        Self(std::cell::UnsafeCell::new(value))
    }

    pub(crate) fn with<R>(&self, read: impl FnOnce(*const T) -> R) -> R {
        read(self.0.get())
    }

    pub(crate) fn with_mut<R>(&self, write: impl FnOnce(*mut T) -> R) -> R {
        write(self.0.get())
    }
}

/// shuttle's lock with parking_lot's face: no poisoning.
#[derive(Debug)]
pub(crate) struct Mutex<T>(shuttle::sync::Mutex<T>);

impl<T> Mutex<T> {
    pub(crate) fn new(value: T) -> Self {
        Self(shuttle::sync::Mutex::new(value))
    }

    pub(crate) fn lock(&self) -> shuttle::sync::MutexGuard<'_, T> {
        self.0.lock().expect("a test ends at its first panic")
    }
}
