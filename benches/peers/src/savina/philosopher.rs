//! Dining philosophers: 20 of them ask an arbiter for their two forks, and again when refused.

use crate::sizes::share;

/// How many philosophers there are, and forks.
pub const PHILOSOPHERS: usize = 20;

/// How often that philosopher eats when all together eat `n` times.
#[must_use]
pub const fn meals(philosopher: usize, n: u64) -> u64 {
    share(n, PHILOSOPHERS as u64, philosopher as u64)
}

/// What the arbiter keeps.
#[derive(Debug)]
pub struct Table {
    taken: [bool; PHILOSOPHERS],
    left: u64,
}

impl Table {
    /// A table for `n` meals.
    #[must_use]
    pub const fn new(n: u64) -> Self {
        Self { taken: [false; PHILOSOPHERS], left: n }
    }

    /// Takes both forks of that philosopher, if both lie there.
    pub const fn take(&mut self, philosopher: usize) -> bool {
        let (left, right) = (philosopher, (philosopher + 1) % PHILOSOPHERS);
        if self.taken[left] || self.taken[right] {
            return false;
        }
        self.taken[left] = true;
        self.taken[right] = true;
        true
    }

    /// Puts them back after a meal; `true` if it was the last.
    pub fn put_back(&mut self, philosopher: usize) -> bool {
        for fork in [philosopher, (philosopher + 1) % PHILOSOPHERS] {
            assert!(self.taken[fork], "whoever eats has both forks");
            self.taken[fork] = false;
        }
        self.left -= 1;
        self.left == 0
    }
}
