//! Connecting a queue pair on a thread of its own, for the system may look for its peer for a second.

use super::super::verbs::{ConnectError, Endpoint, QueuePair, Timing};
use super::queues::IbQueuePair;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use tokio::runtime::Handle;
use tokio::task::JoinHandle;

/// A queue pair that a thread of the runtime connects, and has to itself meanwhile. Where this is dropped before, it is
/// destroyed there; a runtime that ends waits for that.
#[derive(Debug)]
pub struct IbConnecting {
    /// None outside of a runtime, which has the threads.
    thread: Option<JoinHandle<Result<IbQueuePair, ConnectError>>>,
}

impl IbConnecting {
    pub(super) fn new(mut pair: IbQueuePair, peer: Endpoint, timing: Timing) -> Self {
        let connect = move || pair.connect(&peer, &timing).map(|()| pair);
        Self { thread: Handle::try_current().ok().map(|runtime| runtime.spawn_blocking(connect)) }
    }
}

impl Future for IbConnecting {
    type Output = Result<IbQueuePair, ConnectError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let Some(thread) = &mut self.thread else {
            let why = io::Error::other("there is no runtime to wait in");
            return Poll::Ready(Err(ConnectError::System(why)));
        };
        let made = ready!(Pin::new(thread).poll(context));
        // The runtime shuts down.
        Poll::Ready(made.unwrap_or_else(|lost| Err(ConnectError::System(io::Error::other(lost)))))
    }
}
