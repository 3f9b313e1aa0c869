//! Tells when the last of many actors was dropped.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use tokio::sync::oneshot;

#[derive(Debug)]
struct Inner {
    left: AtomicU64,
    done: Mutex<Option<oneshot::Sender<()>>>,
}

/// Hands out tickets and waits until every one is dropped.
#[derive(Debug)]
pub struct Countdown {
    inner: Arc<Inner>,
    /// Resolves when the last ticket is gone.
    pub done: oneshot::Receiver<()>,
}

/// Hands out the tickets of a countdown that somebody else waits for.
#[derive(Clone, Debug)]
pub struct Tickets(Arc<Inner>);

impl Tickets {
    /// One of the tickets that the countdown was made for.
    #[must_use]
    pub fn ticket(&self) -> Ticket {
        Ticket(Arc::clone(&self.0))
    }
}

/// What an actor keeps in its state.
#[derive(Debug)]
pub struct Ticket(Arc<Inner>);

impl Countdown {
    /// Waits for `tickets` tickets.
    #[must_use]
    pub fn new(tickets: u64) -> Self {
        let (tell, done) = oneshot::channel();
        let (left, tell) = (AtomicU64::new(tickets), Mutex::new(Some(tell)));
        Self { inner: Arc::new(Inner { left, done: tell }), done }
    }

    /// For whoever starts the actors elsewhere.
    #[must_use]
    pub fn tickets(&self) -> Tickets {
        Tickets(Arc::clone(&self.inner))
    }

    /// A ticket, one of those that the countdown was made for.
    #[must_use]
    pub fn ticket(&self) -> Ticket {
        Ticket(Arc::clone(&self.inner))
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        // AcqRel: the last one to go sees what the others did.
        if self.0.left.fetch_sub(1, Ordering::AcqRel) == 1
            && let Ok(mut done) = self.0.done.lock()
            && let Some(done) = done.take()
        {
            // Nobody waits any more when this fails.
            let _ = done.send(());
        }
    }
}
