//! A handler that waits, and what becomes of its answer.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

/// Runs a handler, drops it, and hands on what it has answered.
///
/// An `async` block would do the same, but keeps the handler twice: as it is taken in, and where it is polled, and moves it
/// from one to the other (path P11 of `bench paths`).
pub(super) struct Handling<F, D> {
    /// First, so that it is dropped first; none once it is over.
    handler: Option<F>,
    /// None once it was called.
    done: Option<D>,
}

impl<F: Future, D: FnOnce(F::Output)> Handling<F, D> {
    #[inline(always)]
    pub(super) fn new(handler: F, done: D) -> Self {
        Self { handler: Some(handler), done: Some(done) }
    }
}

impl<F: Future, D: FnOnce(F::Output)> Future for Handling<F, D> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        // SAFETY: what is pinned is the handler alone, which stays where it is until it is dropped there; `done` is moved,
        // and is never said to be pinned. The type has no `Drop`, is not packed, and is `Unpin` only where the handler is.
        let this = unsafe { self.get_unchecked_mut() };
        // SAFETY: as above.
        let mut handler = unsafe { Pin::new_unchecked(&mut this.handler) };
        let Some(running) = handler.as_mut().as_pin_mut() else { return Poll::Ready(()) };
        let Poll::Ready(answer) = running.poll(cx) else { return Poll::Pending };
        handler.set(None);
        if let Some(done) = this.done.take() {
            done(answer);
        }
        Poll::Ready(())
    }
}
