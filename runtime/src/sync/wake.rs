//! Wakers that are counted pointers.
//!
//! Invariant 1: the data of a waker is the address of an `Arc<W>`, and stands for one count of it.

use super::Arc;
#[cfg(not(loom))]
use super::thread;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::task::{RawWaker, RawWakerVTable, Waker};

/// What a waker does.
pub(crate) trait Wake: Send + Sync + 'static {
    /// Lets whoever waits go on.
    fn wake(&self);
}

/// A waker that wakes `wake`; dropped, it gives the count back.
pub(crate) fn waker<W: Wake>(wake: Arc<W>) -> Waker {
    // SAFETY: the functions below keep the contract of a raw waker, by invariant 1.
    unsafe { Waker::from_raw(RawWaker::new(wake.into_raw(), Functions::<W>::TABLE)) }
}

/// A waker that ends the calling thread's next or running `park`. Allocates.
#[cfg(not(loom))]
pub(crate) fn waker_of_this_thread() -> Waker {
    waker(Arc::new(thread::current()))
}

#[cfg(not(loom))]
impl Wake for thread::Thread {
    fn wake(&self) {
        self.unpark();
    }
}

struct Functions<W>(PhantomData<W>);

impl<W: Wake> Functions<W> {
    const TABLE: &'static RawWakerVTable =
        &RawWakerVTable::new(clone::<W>, wake::<W>, wake_by_ref::<W>, release::<W>);
}

/// What is behind a waker, without the waker's count.
///
/// # Safety
/// `data` is that of a live waker, which outlives the answer.
unsafe fn behind<W>(data: *const ()) -> ManuallyDrop<Arc<W>> {
    // SAFETY: by invariant 1 this is an `Arc`, and its count is not given back.
    ManuallyDrop::new(unsafe { Arc::from_raw(data) })
}

unsafe fn clone<W: Wake>(data: *const ()) -> RawWaker {
    // SAFETY: the waker that is cloned is live.
    let wake = unsafe { behind::<W>(data) };
    RawWaker::new(Arc::clone(&wake).into_raw(), Functions::<W>::TABLE)
}

unsafe fn wake<W: Wake>(data: *const ()) {
    // SAFETY: the waker is live, and ends with its count.
    ManuallyDrop::into_inner(unsafe { behind::<W>(data) }).wake();
}

unsafe fn wake_by_ref<W: Wake>(data: *const ()) {
    // SAFETY: the waker is live.
    unsafe { behind::<W>(data) }.wake();
}

unsafe fn release<W>(data: *const ()) {
    // SAFETY: the waker is live, and ends with its count.
    drop(ManuallyDrop::into_inner(unsafe { behind::<W>(data) }));
}

#[cfg(all(test, not(loom)))]
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
