//! The rate of a session, by its round trips (Timely: Mittal et al., SIGCOMM 2015), with the bypasses of
//! eRPC (section 5.2.2): at the highest rate and with short round trips nothing is computed or paced.

use super::Config;
use crate::link::Time;
use std::time::Duration;

/// Of the change of round trips, so much is the newest sample's.
const CHANGE_WEIGHT: f64 = 0.02;
/// How strongly the rate falls.
const DECREASE: f64 = 0.8;
/// Of the highest rate, what is added at once.
const INCREASE: f64 = 0.001;
/// After so many samples without congestion the rate rises faster.
const QUIET_SAMPLES: u32 = 5;
/// Of the highest rate, what is always left.
const RATE_LEAST: f64 = 0.001;
/// What a round trip takes without any queue, for the change of round trips to be measured by.
const RTT_LEAST_NANOS: f64 = 2000.0;

#[derive(Debug)]
pub(super) struct Timely {
    rate_max: f64,
    rtt_low: Duration,
    rtt_high: Duration,
    /// Bytes a second; none at the highest rate, so that the common case is one look.
    limited: Option<Limited>,
    last_rtt: Duration,
    /// The smoothed change of round trips, in nanoseconds.
    change: f64,
    quiet: u32,
}

#[derive(Clone, Copy, Debug)]
struct Limited {
    rate: f64,
    /// When the next request may go.
    next: Time,
}

impl Timely {
    pub(super) fn new(config: &Config) -> Self {
        #[expect(clippy::cast_precision_loss, reason = "a rate need not be exact")]
        let rate_max = config.rate_max as f64;
        Self {
            rate_max,
            rtt_low: config.rtt_low,
            rtt_high: config.rtt_high,
            limited: None,
            last_rtt: Duration::ZERO,
            change: 0.0,
            quiet: 0,
        }
    }

    /// Whether the rate is below the highest.
    pub(super) const fn is_slowed(&self) -> bool {
        self.limited.is_some()
    }

    /// Whether the pace lets a request go.
    pub(super) fn may_send(&self, now: Time) -> bool {
        self.limited.is_none_or(|limited| limited.next <= now)
    }

    /// When the pace lets the next request go, if that is later than `now`.
    pub(super) fn next_after(&self, now: Time) -> Option<Time> {
        self.limited.map(|limited| limited.next).filter(|&next| next > now)
    }

    pub(super) fn on_sent(&mut self, now: Time, bytes: usize) {
        if let Some(limited) = &mut self.limited {
            #[expect(clippy::cast_precision_loss, reason = "a packet is short")]
            let gap = Duration::from_secs_f64(bytes as f64 / limited.rate);
            limited.next = limited.next.max(now) + gap;
        }
    }

    /// Takes in a round trip; says whether the rate changed.
    pub(super) fn on_reply(&mut self, rtt: Duration) -> bool {
        if self.limited.is_none() && rtt < self.rtt_low {
            return false;
        }
        self.update(rtt);
        true
    }

    fn update(&mut self, rtt: Duration) {
        let nanos = |rtt: Duration| rtt.as_secs_f64() * 1e9;
        let last = std::mem::replace(&mut self.last_rtt, rtt);
        if !last.is_zero() {
            let change = nanos(rtt) - nanos(last);
            self.change += CHANGE_WEIGHT * (change - self.change);
        }
        let gradient = self.change / RTT_LEAST_NANOS;
        let rate = self.limited.map_or(self.rate_max, |limited| limited.rate);
        let step = INCREASE * self.rate_max;
        let is_quiet = rtt < self.rtt_low || rtt <= self.rtt_high && gradient <= 0.0;
        self.quiet = if is_quiet { self.quiet + 1 } else { 0 };
        let rate = if is_quiet {
            rate + if self.quiet >= QUIET_SAMPLES { step * 5.0 } else { step }
        } else if rtt > self.rtt_high {
            rate * (1.0 - DECREASE * (1.0 - nanos(self.rtt_high) / nanos(rtt)))
        } else {
            rate * (1.0 - DECREASE * gradient.min(1.0))
        };
        let rate = rate.max(RATE_LEAST * self.rate_max);
        let next = self.limited.map_or(Time::default(), |limited| limited.next);
        self.limited = (rate < self.rate_max).then_some(Limited { rate, next });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn timely() -> Timely {
        Timely::new(&Config { rate_max: 1_000_000, ..Config::default() })
    }

    // [RDMA-35]
    #[test]
    fn short_round_trips_cost_nothing_and_long_ones_slow_down_until_they_are_short() {
        let mut timely = timely();
        assert!(!timely.on_reply(Duration::from_micros(49)));
        assert!(timely.limited.is_none());
        for _ in 0..100 {
            assert!(timely.on_reply(Duration::from_millis(5)));
        }
        let slow = timely.limited.expect("congestion").rate;
        assert!((900.0..=1100.0).contains(&slow), "the least there is: {slow}");
        let mut samples = 0;
        while timely.on_reply(Duration::from_micros(10)) {
            samples += 1;
            assert!(samples < 1000, "it does not recover");
        }
        assert!(timely.limited.is_none());
    }

    // [RDMA-35]
    #[test]
    fn round_trips_that_grow_slow_down_before_they_are_long() {
        let mut timely = timely();
        for micros in (60..900).step_by(10) {
            timely.on_reply(Duration::from_micros(micros));
        }
        let rate = timely.limited.expect("they grow").rate;
        assert!(rate < 500_000.0, "{rate}");
    }

    // [RDMA-35]
    #[test]
    fn a_limited_session_keeps_its_pace() {
        let mut timely = timely();
        while timely.limited.is_none_or(|limited| limited.rate > 10_000.0) {
            timely.on_reply(Duration::from_millis(5));
        }
        let (mut now, mut sent) = (Time::from_nanos(1), 0);
        while now < Time::from_nanos(1_000_000_000) {
            if timely.may_send(now) {
                timely.on_sent(now, 100);
                sent += 1;
            }
            now = now + Duration::from_micros(100);
        }
        assert!((20..=100).contains(&sent), "{sent} of 100 bytes, at up to 10,000 a second");
    }
}
