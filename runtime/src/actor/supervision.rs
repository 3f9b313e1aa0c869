//! What a supervisor declares: who is restarted with whom, how often, and how children are stopped.

use super::options::Restart;
use super::traits::Actor;
use std::time::Duration;

/// How long a child may take to stop unless its supervisor says otherwise.
const STOP_LIMIT: Duration = Duration::from_secs(5);

/// Which children are restarted when one of them fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Strategy {
    /// The one that failed.
    OneForOne,
    /// All of them.
    OneForAll,
    /// The one that failed and those that were started after it.
    RestForOne,
}

/// How an actor supervises its children; `#[actor(supervise = …)]` writes it.
///
/// `count` restarts within `window` are allowed. One more failure ends the children in the reverse order
/// of their start, and fails the supervisor itself with
/// [`ExitReason::TooManyRestarts`](crate::ExitReason::TooManyRestarts). However many children one failure
/// restarts, it counts as one. A child that drains restarts by itself, as often as that, and counts for nothing here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Supervision {
    strategy: Strategy,
    limits: Restart,
}

impl Supervision {
    /// Restarts the child that failed.
    #[must_use]
    pub const fn one_for_one(count: u32, window: Duration) -> Self {
        Self { strategy: Strategy::OneForOne, limits: Restart::permanent(count, window) }
    }

    /// Stops all children when one has failed, the last one first, and starts them again in order.
    #[must_use]
    pub const fn one_for_all(count: u32, window: Duration) -> Self {
        Self { strategy: Strategy::OneForAll, limits: Restart::permanent(count, window) }
    }

    /// As [`Supervision::one_for_all`], with the child that failed and those that were started after it.
    #[must_use]
    pub const fn rest_for_one(count: u32, window: Duration) -> Self {
        Self { strategy: Strategy::RestForOne, limits: Restart::permanent(count, window) }
    }

    /// Waits between `min` and `max` before each restart, as [`Restart::backoff`] says.
    #[must_use]
    pub const fn backoff(mut self, min: Duration, max: Duration) -> Self {
        self.limits = self.limits.backoff(min, max);
        self
    }

    /// Shortens each wait at random, as [`Restart::jitter`] says.
    ///
    /// # Panics
    /// If `percent` is above 100.
    #[must_use]
    pub const fn jitter(mut self, percent: u32) -> Self {
        self.limits = self.limits.jitter(percent);
        self
    }

    /// Which children are restarted when one of them fails.
    #[must_use]
    pub const fn strategy(&self) -> Strategy {
        self.strategy
    }

    /// How many restarts there may be in how long a time, and the wait before each.
    #[must_use]
    pub const fn limits(&self) -> Restart {
        self.limits
    }
}

/// An actor that restarts the children it starts with [`Context::supervise`](crate::Context::supervise);
/// `#[actor(supervise = …)]` makes it one.
#[diagnostic::on_unimplemented(
    message = "`{Self}` supervises nobody",
    note = "write `#[actor(supervise = one_for_one(5 in \"10s\"))]` on it, or start the child by `cx.spawn`"
)]
pub trait Supervisor: Actor {
    /// How it does that.
    const SUPERVISION: Supervision;
}

/// How a supervisor stops one of its children. One that drains drains them, however long that takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Shutdown {
    /// Like [`Ref::stop`](crate::Ref::stop); what has not ended by then is killed.
    Within(Duration),
    /// Like [`Ref::kill`](crate::Ref::kill).
    Kill,
    /// Like [`Ref::stop`](crate::Ref::stop), however long it takes.
    Forever,
}

impl Shutdown {
    /// Within five seconds.
    pub(crate) const USUAL: Self = Self::Within(STOP_LIMIT);
}
