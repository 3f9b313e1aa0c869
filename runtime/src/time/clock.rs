//! The door to the clock: nanoseconds since the process first asked; or, in a simulated world, what the
//! world says.

use super::gate::{Entrance, Gate};
use crate::sync::{Arc, AtomicU64, Ordering};
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
#[derive(Clone, Debug)]
pub(crate) struct Clock {
    origin: Instant,
    /// Shows the time in place of the real one.
    hand: Option<Arc<Shown>>,
}

/// What a hand decides on.
#[derive(Debug, Default)]
struct Shown {
    now: AtomicU64,
    gate: Gate,
}

/// What moves a clock that is set by hand.
#[derive(Debug)]
pub(crate) struct Hand(Arc<Shown>);

impl Hand {
    /// Sets the clock, which never goes back.
    pub(crate) fn set(&self, now: Time) {
        // Relaxed, here and where it is read: the time orders nothing.
        self.0.now.store(now.0, Ordering::Relaxed);
    }

    /// What holds back those who run beside the clock's system.
    pub(crate) fn gate(&self) -> &Gate {
        &self.0.gate
    }
}

impl Clock {
    #[expect(clippy::disallowed_methods, reason = "this is the door to the clock")]
    pub(crate) fn start() -> Self {
        static ORIGIN: OnceLock<Instant> = OnceLock::new();
        Self { origin: *ORIGIN.get_or_init(Instant::now), hand: None }
    }

    /// A clock that shows what its hand was set to last; at first zero.
    pub(crate) fn by_hand() -> (Self, Hand) {
        let hand = Arc::new(Shown::default());
        (Self { hand: Some(hand.clone()), ..Self::start() }, Hand(hand))
    }

    #[cfg(not(shuttle))]
    pub(crate) fn now(&self) -> Time {
        if let Some(hand) = &self.hand {
            return Time(hand.now.load(Ordering::Relaxed));
        }
        Time(u64::try_from(self.origin.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }

    /// Time passes as it is looked at, so that a schedule can be repeated.
    #[cfg(shuttle)]
    pub(crate) fn now(&self) -> Time {
        Time(crate::sync::ticks() * 10_000)
    }

    /// Milliseconds since 1970 by the machine's clock, which may be wrong and jump; in a simulated world, what the
    /// hand says.
    #[cfg(feature = "membership")]
    pub(crate) fn wall_ms(&self) -> u64 {
        let since = match &self.hand {
            Some(_) => Duration::from_nanos(self.now().0),
            None => std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default(),
        };
        u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
    }

    /// What lets a task that runs beside the system pass, if a hand may hold it back.
    pub(crate) fn entrance(&self) -> Option<Entrance> {
        self.hand.as_ref().map(|hand| hand.gate.entrance())
    }

    /// The same point for other libraries.
    pub(crate) fn instant(&self, time: Time) -> Instant {
        self.origin + Duration::from_nanos(time.0)
    }
}
