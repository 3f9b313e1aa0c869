//! Holds back what runs beside the workers of a system in a simulated world: the world gives those their turns, but
//! tokio gives the tasks of actors theirs.

use crate::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

/// Open at first. Cloning gives another handle.
#[derive(Clone, Debug)]
pub(crate) struct Gate(Arc<Mutex<Held>>);

#[derive(Debug, Default)]
struct Held {
    is_closed: bool,
    waiting: Vec<Waker>,
}

impl Default for Gate {
    fn default() -> Self {
        Self(Arc::new(Mutex::new(Held::default())))
    }
}

impl Gate {
    /// Lets nobody pass until it is opened.
    pub(crate) fn close(&self) {
        self.0.lock().is_closed = true;
    }

    /// Lets everybody pass, and wakes who waits for that.
    pub(crate) fn open(&self) {
        let mut held = self.0.lock();
        held.is_closed = false;
        let waiting = std::mem::take(&mut held.waiting);
        drop(held);
        waiting.into_iter().for_each(Waker::wake);
    }

    /// Whether one may pass now; otherwise wakes the task when it may.
    pub(crate) fn poll_pass(&self, cx: &Context<'_>) -> Poll<()> {
        let mut held = self.0.lock();
        if !held.is_closed {
            return Poll::Ready(());
        }
        if !held.waiting.iter().any(|waiting| waiting.will_wake(cx.waker())) {
            held.waiting.push(cx.waker().clone());
        }
        Poll::Pending
    }
}
