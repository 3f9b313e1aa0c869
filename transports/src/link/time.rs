//! A moment on the carrier's clock.

use std::ops::{Add, Sub};
use std::time::Duration;

/// A moment: nanoseconds since a start that the carrier chose. It never runs backwards.
///
/// ```
/// use greenroom_transports::link::Time;
/// use std::time::Duration;
///
/// let start = Time::from_nanos(5);
/// assert_eq!((start + Duration::from_micros(1)).since(start), Duration::from_micros(1));
/// assert_eq!(start.since(start + Duration::from_micros(1)), Duration::ZERO);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(u64);

impl Time {
    /// The moment `nanos` nanoseconds after the carrier's start.
    #[must_use]
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// Nanoseconds since the carrier's start.
    #[must_use]
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// How long ago `earlier` was; zero if it is still to come.
    #[must_use]
    pub const fn since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }
}

impl Add<Duration> for Time {
    type Output = Self;

    fn add(self, span: Duration) -> Self {
        Self(self.0.saturating_add(nanos(span)))
    }
}

impl Sub<Duration> for Time {
    type Output = Self;

    fn sub(self, span: Duration) -> Self {
        Self(self.0.saturating_sub(nanos(span)))
    }
}

/// The span in nanoseconds, or as many as there are.
pub(super) fn nanos(span: Duration) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
}
