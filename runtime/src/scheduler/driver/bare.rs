//! Systematic tests: a thread that parks. Time ends no sleep here, only other threads do.

use crate::sync::{thread, unparker};
use crate::time::{Clock, Time};
use std::future::Future;
use std::io;
use std::pin::pin;
use std::task::Context;

/// A worker's loop.
pub(crate) struct Driver {
    falls_asleep: Box<dyn Fn() + Send + Sync>,
    wakes: Box<dyn Fn() + Send + Sync>,
}

impl Driver {
    /// Calls `falls_asleep` before the thread sleeps, and `wakes` after that.
    pub(crate) fn new(
        falls_asleep: impl Fn() + Send + Sync + 'static,
        wakes: impl Fn() + Send + Sync + 'static,
    ) -> io::Result<Self> {
        Ok(Self { falls_asleep: Box::new(falls_asleep), wakes: Box::new(wakes) })
    }

    /// Runs to its end what `root` makes.
    pub(crate) fn run<F: Future<Output = ()>>(&self, root: impl FnOnce() -> F) {
        let waker = unparker();
        let mut root = pin!(root());
        while root.as_mut().poll(&mut Context::from_waker(&waker)).is_pending() {
            // A schedule need not be fair by itself, and a busy worker may wait for a sender.
            thread::yield_now();
            (self.falls_asleep)();
            thread::park();
            (self.wakes)();
        }
    }
}

/// Never rings.
pub(crate) struct AlarmClock;

impl AlarmClock {
    pub(crate) fn new() -> Self {
        Self
    }

    /// There is no runtime that could have some.
    pub(crate) fn has_tasks(&self) -> bool {
        false
    }

    /// Whether `next` is still to come.
    pub(crate) fn set(&mut self, next: Time, clock: &Clock, _cx: &mut Context<'_>) -> bool {
        clock.now() < next
    }
}
