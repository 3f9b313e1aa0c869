//! Panics of user code that get no further.

use super::planted;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::task::Waker;

/// Runs user code.
///
/// # Errors
/// The text of its panic.
pub(crate) fn catch<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(work)).map_err(describe)
}

/// The text of a panic; the payload is dropped, and if that panics too, forgotten.
pub(crate) fn describe(payload: Box<dyn std::any::Any + Send>) -> String {
    let text = payload
        .downcast_ref::<&'static str>()
        .map(ToString::to_string)
        .or_else(|| payload.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "a panic without text".to_owned());
    quietly(move || drop(payload));
    text
}

/// Runs user code whose panic must not get further, and reports nothing: drops, above all.
/// `false` if it panicked.
pub(crate) fn quietly(work: impl FnOnce()) -> bool {
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(()) => true,
        Err(payload) => {
            if let Err(again) = catch_unwind(AssertUnwindSafe(|| drop(payload))) {
                // A payload whose own drop panics: what that leaves is given up.
                let _ = std::mem::ManuallyDrop::new(again);
            }
            false
        }
    }
}

/// Wakes somebody, who may be anybody: a waker that panics, as some do whose executor is gone, is not the matter of who
/// wakes it, nor of those who are woken after it.
pub(crate) fn wake_quietly(waker: Waker) {
    // A checker reports what it finds on the way by a panic.
    if cfg!(any(loom, shuttle)) {
        return waker.wake();
    }
    planted!("waker-panic-unwinds": quietly(|| waker.wake()) => {
        waker.wake();
        true
    });
}
