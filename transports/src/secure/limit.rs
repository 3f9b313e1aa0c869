//! How much a source may do: token buckets, of which there is one for each prefix. Time is passed in.

pub use greenroom::net::{Bucket, Rate};
use std::hash::{DefaultHasher, Hasher};
use std::net::IpAddr;

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
                let quiet = set.iter_mut().min_by_key(|place| place.bucket.full_ns());
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
}
