//! loom: a change is seen or the waker is woken, whatever the waiter does in between.

use super::{Bell, Waiter};
use crate::sync::{AtomicUsize, Ordering, thread};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize as Tally, Ordering::SeqCst};
use std::task::{Wake, Waker};

/// Counts wake-ups; how often it is dropped shows that no waker leaks.
struct Count(Tally);

impl Wake for Count {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, SeqCst);
    }
}

fn waker() -> (Arc<Count>, Waker) {
    let count = Arc::new(Count(Tally::new(0)));
    (count.clone(), Waker::from(count))
}

#[test]
fn a_change_is_seen_or_rung_for() {
    loom::model(|| {
        let shared = Arc::new((Bell::new(), AtomicUsize::new(0)));
        let ringer = shared.clone();
        let thread = thread::spawn(move || {
            for change in 1..=2 {
                // Relaxed: the ring publishes it, which is what is tested.
                ringer.1.store(change, Ordering::Relaxed);
                // SAFETY: this thread alone rings.
                unsafe { ringer.0.ring() };
            }
        });
        let ((first, one), (second, two)) = (waker(), waker());
        let mut waiter = Waiter::default();
        // SAFETY: the only waiter of its bell.
        unsafe { waiter.wait(&shared.0, &one) };
        // Relaxed: as above.
        let early = shared.1.load(Ordering::Relaxed);
        // SAFETY: as above.
        unsafe { waiter.wait(&shared.0, &two) };
        // Relaxed: as above.
        let late = shared.1.load(Ordering::Relaxed);
        thread.join().expect("no panic");
        assert!(late == 2 || second.0.load(SeqCst) == 1, "the last change is seen or rung for");
        assert!(early <= late);
        // SAFETY: as above.
        drop(unsafe { waiter.leave(&shared.0) });
        drop((one, two, shared));
        assert_eq!(Arc::strong_count(&first), 1, "no waker is left behind");
        assert_eq!(Arc::strong_count(&second), 1, "no waker is left behind");
    });
}
