//! loom: something is done for a future while it has its turn.

use super::Together;
use crate::sync::{self, AtomicBool, thread};
use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::task::{Context, Poll, Wake, Waker};

/// Counts wake-ups.
struct Count(AtomicUsize);

impl Wake for Count {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, SeqCst);
    }
}

#[test]
fn what_is_done_for_a_future_is_seen_or_wakes_who_waits() {
    loom::model(|| {
        let done = sync::Arc::new(AtomicBool::new(false));
        let seen = done.clone();
        // Relaxed: that it is seen is for the wake-up to see to.
        let is_done = move || seen.load(sync::Ordering::Relaxed);
        let wait = poll_fn(move |_| if is_done() { Poll::Ready(()) } else { Poll::Pending });
        let mut together = Together::new(std::iter::once(wait));
        let place = together.places[0].as_ref().expect("it is not done");
        let waker = place.waker.clone();
        let thread = thread::spawn(move || {
            // Relaxed: as above.
            done.store(true, sync::Ordering::Relaxed);
            waker.wake();
        });
        let count = Arc::new(Count(AtomicUsize::new(0)));
        let poller = Waker::from(count.clone());
        let mut cx = Context::from_waker(&poller);
        let mut polled = together.poll_next(&mut cx);
        if polled.is_pending() {
            thread.join().unwrap();
            assert_eq!(count.0.load(SeqCst), 1, "who waits is woken once");
            polled = together.poll_next(&mut cx);
        } else {
            thread.join().unwrap();
        }
        assert_eq!(polled, Poll::Ready(Some(())));
        assert_eq!(together.poll_next(&mut cx), Poll::Ready(None));
    });
}
