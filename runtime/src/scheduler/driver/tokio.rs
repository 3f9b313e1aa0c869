//! Production: a tokio runtime per worker, which sleeps in epoll.

use crate::time::{Clock, Time};
use std::future::Future;
use std::io;
use std::pin::{Pin, pin};
use std::task::Context;
use std::time::Duration;
use tokio::runtime::{self, Handle, Runtime, RuntimeMetrics};

/// A worker's runtime. Dropped, it leaves to itself what still blocks in the background: also where the worker could not be
/// started, inside somebody else's runtime, in which nothing may block.
pub(crate) struct Driver(Option<Runtime>);

impl Driver {
    /// Calls `falls_asleep` before the thread sleeps, and `wakes` after that.
    pub(crate) fn new(
        falls_asleep: impl Fn() + Send + Sync + 'static,
        wakes: impl Fn() + Send + Sync + 'static,
    ) -> io::Result<Self> {
        let mut builder = runtime::Builder::new_current_thread();
        builder.enable_all().on_thread_park(falls_asleep).on_thread_unpark(wakes);
        builder.build().map(Some).map(Self)
    }

    /// Runs to its end what `root` makes inside the runtime.
    pub(crate) fn run<F: Future<Output = ()>>(&self, root: impl FnOnce() -> F) {
        let runtime = self.0.as_ref().expect("it is there until the end");
        runtime.block_on(async {
            // Unconstrained: the handlers of a slice do not share one task's budget of tokio.
            tokio::task::unconstrained(pin!(root())).await;
        });
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

/// Ends a worker's sleep when its next timer is due, and knows what else its runtime has to run.
pub(crate) struct AlarmClock {
    sleep: Pin<Box<tokio::time::Sleep>>,
    until: Time,
    runtime: RuntimeMetrics,
}

impl AlarmClock {
    /// Inside a runtime only.
    pub(crate) fn new() -> Self {
        let sleep = Box::pin(tokio::time::sleep(Duration::ZERO));
        Self { sleep, until: Time::NEVER, runtime: Handle::current().metrics() }
    }

    /// Whether the runtime has tasks besides the worker, which may take long.
    pub(crate) fn has_tasks(&self) -> bool {
        self.runtime.num_alive_tasks() > 0
    }

    /// Wakes the task at `next`; `false` when that time has come already.
    pub(crate) fn set(&mut self, next: Time, clock: &Clock, cx: &mut Context<'_>) -> bool {
        // tokio rounds up to a millisecond.
        if next <= clock.now() {
            return false;
        }
        if next != self.until {
            self.until = next;
            self.sleep.as_mut().reset(clock.instant(next).into());
        }
        self.sleep.as_mut().poll(cx).is_pending()
    }
}
