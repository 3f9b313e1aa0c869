//! Who is woken by this crate may be anybody: a waker that panics, as some do whose executor is gone, is not the matter of
//! who wakes it, nor of those who are woken after it. As `sync::panic` of the runtime, of which nothing is public.

use std::mem::ManuallyDrop;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::task::Waker;

/// Does what wakes somebody, whose panic gets no further.
pub(crate) fn quietly(wake: impl FnOnce()) {
    crate::planted!("transport-waker-unwinds": bear(wake) => wake());
}

pub(crate) fn wake_quietly(waker: Waker) {
    quietly(|| waker.wake());
}

fn bear(work: impl FnOnce()) {
    let Err(payload) = catch_unwind(AssertUnwindSafe(work)) else { return };
    if let Err(again) = catch_unwind(AssertUnwindSafe(|| drop(payload))) {
        // A payload whose own drop panics: what that leaves is given up.
        let _ = ManuallyDrop::new(again);
    }
}
