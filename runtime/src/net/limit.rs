//! Token buckets: how much a peer may do, also with one actor. Time is passed in.
//!
//! A bucket is one number, the time at which it will be full again (the virtual scheduling form of the
//! generic cell rate algorithm, ITU-T I.371). A decision is two comparisons, without a lock or a division.

use crate::time::Time;
use std::time::Duration;

/// How much is allowed: so many at once, and one more each interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    interval_ns: u64,
    burst_ns: u64,
}

impl Rate {
    /// One each `interval`, and `burst` of them at once after a pause.
    #[must_use]
    pub fn new(interval: Duration, burst: u32) -> Self {
        let interval_ns = u64::try_from(interval.as_nanos()).unwrap_or(u64::MAX);
        Self { interval_ns, burst_ns: interval_ns.saturating_mul(u64::from(burst)) }
    }

    /// `count` each second, and `burst` of them at once after a pause. None at all if `count` is zero.
    #[must_use]
    pub fn per_second(count: u32, burst: u32) -> Self {
        let Some(interval) = Duration::from_secs(1).checked_div(count) else {
            return Self { interval_ns: u64::MAX, burst_ns: 0 };
        };
        Self::new(interval, burst)
    }
}

/// A bucket of tokens, full at first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bucket {
    /// When it will be full again.
    full_ns: u64,
}

impl Bucket {
    /// When it will be full again, in nanoseconds.
    #[must_use]
    pub const fn full_ns(&self) -> u64 {
        self.full_ns
    }

    /// Takes `count` tokens if there are as many, and returns whether there were.
    #[inline]
    pub fn take(&mut self, rate: &Rate, now_ns: u64, count: u32) -> bool {
        let cost = rate.interval_ns.saturating_mul(u64::from(count));
        let full = self.full_ns.max(now_ns).saturating_add(cost);
        let fits = full - now_ns <= rate.burst_ns;
        if fits {
            self.full_ns = full;
        }
        fits
    }
}

/// Whether limits, as far as there are any, allow one more: all of them, or it costs none of them anything.
pub(super) fn allow(limits: [&mut Option<Limit>; 2], now: impl FnOnce() -> Time) -> bool {
    if limits.iter().all(|limit| limit.is_none()) {
        return true;
    }
    let now = now();
    let before = [*limits[0], *limits[1]];
    let [one, other] = limits;
    let allowed = [&mut *one, &mut *other].into_iter().flatten().all(|limit| limit.allows(now));
    if !allowed {
        [*one, *other] = before;
    }
    allowed
}

/// A bucket with its rate.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limit {
    rate: Rate,
    bucket: Bucket,
}

impl Limit {
    pub(super) fn new(rate: Rate) -> Self {
        Self { rate, bucket: Bucket::default() }
    }

    /// Takes one token, and returns whether there was one.
    pub(super) fn allows(&mut self, now: Time) -> bool {
        self.bucket.take(&self.rate, now.0, 1)
    }
}
