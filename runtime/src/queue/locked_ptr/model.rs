//! loom: whoever holds the pointer holds it alone, and sees what was done before.

use super::LockedPtr;
use crate::sync::{Arc, UnsafeCell, thread};
use std::ptr::{null_mut, without_provenance_mut};

struct Counted {
    first: LockedPtr<u64>,
    count: UnsafeCell<usize>,
}

// SAFETY: the count is used by who holds the pointer alone.
unsafe impl Send for Counted {}
// SAFETY: as above.
unsafe impl Sync for Counted {}

impl Counted {
    /// Puts `next` in, and returns what was there and how many came before.
    fn put(&self, next: *mut u64) -> (*mut u64, usize) {
        let mut guard = self.first.lock();
        let before = std::mem::replace(&mut guard.pointer, next);
        // SAFETY: the pointer is held.
        (before, self.count.with_mut(|count| unsafe { std::mem::replace(&mut *count, *count + 1) }))
    }
}

#[test]
fn one_at_a_time_holds_it() {
    loom::model(|| {
        let counted = Arc::new(Counted { first: LockedPtr::new(), count: UnsafeCell::new(0) });
        let (one, other) = (without_provenance_mut(8), without_provenance_mut(16));
        let thread = {
            let counted = counted.clone();
            thread::spawn(move || counted.put(one) == (null_mut(), 0))
        };
        let was_first = counted.put(other) == (null_mut(), 0);
        assert_ne!(thread.join().unwrap(), was_first);
        let last = if was_first { one } else { other };
        assert_eq!(counted.put(null_mut()), (last, 2));
    });
}
