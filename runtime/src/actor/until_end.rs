//! Waiting for the end of an actor.

use super::context::{WatchId, tell_no_more, tell_of_end};
use super::extras::Down;
use crate::event::ExitReason;
use crate::queue::oneshot;
use crate::sync::planted;
use crate::task::cell::CellRef;
use std::future::poll_fn;
use std::task::{Context, Poll};

/// A wait for the end of an actor for good. Who gives it up leaves nothing with that actor.
#[derive(Debug)]
pub(super) struct UntilEnd {
    target: CellRef,
    watch: WatchId,
    reason: oneshot::Receiver<ExitReason>,
}

impl UntilEnd {
    pub(super) fn of(target: &CellRef) -> Self {
        let (sender, reason) = oneshot::pair();
        let tell = Box::new(move |down: Down| {
            // An error means that nobody waits any more.
            let _ = sender.send(down.reason);
        });
        let watch = tell_of_end(target, tell);
        Self { target: target.clone(), watch, reason }
    }

    /// Waits until an actor has ended for good.
    pub(super) async fn come(target: &CellRef) {
        let mut end = Self::of(target);
        poll_fn(|cx| end.poll(cx)).await;
    }

    /// Ready with the reason. Not to be called again after it was ready.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<ExitReason>> {
        self.reason.poll(cx)
    }
}

impl Drop for UntilEnd {
    fn drop(&mut self) {
        if self.reason.is_waiting() {
            planted!("end-still-watched": tell_no_more(&self.target, self.watch) => ());
        }
    }
}
