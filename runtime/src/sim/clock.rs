//! The world's own time, for its tasks.

use super::stage::Stage;
use crate::sync::Arc;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

/// The clock of a [`World`](super::World), which nodes' own clocks may deviate from. Cloning gives another
/// handle.
#[derive(Clone)]
pub struct WorldClock {
    stage: Arc<Stage>,
}

impl WorldClock {
    pub(super) fn new(stage: Arc<Stage>) -> Self {
        Self { stage }
    }

    /// How long the world has existed.
    #[must_use]
    pub fn now(&self) -> Duration {
        Duration::from_nanos(self.stage.now())
    }

    /// Sleeps that long in the world's time.
    pub fn sleep(&self, span: Duration) -> WorldSleep {
        let due = crate::time::Time(self.stage.now()).after(span).0;
        WorldSleep { stage: self.stage.clone(), due, key: None }
    }
}

impl fmt::Debug for WorldClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "WorldClock({:?})", self.now())
    }
}

/// The future of [`WorldClock::sleep`].
#[must_use = "futures do nothing unless polled"]
pub struct WorldSleep {
    stage: Arc<Stage>,
    due: u64,
    key: Option<(u64, u64)>,
}

impl Future for WorldSleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        if let Some(key) = self.key.take() {
            self.stage.forget(key);
        }
        if self.stage.now() >= self.due {
            return Poll::Ready(());
        }
        let key = self.stage.wake_at(self.due, cx.waker().clone());
        self.key = Some(key);
        Poll::Pending
    }
}

impl Drop for WorldSleep {
    fn drop(&mut self) {
        if let Some(key) = self.key.take() {
            self.stage.forget(key);
        }
    }
}

impl fmt::Debug for WorldSleep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "WorldSleep({:?})", Duration::from_nanos(self.due))
    }
}
