//! Waiting until a system has nothing to do: exactly, and without looking again and again.
//!
//! Every worker sleeps and nothing is on its way between them; then every inbox is looked at; then the
//! workers are asked again. If none has woken in between, no actor has run in between. So each inbox that
//! was at rest when it was looked at was at rest from the beginning of the look, since only running an actor
//! empties an inbox, and all of them together were at rest at that one moment. Whoever sends from outside
//! meanwhile has sent after it.

use super::handle::System;
use crate::actor::{describe_cell, family};
use crate::task::cell::CellRef;
use std::future::poll_fn;
use std::task::Poll;
use std::time::Duration;

/// What kept a system from having nothing to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the system was not idle in time; these have mail or a handler that waits: {}", self.busy.join(", "))]
pub struct BusyError {
    /// The actors that had something to do in the end, by name where they have one.
    pub busy: Vec<String>,
}

impl System {
    /// Waits until every accepted message is handled and no actor is ready: for tests that look at what
    /// came of a message then. A handler that waits for something is not done; timers that are not due,
    /// messages that are stashed, and tasks of tokio, do not count. Works on any executor.
    ///
    /// Whoever calls this from a handler waits for itself.
    ///
    /// # Errors
    /// [`BusyError`] with the actors that had something to do after `deadline`.
    ///
    /// # Examples
    /// ```
    /// use greenroom::{Actor, System, handlers};
    /// use std::sync::Arc;
    /// use std::sync::atomic::{AtomicU32, Ordering};
    /// use std::time::Duration;
    ///
    /// #[derive(Actor)]
    /// struct Counter {
    ///     count: Arc<AtomicU32>,
    /// }
    ///
    /// #[handlers]
    /// impl Counter {
    ///     #[tell]
    ///     fn add(&mut self) {
    ///         self.count.fetch_add(1, Ordering::Relaxed);
    ///     }
    /// }
    ///
    /// #[greenroom::main]
    /// async fn main(system: System) -> Result<(), Box<dyn std::error::Error>> {
    ///     let count = Arc::new(AtomicU32::new(0));
    ///     let counter = system.spawn::<Counter>(Counter { count: count.clone() }).await?;
    ///     for _ in 0..100 {
    ///         counter.add().await?;
    ///     }
    ///     system.await_idle(Duration::from_secs(5)).await?;
    ///     assert_eq!(count.load(Ordering::Relaxed), 100);
    ///     Ok(())
    /// }
    /// ```
    pub async fn await_idle(&self, deadline: Duration) -> Result<(), BusyError> {
        let until = self.deadline(deadline);
        let idle = poll_fn(|cx| {
            // Before the look: a worker that falls asleep after it wakes the caller.
            self.core.tell_when_all_asleep(cx.waker());
            if self.is_idle() { Poll::Ready(()) } else { Poll::Pending }
        });
        if self.by(until, idle).await.is_some() {
            return Ok(());
        }
        Err(BusyError { busy: self.busy().map(|cell| describe_cell(&cell)).collect() })
    }

    fn is_idle(&self) -> bool {
        if !self.core.has_workers() {
            return self.busy().next().is_none();
        }
        let Some(before) = self.core.all_asleep_since() else { return false };
        self.busy().next().is_none() && self.core.all_asleep_since() == Some(before)
    }

    /// The actors that have something to do, each at the moment when it is looked at.
    fn busy(&self) -> impl Iterator<Item = CellRef> {
        let all = self.core.roots.all().into_iter().flat_map(family);
        all.filter(|cell| cell.is_busy())
    }
}

#[cfg(all(test, shuttle))]
mod tests;
