//! What someone who listens has not heard yet.

use tokio::sync::broadcast;

/// Things that a slow subscriber may be behind before it misses the oldest.
pub(crate) const SUBSCRIBER_BACKLOG: usize = 1024;

/// A subscription: to [`Event`](crate::Event)s, to [`DeadLetter`](crate::DeadLetter)s, to the members of a cluster.
/// It holds what happened and was not taken yet, 1,024 at most; what is older is missed, and counted.
#[derive(Debug)]
pub struct Subscription<T> {
    news: broadcast::Receiver<T>,
    missed: u64,
}

impl<T: Clone> Subscription<T> {
    pub(crate) const fn new(news: broadcast::Receiver<T>) -> Self {
        Self { news, missed: 0 }
    }

    /// Waits for the next one; `None` when there will be no more, as what it comes from is gone.
    ///
    /// # Cancel safety
    /// Nothing is lost when the future is dropped.
    pub async fn next(&mut self) -> Option<T> {
        loop {
            match self.news.recv().await {
                Ok(news) => return Some(news),
                Err(broadcast::error::RecvError::Lagged(missed)) => self.missed += missed,
                Err(broadcast::error::RecvError::Closed) => return None,
            }
        }
    }

    /// Takes the next one if there is one. Never blocks.
    pub fn try_next(&mut self) -> Option<T> {
        loop {
            match self.news.try_recv() {
                Ok(news) => return Some(news),
                Err(broadcast::error::TryRecvError::Lagged(missed)) => self.missed += missed,
                Err(_) => return None,
            }
        }
    }

    /// How many this subscriber was too slow for.
    #[must_use]
    pub const fn missed(&self) -> u64 {
        self.missed
    }
}
