//! What a node's clock shows, as the world's time passes.

use crate::sync::planted;
use crate::time::Time;
use std::time::Duration;

const MILLION: u64 = 1_000_000;
/// A clock stands still there, long before [`Time::NEVER`], at which nothing is due.
const LAST: u64 = u64::MAX / 2;

/// A clock that may be ahead, run fast or slow, or stand still; it never goes back.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Skew {
    /// A point on the world's clock, and what the node's showed then.
    world: u64,
    node: u64,
    /// Nanoseconds of the node's clock in a millisecond of the world's.
    rate: u64,
}

impl Skew {
    pub(crate) const fn none() -> Self {
        Self { world: 0, node: 0, rate: MILLION }
    }

    /// What the clock shows at a time of the world.
    pub(crate) fn at(&self, world: u64) -> Time {
        if self.rate == MILLION {
            return Time(self.node.saturating_add(world - self.world).min(LAST));
        }
        let passed = u128::from(world - self.world) * u128::from(self.rate) / u128::from(MILLION);
        Time(self.node.saturating_add(u64::try_from(passed).unwrap_or(LAST)).min(LAST))
    }

    /// The first time of the world when the clock shows `node`; `None` if it stands still until then.
    pub(crate) fn world_at(&self, node: Time) -> Option<u64> {
        let ahead = node.0.saturating_sub(self.node);
        if ahead == 0 {
            return Some(self.world);
        }
        if self.rate == 0 || node.0 > LAST {
            return None;
        }
        let (ahead, rate) = (u128::from(ahead) * u128::from(MILLION), u128::from(self.rate));
        let passed = planted!("sim-timer-early": ahead.div_ceil(rate) => ahead / rate);
        u64::try_from(passed).ok()?.checked_add(self.world)
    }

    /// From `world` on, lets the clock gain so many millionths on the world's, or lose them.
    pub(crate) fn drift(&mut self, world: u64, millionths: i32) {
        self.anchor(world);
        self.rate = MILLION.saturating_add_signed(i64::from(millionths));
    }

    /// At `world`, lets the clock jump ahead.
    pub(crate) fn jump(&mut self, world: u64, ahead: Duration) {
        self.anchor(world);
        self.node = Time(self.node).after(ahead).0.min(LAST);
    }

    /// From `world` on, lets the clock stand still.
    pub(crate) fn freeze(&mut self, world: u64) {
        self.anchor(world);
        self.rate = 0;
    }

    fn anchor(&mut self, world: u64) {
        self.node = self.at(world).0;
        self.world = world;
    }
}

#[cfg(test)]
mod tests;
