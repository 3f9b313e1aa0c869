//! Those who wait until something has come to its end.

use crate::sync::Mutex;
use crate::sync::panic::wake_quietly;
use std::future::poll_fn;
use std::task::{Poll, Waker};

/// Who is told of the end. They may be anybody: one whose waker panics keeps nobody from hearing of it.
#[derive(Debug, Default)]
pub(crate) struct Told(Mutex<Vec<Waker>>);

impl Told {
    /// Wakes all who wait, to look again. To be called after what they look at has changed.
    pub(crate) fn tell(&self) {
        let waiting = std::mem::take(&mut *self.0.lock());
        waiting.into_iter().for_each(wake_quietly);
    }

    /// Waits until `is_over`.
    pub(crate) async fn until(&self, is_over: impl Fn() -> bool) {
        poll_fn(|cx| {
            // Before the look: the lock orders it before the next `tell`, or that one's change before the look.
            self.note(cx.waker());
            if is_over() { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
    }

    /// Once for each, however often it looks.
    fn note(&self, waker: &Waker) {
        let mut waiting = self.0.lock();
        if !waiting.iter().any(|known| known.will_wake(waker)) {
            waiting.push(waker.clone());
        }
    }
}
