//! loom: two leave while their owner begins to wait, which then sees what both did.

use super::Crew;
use crate::sync::{Arc, AtomicBool, Ordering, UnsafeCell, thread};

struct Work {
    crew: Crew,
    /// In place of the owner's wake-up.
    is_woken: AtomicBool,
    /// What each did.
    done: [UnsafeCell<bool>; 2],
}

// SAFETY: each writes its own, and the owner reads when all have left; loom checks it.
unsafe impl Sync for Work {}

#[test]
fn the_owner_sees_what_was_done_or_is_woken_then() {
    loom::model(|| {
        let done = [UnsafeCell::new(false), UnsafeCell::new(false)];
        let work = Arc::new(Work { crew: Crew::new(), is_woken: AtomicBool::new(false), done });
        let threads = [0, 1].map(|who| {
            work.crew.enter();
            let work = work.clone();
            thread::spawn(move || {
                // SAFETY: see `Work`.
                work.done[who].with_mut(|done| unsafe { *done = true });
                if work.crew.leave() {
                    // Release: pairs with the look below.
                    assert!(!work.is_woken.swap(true, Ordering::Release), "by the last one alone");
                }
            })
        });
        let waits = work.crew.has_to_end();
        // Acquire: pairs with the swap above.
        if !waits || work.is_woken.load(Ordering::Acquire) {
            for done in &work.done {
                // SAFETY: see `Work`.
                assert!(done.with(|done| unsafe { *done }), "all have left");
            }
        }
        for thread in threads {
            thread.join().unwrap();
        }
        // Relaxed: they have ended.
        assert_eq!(work.is_woken.load(Ordering::Relaxed), waits, "who waits is woken");
    });
}
