//! Packets that wait for room in a queue pair.

use super::{LOOK, STALL};
use crate::link::Time;
use std::time::Duration;

/// For how long packets have waited for room. [RDMA-44]
#[derive(Clone, Copy, Debug)]
pub(super) struct Waiting {
    sum: Duration,
    looked: Time,
}

impl Waiting {
    pub(super) const fn new(now: Time) -> Self {
        Self { sum: Duration::ZERO, looked: now }
    }

    /// They still wait.
    pub(super) fn look(&mut self, now: Time) {
        let waited = now.since(std::mem::replace(&mut self.looked, now));
        self.sum += crate::planted!("rdma-stall-by-itself": waited.min(LOOK) => waited);
    }

    /// When it is to be looked whether they still wait.
    pub(super) fn look_at(self) -> Time {
        self.looked + LOOK.min(STALL.saturating_sub(self.sum))
    }

    pub(super) fn is_too_long(self) -> bool {
        crate::planted!("rdma-stall-unseen": self.sum >= STALL => false)
    }
}

/// Whether there is something to send, and no room for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::station) enum Blocked {
    No,
    Yes,
}
