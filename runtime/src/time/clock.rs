//! The door to the clock: nanoseconds since the process first asked.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// A point in time, in nanoseconds since the process first asked: the same for all its systems, so that
/// a deadline may travel from one to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Time(pub(crate) u64);

impl Time {
    /// Later than every reachable time.
    pub(crate) const NEVER: Self = Self(u64::MAX);

    /// `self + span`, or [`Time::NEVER`] when out of range.
    pub(crate) fn after(self, span: Duration) -> Self {
        let nanos = u64::try_from(span.as_nanos()).unwrap_or(u64::MAX);
        Self(self.0.saturating_add(nanos))
    }

    /// `self - earlier`, or zero.
    pub(crate) fn since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }
}

/// The monotonic clock.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    origin: Instant,
}

impl Clock {
    #[expect(clippy::disallowed_methods, reason = "this is the door to the clock")]
    pub(crate) fn start() -> Self {
        static ORIGIN: OnceLock<Instant> = OnceLock::new();
        Self { origin: *ORIGIN.get_or_init(Instant::now) }
    }

    #[cfg(not(shuttle))]
    pub(crate) fn now(&self) -> Time {
        Time(u64::try_from(self.origin.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }

    /// Time passes as it is looked at, so that a schedule can be repeated.
    #[cfg(shuttle)]
    pub(crate) fn now(&self) -> Time {
        Time(crate::sync::ticks() * 10_000)
    }

    /// The same point for other libraries.
    pub(crate) fn instant(&self, time: Time) -> Instant {
        self.origin + Duration::from_nanos(time.0)
    }
}
