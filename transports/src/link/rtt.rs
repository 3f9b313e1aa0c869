//! How long a packet's way there and back takes (RFC 9002, section 5).

use super::time::nanos;
use std::time::Duration;

/// Round-trip time, estimated from samples. It falls as readily as it rises. [LINK-20]
#[derive(Clone, Debug)]
pub(super) struct Rtt {
    /// All in nanoseconds.
    latest: u64,
    least: u64,
    smoothed: u64,
    deviation: u64,
    sampled: bool,
}

impl Rtt {
    /// An estimate to begin with, until the first sample.
    pub(super) fn new(initial: Duration) -> Self {
        let initial = nanos(initial);
        let (smoothed, deviation) = (initial, initial / 2);
        Self { latest: initial, least: u64::MAX, smoothed, deviation, sampled: false }
    }

    /// Takes in that an acknowledgement came `sample` after its packet was sent, of which the peer
    /// says that it waited `ack_delay`.
    pub(super) fn sample(&mut self, sample: Duration, ack_delay: Duration) {
        let (sample, ack_delay) = (nanos(sample), nanos(ack_delay));
        self.latest = sample;
        self.least = self.least.min(sample);
        if !self.sampled {
            self.sampled = true;
            (self.smoothed, self.deviation) = (sample, sample / 2);
            return;
        }
        // A peer that exaggerates its delay cannot pull the estimate below the least (section 5.3).
        let adjusted = sample.checked_sub(ack_delay).filter(|it| *it >= self.least);
        let adjusted = adjusted.unwrap_or(sample);
        let off = self.smoothed.abs_diff(adjusted);
        self.deviation = self.deviation - self.deviation / 4 + off / 4;
        if adjusted >= self.smoothed {
            self.smoothed += off / 8;
        } else {
            self.smoothed -= crate::planted!("link-rtt-never-falls": off.div_ceil(8) => 0);
        }
    }

    pub(super) const fn smoothed(&self) -> Duration {
        Duration::from_nanos(self.smoothed)
    }

    pub(super) const fn is_sampled(&self) -> bool {
        self.sampled
    }

    /// After how long a packet counts as lost, once a later one was acknowledged (section 6.1.2). [LINK-22]
    pub(super) fn loss_delay(&self, granularity: Duration) -> Duration {
        let rtt = self.smoothed.max(self.latest);
        Duration::from_nanos(rtt.saturating_add(rtt / 8)).max(granularity)
    }

    /// How long an acknowledgement may take, the peer's own delay apart (section 6.2.1).
    pub(super) fn probe_delay(&self, granularity: Duration) -> Duration {
        let spread = Duration::from_nanos(self.deviation.saturating_mul(4)).max(granularity);
        self.smoothed().saturating_add(spread)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MS: Duration = Duration::from_millis(1);

    proptest! {
        // [LINK-20]
        #[test]
        fn it_goes_where_the_samples_are(first in 1..5_000_u64, then in 1..5_000_u64) {
            let mut rtt = Rtt::new(Duration::from_millis(333));
            for _ in 0..4 {
                rtt.sample(Duration::from_micros(first), Duration::ZERO);
            }
            for _ in 0..200 {
                rtt.sample(Duration::from_micros(then), Duration::ZERO);
            }
            let off = rtt.smoothed().abs_diff(Duration::from_micros(then));
            prop_assert!(off < Duration::from_micros(1), "{off:?} away from {then} us");
            prop_assert_eq!(rtt.least, nanos(Duration::from_micros(first.min(then))));
        }

        // [LINK-20]
        #[test]
        fn it_stays_between_the_samples(samples in prop::collection::vec(1..1_000_000_u64, 1..60)) {
            let mut rtt = Rtt::new(Duration::from_millis(333));
            for sample in &samples {
                rtt.sample(Duration::from_nanos(*sample), Duration::ZERO);
            }
            let smoothed = nanos(rtt.smoothed());
            prop_assert!(samples.iter().min() <= Some(&smoothed));
            prop_assert!(samples.iter().max() >= Some(&smoothed));
        }

        /// Against the formulas of RFC 9002, section 5.3, in floating point.
        // [LINK-20]
        #[test]
        fn it_is_that_of_the_standard(
            samples in prop::collection::vec((1_000..1_000_000_u64, 0..300_000_u64), 1..60),
        ) {
            let mut rtt = Rtt::new(MS);
            let (mut smoothed, mut deviation, mut least) = (0_f64, 0_f64, f64::MAX);
            for (index, (sample, delay)) in samples.iter().enumerate() {
                rtt.sample(Duration::from_nanos(*sample), Duration::from_nanos(*delay));
                let (sample, delay) = (*sample as f64, *delay as f64);
                least = least.min(sample);
                if index == 0 {
                    (smoothed, deviation) = (sample, sample / 2.0);
                    continue;
                }
                let adjusted = if sample >= least + delay { sample - delay } else { sample };
                deviation = 0.75 * deviation + 0.25 * (smoothed - adjusted).abs();
                smoothed = 0.875 * smoothed + 0.125 * adjusted;
            }
            prop_assert!((rtt.smoothed as f64 - smoothed).abs() < 20.0);
            prop_assert!((rtt.deviation as f64 - deviation).abs() < 20.0);
        }
    }
}
