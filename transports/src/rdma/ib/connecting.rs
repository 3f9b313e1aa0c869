//! Connecting a queue pair on a thread of its own, for the system may look for its peer for a second.

use super::super::verbs::{ConnectError, Endpoint, QueuePair, Timing};
use super::queues::IbQueuePair;
use std::fmt;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::thread::Builder;
use tokio::sync::oneshot;

/// A queue pair that a thread connects, and has to itself meanwhile. Where this is dropped before, it is destroyed there,
/// and nobody waits for that.
#[derive(Debug)]
pub struct IbConnecting(Apart<IbQueuePair>);

impl IbConnecting {
    pub(super) fn new(mut pair: IbQueuePair, peer: Endpoint, timing: Timing) -> Self {
        let thread = Builder::new().name("rdma-connect".to_owned());
        Self(Apart::on(thread, move || pair.connect(&peer, &timing).map(|()| pair)))
    }
}

impl Future for IbConnecting {
    type Output = Result<IbQueuePair, ConnectError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.0).poll(context)
    }
}

/// What a thread makes.
struct Apart<T>(oneshot::Receiver<Result<T, ConnectError>>);

impl<T> fmt::Debug for Apart<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Apart").finish_non_exhaustive()
    }
}

impl<T: Send + 'static> Apart<T> {
    /// Made by that thread, unless the system has none to give.
    fn on(
        thread: Builder,
        make: impl FnOnce() -> Result<T, ConnectError> + Send + 'static,
    ) -> Self {
        let (done, made) = oneshot::channel();
        let begun = thread.spawn(move || {
            // What nobody waits for any more is dropped here.
            let _ = done.send(make());
        });
        let Err(error) = begun else { return Self(made) };
        let (done, made) = oneshot::channel();
        let _ = done.send(Err(ConnectError::System(error)));
        Self(made)
    }
}

impl<T> Future for Apart<T> {
    type Output = Result<T, ConnectError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let made = Pin::new(&mut self.0).poll(context);
        // The thread panicked.
        let lost = |lost| Err(ConnectError::System(io::Error::other(lost)));
        made.map(|made| made.unwrap_or_else(lost))
    }
}

#[cfg(test)]
mod tests;
