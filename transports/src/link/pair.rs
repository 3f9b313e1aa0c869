//! Who a message is from and to, as a table finds it.
//!
//! A peer chooses the numbers of its actors. By a hash that it knew it could choose such that all have one place in a table,
//! and each message would be compared with thousands.

use super::envelope::{Address, Envelope};
use super::random::Random;
use std::hash::{BuildHasher, Hash, Hasher};

/// Whose messages keep their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pair {
    pub(super) from: Address,
    to: Address,
}

impl Pair {
    pub(super) const fn of(envelope: &Envelope) -> Self {
        Self { from: envelope.from, to: envelope.to }
    }
}

// At once: each message looks for its pair.
impl Hash for Pair {
    #[inline]
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u128(u128::from(self.from.number()) << 64 | u128::from(self.to.number()));
    }
}

/// Hashes pairs by numbers that the peer does not know.
#[derive(Clone, Copy, Debug)]
pub(super) struct ByKey([u64; 2]);

impl ByKey {
    pub(super) const fn new(seed: u64) -> Self {
        // Other numbers than those that the lane draws, of which the peer sees something.
        let mut random = Random::new(!seed);
        Self([random.next(), random.next()])
    }
}

impl BuildHasher for ByKey {
    type Hasher = Folded;

    #[inline]
    fn build_hasher(&self) -> Folded {
        Folded { key: self.0, hash: 0 }
    }
}

/// A product of two numbers, both halves of it folded into one.
pub(super) struct Folded {
    key: [u64; 2],
    hash: u64,
}

impl Hasher for Folded {
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "both halves are taken")]
    fn write_u128(&mut self, pair: u128) {
        let [from, to] = [(pair >> 64) as u64, pair as u64];
        let product = u128::from(from ^ self.key[0] ^ self.hash) * u128::from(to ^ self.key[1]);
        self.hash = (product >> 64) as u64 ^ product as u64;
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u128(u128::from(*byte)));
    }

    #[inline]
    fn finish(&self) -> u64 {
        self.hash
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustc_hash::FxBuildHasher;
    use std::collections::BTreeSet;

    /// The inverse of what `FxBuildHasher` multiplies by.
    fn inverse() -> u64 {
        let mut by = FxBuildHasher.build_hasher();
        by.write_u64(1);
        let factor = by.finish().rotate_right(26);
        // Newton's way: each step doubles how many bits are right.
        (0..6).fold(factor, |found, _| {
            found.wrapping_mul(2_u64.wrapping_sub(factor.wrapping_mul(found)))
        })
    }

    /// How many places of 4,096 are taken by as many actors, whose numbers are chosen to take one by a hash without a key.
    fn places(hash: impl Fn(Address) -> u64) -> usize {
        let place = |number: u64| {
            let [a, b, c, d, e, f, g, h] = number.wrapping_mul(inverse()).to_le_bytes();
            let slot = u32::from_le_bytes([a, b, c, d]);
            hash(Address { slot, generation: u32::from_le_bytes([e, f, g, h]) }) % 4096
        };
        (0..4096).map(place).collect::<BTreeSet<_>>().len()
    }

    #[test]
    fn numbers_that_a_peer_chooses_have_different_places() {
        assert_eq!(places(|to| FxBuildHasher.hash_one(to)), 1);
        for seed in 0..100 {
            let by = ByKey::new(seed);
            let places = places(|to| by.hash_one(Pair { from: Address::default(), to }));
            // By chance, 63 of 100 are taken.
            assert!(places > 2_000, "{places} with the seed {seed}");
        }
    }
}
