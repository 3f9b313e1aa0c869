//! Why senders that are dropped give no value, where whoever drops them knows.

use std::cell::Cell;

#[cfg(not(loom))]
crate::sync::thread_local! {
    static WHY: Cell<u8> = const { Cell::new(0) };
}

/// Runs `drop_them`; senders that it drops give `why` for their reason, which is not 0.
#[cfg(not(loom))]
pub(crate) fn dropping_for<R>(why: u8, drop_them: impl FnOnce() -> R) -> R {
    let _before = Before(WHY.with(|now| now.replace(why)));
    drop_them()
}

/// The reason of a sender that is dropped now; 0 if nobody has said one.
#[cfg(not(loom))]
pub(super) fn why() -> u8 {
    // Where a thread ends it may be gone, and nobody says one.
    WHY.try_with(Cell::get).unwrap_or(0)
}

/// In models of the containers nobody says one.
#[cfg(loom)]
pub(super) fn why() -> u8 {
    0
}

/// Puts back what was said before.
#[cfg(not(loom))]
struct Before(u8);

#[cfg(not(loom))]
impl Drop for Before {
    fn drop(&mut self) {
        WHY.with(|now| now.set(self.0));
    }
}
