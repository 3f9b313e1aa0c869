//! The door to randomness: numbers that follow from one seed.
//!
//! The numbers are those of SplitMix64 (Steele, Lea and Flood 2014): a counter, each value of which is
//! stirred on its own, so that threads share no more than the counter.

use crate::sync::{AtomicU64, Ordering};
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;

/// What the counter moves by: odd, and near the golden ratio of its range.
const STEP: u64 = 0x9E37_79B9_7F4A_7C15;

/// See the [module](self).
#[derive(Debug)]
pub(crate) struct Random(AtomicU64);

impl Random {
    /// Numbers that follow from `seed`; from one of the operating system's without.
    pub(crate) fn new(seed: Option<u64>) -> Self {
        let seed = seed.unwrap_or_else(|| RandomState::new().hash_one(0));
        Self(AtomicU64::new(seed))
    }

    /// The next number, any of its type with the same chance.
    pub(crate) fn next(&self) -> u64 {
        // Relaxed: each number is given out once, and carries nothing else.
        spread(self.0.fetch_add(STEP, Ordering::Relaxed))
    }
}

/// The same numbers, for those who count themselves: number `index` of `seed`, counted from zero.
pub(crate) const fn nth(seed: u64, index: u64) -> u64 {
    spread(seed.wrapping_add(index.wrapping_mul(STEP)))
}

/// Spreads a number over all bits: neighbours have nothing in common any more.
pub(crate) const fn spread(number: u64) -> u64 {
    let mut stirred = number.wrapping_add(STEP);
    stirred = (stirred ^ (stirred >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    stirred = (stirred ^ (stirred >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    stirred ^ (stirred >> 31)
}

/// Brings a random number into the range below `end` (Lemire 2019, without his rejection: the chances
/// differ by less than `end` in 2^64).
pub(crate) fn below(random: u64, end: u64) -> u64 {
    let wide = u128::from(random) * u128::from(end);
    u64::try_from(wide >> 64).expect("the upper half of a product fits")
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests;
