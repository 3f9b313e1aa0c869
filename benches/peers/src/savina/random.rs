//! Seeded randomness, and work that keeps a processor busy.

use std::hint::black_box;

/// A xorshift generator: the same seed gives the same numbers to every peer.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// Starts from `seed`, which may be any number.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        // Zero is the one state that a xorshift never leaves.
        Self(mix(seed) | 1)
    }

    /// The next number.
    pub const fn draw(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// The next number, below `limit`.
    pub const fn below(&mut self, limit: u64) -> u64 {
        (self.draw() >> 11) % limit
    }
}

/// Scatters numbers that lie close together.
#[must_use]
pub const fn mix(number: u64) -> u64 {
    let number = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}

/// Computes for that many rounds of the generator, two or three nanoseconds each.
pub fn busy(rounds: u64) {
    let mut random = Random::new(rounds);
    for _ in 0..rounds {
        random.draw();
    }
    black_box(random);
}
