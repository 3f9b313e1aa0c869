//! Numbers that are given out once in a process.

use std::sync::atomic::{AtomicU64, Ordering};

/// A number that no other call returns. Not through the [door](super): it outlives the models, and is no
/// step that a model checker may count.
pub(crate) fn unique() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    // Relaxed: the numbers order nothing.
    NEXT.fetch_add(1, Ordering::Relaxed)
}
