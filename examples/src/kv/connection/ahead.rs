//! What clients send while they have replies to read.

use std::sync::Arc;

use crate::kv::shared::{Limits, Shared};

/// What was taken in from a client that had replies to read, as a part of what may be from all.
#[derive(Debug)]
pub(super) struct Ahead {
    shared: Arc<Shared>,
    bytes: usize,
}

impl Ahead {
    pub(super) fn new(shared: Arc<Shared>) -> Self {
        Self { shared, bytes: 0 }
    }

    /// Returns whether more may be taken in.
    pub(super) fn has_room(&self) -> bool {
        self.shared.ahead_bytes.get() < Limits::AHEAD_BYTES_MAX as u64
    }

    pub(super) fn add(&mut self, count: usize) {
        self.bytes += count;
        self.shared.ahead_bytes.add(count as u64);
    }

    /// Tells that no more than so many bytes are left.
    pub(super) fn keep(&mut self, left: usize) {
        let gone = self.bytes.saturating_sub(left);
        self.bytes -= gone;
        if gone > 0 {
            self.shared.ahead_bytes.subtract(gone as u64);
        }
    }
}

impl Drop for Ahead {
    fn drop(&mut self) {
        self.keep(0);
    }
}
