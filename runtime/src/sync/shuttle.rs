//! Systematic tests: shuttle's primitives, explored at random.

use super::Ordering;
pub(crate) use shuttle::hint::spin_loop;
pub(crate) use shuttle::sync::MutexGuard;
pub(crate) use shuttle::sync::atomic::{
    AtomicBool, AtomicPtr, AtomicU8, AtomicU32, AtomicU64, AtomicUsize,
};
pub(crate) use shuttle::thread_local;
/// shuttle's threads where a schedule is explored, and what else the crate needs to compile.
pub(crate) mod thread {
    pub(crate) use shuttle::thread::{
        Builder, Thread, current, park, park_timeout, spawn, yield_now,
    };
    pub(crate) use std::thread::{available_parallelism, panicking};
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
#[derive(Debug, Default)]
pub(crate) struct Mutex<T>(shuttle::sync::Mutex<T>);

impl<T> Mutex<T> {
    pub(crate) fn new(value: T) -> Self {
        Self(shuttle::sync::Mutex::new(value))
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
        self.0.lock().expect("a test ends at its first panic")
    }

    pub(crate) fn get_mut(&mut self) -> &mut T {
        self.0.get_mut().expect("a test ends at its first panic")
    }

    pub(crate) fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        self.0.try_lock().ok()
    }
}

shuttle::lazy_static! {
    static ref TICKS: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);
}

/// How often this was asked in the running schedule.
pub(crate) fn ticks() -> u64 {
    // Relaxed: shuttle runs one thread at a time, and this is not to be a place where it chooses.
    TICKS.fetch_add(1, Ordering::Relaxed)
}

struct Unpark(thread::Thread);

impl std::task::Wake for Unpark {
    fn wake(self: std::sync::Arc<Self>) {
        self.0.unpark();
    }
}

/// A waker that ends the calling thread's next park.
pub(crate) fn unparker() -> std::task::Waker {
    std::sync::Arc::new(Unpark(thread::current())).into()
}
