//! Token buckets: how much a source, a peer or an actor may do. Time is passed in.
//!
//! A bucket is one number, the time at which it will be full again (the virtual scheduling form of the
//! generic cell rate algorithm, ITU-T I.371). A decision is two comparisons, without a lock or a division.

use std::hash::{DefaultHasher, Hasher};
use std::net::IpAddr;
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

/// Buckets for sources by prefix, /32 or /64, in a table that never grows.
///
/// A prefix lives in one of four places, found by a keyed hash so that nobody can aim at another's. A new
/// prefix takes the place of the one that has been quiet longest, so a flood from many prefixes forgets
/// who was quiet, never who was loud, unless all four are.
#[derive(Debug)]
pub struct Prefixes {
    rate: Rate,
    seed: u64,
    sets: Box<[[Place; WAYS]]>,
}

const WAYS: usize = 4;

#[derive(Clone, Copy, Debug, Default)]
struct Place {
    prefix: u64,
    bucket: Bucket,
}

impl Prefixes {
    /// A table of `4 * sets` places; `sets` is rounded up to a power of two. `seed` is secret.
    #[must_use]
    pub fn new(rate: Rate, sets: usize, seed: u64) -> Self {
        let sets = vec![[Place::default(); WAYS]; sets.next_power_of_two()];
        Self { rate, seed, sets: sets.into_boxed_slice() }
    }

    /// Takes one token of the source's prefix, and returns whether there was one.
    pub fn take(&mut self, source: IpAddr, now_ns: u64) -> bool {
        let prefix = prefix(source);
        let mut hasher = DefaultHasher::new();
        hasher.write_u64(self.seed);
        hasher.write_u64(prefix);
        let mask = self.sets.len() - 1;
        let set = &mut self.sets[hasher.finish() as usize & mask];
        let place = match set.iter_mut().position(|place| place.prefix == prefix) {
            Some(known) => &mut set[known],
            None => {
                let quiet = set.iter_mut().min_by_key(|place| place.bucket.full_ns);
                let quiet = quiet.expect("a set has places");
                *quiet = Place { prefix, bucket: Bucket::default() };
                quiet
            }
        };
        place.bucket.take(&self.rate, now_ns, 1)
    }
}

/// What of an address a flooder cannot choose freely: all of IPv4's, half of IPv6's. Never zero.
fn prefix(source: IpAddr) -> u64 {
    match source.to_canonical() {
        IpAddr::V4(v4) => 1 << 32 | u64::from(v4.to_bits()),
        // No IPv6 prefix that is routed begins with 32 zero bits, so these never meet those above.
        IpAddr::V6(v6) => ((v6.to_bits() >> 64) as u64).max(1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn a_burst_and_then_one_each_interval() {
        let rate = Rate::per_second(10, 5);
        let mut bucket = Bucket::default();
        let now = 7_000 * MS;
        assert_eq!((0..9).filter(|_| bucket.take(&rate, now, 1)).count(), 5);
        assert!(!bucket.take(&rate, now + 99 * MS, 1));
        assert!(bucket.take(&rate, now + 100 * MS, 1));
        assert!(!bucket.take(&rate, now + 100 * MS, 1));
        assert!(!bucket.take(&rate, now + 10_000 * MS, 6), "never more than a burst");
        assert!(bucket.take(&rate, now + 10_000 * MS, 5));
    }

    #[test]
    fn a_rate_of_zero_lets_nothing_pass_and_the_end_of_time_does_no_harm() {
        assert!(!Bucket::default().take(&Rate::per_second(0, 8), u64::MAX / 2, 1));
        assert!(Bucket::default().take(&Rate::per_second(1, 1), u64::MAX - 1, 1));
    }

    #[test]
    fn each_prefix_has_its_own_bucket() {
        let mut table = Prefixes::new(Rate::per_second(1, 3), 16, 99);
        let [one, same, other]: [IpAddr; 3] =
            ["2001:db8::1", "2001:db8::2", "2001:db8:0:1::1"].map(|ip| ip.parse().unwrap());
        assert!((0..3).all(|_| table.take(one, 0)));
        assert!(!table.take(same, 0), "of the same /64");
        assert!(table.take(other, 0));
        let v4: IpAddr = "192.0.2.7".parse().unwrap();
        let mapped: IpAddr = "::ffff:192.0.2.7".parse().unwrap();
        assert!((0..3).all(|_| table.take(v4, 0)));
        assert!(!table.take(mapped, 0), "the same host by its mapped address");
    }

    #[test]
    fn a_loud_prefix_is_remembered_under_a_flood_from_quiet_ones() {
        let mut table = Prefixes::new(Rate::per_second(1, 8), 1, 5);
        let loud: IpAddr = "192.0.2.7".parse().unwrap();
        assert!((0..8).all(|_| table.take(loud, 0)));
        for host in 0..1_000_u32 {
            table.take(IpAddr::V4((0x0a00_0000 + host).into()), 0);
            assert!(!table.take(loud, 0));
        }
    }

    proptest! {
        /// Never more than a burst and what has come since, in any stretch of time.
        #[test]
        fn the_rate_holds_over_every_stretch(steps in proptest::collection::vec((0..400_u64, 1..4_u32), 1..80)) {
            let rate = Rate::per_second(20, 6);
            let (mut bucket, mut now) = (Bucket::default(), 0);
            let mut taken: Vec<(u64, u64)> = Vec::new();
            for (pause, count) in steps {
                now += pause * MS;
                if bucket.take(&rate, now, count) {
                    taken.push((now, u64::from(count)));
                }
            }
            for from in 0..taken.len() {
                let mut sum = 0;
                for &(at, count) in &taken[from..] {
                    sum += count;
                    prop_assert!(sum <= 6 + (at - taken[from].0) / (50 * MS));
                }
            }
        }
    }
}
