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
    hash: Hash,
    sets: Box<[Set]>,
}

const WAYS: usize = 4;

/// In one cache line.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(64))]
struct Set([Place; WAYS]);

#[derive(Clone, Copy, Debug, Default)]
struct Place {
    prefix: u64,
    bucket: Bucket,
}

impl Prefixes {
    /// A table of `4 * sets` places; `sets` is rounded up to a power of two. `seed` is secret.
    #[must_use]
    pub fn new(rate: Rate, sets: usize, seed: u64) -> Self {
        let sets = vec![Set::default(); sets.next_power_of_two()];
        Self { rate, hash: Hash::new(seed), sets: sets.into_boxed_slice() }
    }

    /// Takes one token of the source's prefix, and returns whether there was one.
    pub fn take(&mut self, source: IpAddr, now_ns: u64) -> bool {
        let prefix = prefix(source);
        let mask = self.sets.len() - 1;
        let set = &mut self.sets[self.hash.of(prefix) as usize & mask];
        let place = match set.0.iter().position(|place| place.prefix == prefix) {
            Some(known) => &mut set.0[known],
            None => set.replace_quiet(prefix),
        };
        place.bucket.take(&self.rate, now_ns, 1)
    }
}

impl Set {
    /// The place of a prefix that has none.
    #[cold]
    fn replace_quiet(&mut self, prefix: u64) -> &mut Place {
        let quiet = self.0.iter_mut().min_by_key(|place| place.bucket.full_ns());
        let quiet = quiet.expect("a set has places");
        *quiet = Place { prefix, bucket: Bucket::default() };
        quiet
    }
}

/// A keyed hash of one number: two multiplications by secret numbers, each folded. It is no cryptographic one, and need not be,
/// as nobody sees its values: at most who has many prefixes sees which of them share a set, which costs nobody else anything.
#[derive(Debug)]
struct Hash([u64; 4]);

impl Hash {
    fn new(seed: u64) -> Self {
        Self([0, 1, 2, 3].map(|number: u64| {
            let mut hasher = DefaultHasher::new();
            hasher.write_u64(seed);
            hasher.write_u64(number);
            hasher.finish()
        }))
    }

    fn of(&self, number: u64) -> u64 {
        let [one, two, three, four] = self.0;
        folded(folded(number ^ one, two) ^ three, four)
    }
}

/// Both halves of the product.
fn folded(one: u64, other: u64) -> u64 {
    let product = u128::from(one) * u128::from(other);
    (product >> u64::BITS) as u64 ^ product as u64
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

    /// Prefixes in a row, as somebody has them who has many, share a set no more often than by chance, and with each seed
    /// others do.
    #[test]
    fn who_shares_a_set_is_known_to_nobody() {
        const SETS: usize = 1024;
        let rows: [fn(u64) -> u64; 3] =
            [|number| 1 << 32 | number, |number| 0x2001_0db8 << 32 | number, |number| number << 48];
        let sets = |seed, row: fn(u64) -> u64| {
            let hash = Hash::new(seed);
            (0..SETS as u64).map(move |number| hash.of(row(number)) as usize % SETS)
        };
        for row in rows {
            let mut before = Vec::new();
            for seed in 0..100 {
                let found: Vec<_> = sets(seed, row).collect();
                let mut shared = [0; SETS];
                found.iter().for_each(|set| shared[*set] += 1);
                let pairs: usize = shared.iter().map(|count| (count * count - count) / 2).sum();
                // 511 are expected, give or take 23.
                assert!((300..800).contains(&pairs), "seed {seed}: {pairs} pairs");
                let same = found.iter().zip(&before).filter(|(now, then)| now == then).count();
                assert!(same < 20, "seed {seed}: {same} as before");
                before = found;
            }
        }
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
