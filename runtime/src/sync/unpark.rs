//! The waker of a thread that sleeps until a future of its own goes on.
//!
//! Invariant 1: the data of a waker is the address of an `Arc<Thread>`, and stands for one count of it.

use super::{Arc, thread};
use std::mem::ManuallyDrop;
use std::task::{RawWaker, RawWakerVTable, Waker};

static VTABLE: RawWakerVTable = RawWakerVTable::new(clone, wake, wake_by_ref, release);

/// A waker that ends the calling thread's next or running `park`. Allocates.
pub(crate) fn waker_of_this_thread() -> Waker {
    let data = Arc::new(thread::current()).into_raw();
    // SAFETY: the functions below keep the contract of a raw waker, by invariant 1.
    unsafe { Waker::from_raw(RawWaker::new(data, &VTABLE)) }
}

/// The thread behind a waker, without the waker's count.
///
/// # Safety
/// `data` is that of a live waker, which outlives the answer.
unsafe fn thread_of(data: *const ()) -> ManuallyDrop<Arc<thread::Thread>> {
    // SAFETY: by invariant 1 this is an `Arc`, and its count is not given back.
    ManuallyDrop::new(unsafe { Arc::from_raw(data) })
}

unsafe fn clone(data: *const ()) -> RawWaker {
    // SAFETY: the waker that is cloned is live.
    let thread = unsafe { thread_of(data) };
    RawWaker::new(Arc::clone(&thread).into_raw(), &VTABLE)
}

unsafe fn wake(data: *const ()) {
    // SAFETY: the waker is live, and ends with its count.
    ManuallyDrop::into_inner(unsafe { thread_of(data) }).unpark();
}

unsafe fn wake_by_ref(data: *const ()) {
    // SAFETY: the waker is live.
    unsafe { thread_of(data) }.unpark();
}

unsafe fn release(data: *const ()) {
    // SAFETY: the waker is live, and ends with its count.
    drop(ManuallyDrop::into_inner(unsafe { thread_of(data) }));
}

#[cfg(test)]
mod tests {
    use super::super::thread;
    use super::waker_of_this_thread;

    #[test]
    fn it_ends_the_sleep_of_the_thread_that_made_it() {
        let waker = waker_of_this_thread();
        let (first, second) = (waker.clone(), waker.clone());
        assert!(first.will_wake(&second), "all clones are one waker");
        for wake in [true, false] {
            let waker = waker.clone();
            let other =
                thread::spawn(move || if wake { waker.wake() } else { waker.wake_by_ref() });
            thread::park();
            other.join().unwrap();
        }
    }
}
