//! What the server counts, shown by `INFO`.

use std::sync::atomic::{AtomicU64, Ordering};

/// A count that any thread may add to.
#[derive(Debug, Default)]
pub(crate) struct Count(AtomicU64);

impl Count {
    pub(crate) fn add(&self, more: u64) {
        // Relaxed: counts order nothing.
        self.0.fetch_add(more, Ordering::Relaxed);
    }

    pub(crate) fn subtract(&self, less: u64) {
        // Relaxed: as above.
        self.0.fetch_sub(less, Ordering::Relaxed);
    }

    /// Adds `more`, or as much of it as it can without passing `max`; returns how much.
    pub(crate) fn add_within(&self, more: u64, max: u64) -> u64 {
        let mut added = 0;
        let add = |value: u64| {
            added = more.min(max.saturating_sub(value));
            (added > 0).then_some(value + added)
        };
        // Relaxed: as above. What has to be exact is the sum, and each change of it is one step.
        let _ = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, add);
        added
    }

    /// Adds `more` if that does not pass `max`; returns whether it did.
    pub(crate) fn add_if_within(&self, more: u64, max: u64) -> bool {
        let add = |value: u64| value.checked_add(more).filter(|sum| *sum <= max);
        // Relaxed: as above.
        self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, add).is_ok()
    }

    pub(crate) fn set(&self, value: u64) {
        // Relaxed: as above.
        self.0.store(value, Ordering::Relaxed);
    }

    /// Makes it `value` if it is less.
    pub(crate) fn raise(&self, value: u64) {
        // Relaxed: as above. A look first, since it seldom rises.
        if self.get() < value {
            self.0.fetch_max(value, Ordering::Relaxed);
        }
    }

    pub(crate) fn get(&self) -> u64 {
        // Relaxed: as above.
        self.0.load(Ordering::Relaxed)
    }
}

/// Why a client was cut off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cut {
    /// It did not speak the protocol.
    Protocol,
    /// There were too many clients.
    Crowd,
    /// It listened to channels and did not read.
    SlowListener,
    /// It asked and did not read the answers.
    SlowReader,
    /// It began a command and did not end it.
    SlowWriter,
    /// It sent nothing for longer than `--timeout`.
    Idle,
    /// Its request was larger than the read buffer may be.
    Oversize,
    /// Another client killed it.
    Killed,
    /// All clients together made the server hold too much, and it most of them.
    Evicted,
    /// Its connection broke.
    Broken,
}

impl Cut {
    /// Every reason with the name `INFO` shows it under.
    pub(crate) const ALL: [(Self, &'static str); 10] = [
        (Self::Protocol, "cut_protocol_error"),
        (Self::Crowd, "rejected_connections"),
        (Self::SlowListener, "cut_slow_listener"),
        (Self::SlowReader, "cut_slow_reader"),
        (Self::SlowWriter, "cut_slow_writer"),
        (Self::Idle, "cut_idle"),
        (Self::Oversize, "cut_oversize_request"),
        (Self::Killed, "cut_killed"),
        (Self::Evicted, "evicted_clients"),
        (Self::Broken, "cut_broken"),
    ];
}

/// The counts of one server.
#[derive(Debug, Default)]
pub(crate) struct Stats {
    pub(crate) connections: Count,
    cuts: [Count; Cut::ALL.len()],
}

impl Stats {
    /// Counts a client that was cut off.
    pub(crate) fn cut(&self, reason: Cut) {
        if let Some(count) = self.cuts.get(reason as usize) {
            count.add(1);
        }
    }

    /// Starts all counts anew.
    pub(crate) fn reset(&self) {
        std::iter::once(&self.connections).chain(&self.cuts).for_each(|count| count.set(0));
    }

    /// Returns how many clients were cut off for `reason`.
    pub(crate) fn cuts(&self, reason: Cut) -> u64 {
        self.cuts.get(reason as usize).map_or(0, Count::get)
    }
}

/// What one client has made the server do; each connection counts for itself, so that no two workers write to one
/// place.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Traffic {
    pub(crate) commands: u64,
    pub(crate) turns: u64,
    pub(crate) bytes_in: u64,
    pub(crate) bytes_out: u64,
}

impl Traffic {
    pub(crate) fn add(&mut self, other: Self) {
        self.commands += other.commands;
        self.turns += other.turns;
        self.bytes_in += other.bytes_in;
        self.bytes_out += other.bytes_out;
    }
}
