//! Where others leave things for a worker: one word of signals, and a lane for threads that are no
//! workers.
//!
//! ```text
//! signal: | SLEEPING | EXTERNAL | a bit per worker: its ring has something new |
//! ```
//!
//! Invariants:
//! 1. Whoever leaves something sets its bit afterwards, by a read-modify-write; the owner takes all bits
//!    before it looks into what they stand for. So nothing is left behind without a bit.
//! 2. The owner sets SLEEPING only in place of zero, by a read-modify-write: either it sees the bit of
//!    a sender, or the sender sees that it sleeps, and wakes it.
//! 3. The home of an actor changes only under the lane's lock of the worker that it leaves, which is
//!    emptied first: a thread that finds the home unchanged under the lock is not too late.

use crate::sync::{AtomicU64, Mutex, Ordering};
use crate::task::cargo::Cargo;
use crate::task::cell::CellRef;
use std::collections::VecDeque;

const SLEEPING: u64 = 1 << 63;
/// Stands for the lane.
pub(super) const EXTERNAL: u64 = 1 << 62;

/// What a lane holds before it grows; the owner keeps as much to take it to.
pub(super) const LANE_AT_START: usize = 1024;

/// Workers that have a bit of their own.
pub(crate) const WORKERS_MAX: usize = 62;

/// See the [module](self).
#[derive(Debug)]
pub(super) struct Dock {
    signal: AtomicU64,
    lane: Mutex<Lane>,
}

/// What threads that are no workers have left.
#[derive(Debug)]
struct Lane {
    cargo: VecDeque<Cargo>,
    /// Set when the worker has left for good.
    closed: bool,
}

/// What became of something left in the lane.
#[derive(Debug)]
pub(super) enum Left {
    /// It is there; `wake` says that the owner sleeps.
    Here {
        /// Whether the caller must wake the owner.
        wake: bool,
    },
    /// The actor has moved meanwhile.
    Moved(Cargo),
    /// The worker has left for good.
    Closed(Cargo),
}

impl Dock {
    pub(super) fn new() -> Self {
        let lane = Lane { cargo: VecDeque::with_capacity(LANE_AT_START), closed: false };
        Self { signal: AtomicU64::new(0), lane: Mutex::new(lane) }
    }

    /// Says that something was left; `true` if the owner sleeps and the caller must wake it.
    #[must_use]
    pub(super) fn raise(&self, bit: u64) -> bool {
        // AcqRel: releases what was left to `take`; the rendezvous with `fall_asleep`.
        self.signal.fetch_or(bit, Ordering::AcqRel) & SLEEPING != 0
    }

    /// Whether something was left. A hint. Owner only.
    #[inline]
    pub(super) fn is_raised(&self) -> bool {
        // Relaxed: a hint; `take` acquires, and `fall_asleep` decides.
        self.signal.load(Ordering::Relaxed) & !SLEEPING != 0
    }

    /// The bits of all who left something. Owner only.
    pub(super) fn take(&self) -> u64 {
        // AcqRel: acquires what was left before the bits were set.
        self.signal.swap(0, Ordering::AcqRel) & !SLEEPING
    }

    /// Announces that the owner sleeps; `false` if something was left. Owner only.
    #[must_use]
    pub(super) fn fall_asleep(&self) -> bool {
        // AcqRel: the rendezvous with `raise`; releases what the owner did to `is_at_rest`.
        self.signal.compare_exchange(0, SLEEPING, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    }

    /// Takes the announcement back. Owner only.
    pub(super) fn wake(&self) {
        // AcqRel: acquires what those released who saw the owner asleep.
        self.signal.fetch_and(!SLEEPING, Ordering::AcqRel);
    }

    /// Whether the owner sleeps and has taken everything that was left: it has no mail on the way to
    /// anybody, and will know, when it wakes, what the caller did before.
    pub(super) fn is_at_rest(&self) -> bool {
        // AcqRel: the rendezvous with `fall_asleep` and `wake`.
        self.signal
            .compare_exchange(SLEEPING, SLEEPING, Ordering::AcqRel, Ordering::Relaxed)
            .is_ok()
    }

    /// Leaves a cargo in the lane, if the actor is `still_here`. Any thread.
    pub(super) fn leave(&self, cargo: Cargo, still_here: impl FnOnce(&CellRef) -> bool) -> Left {
        let mut lane = self.lane.lock();
        if !still_here(cargo.to()) {
            return Left::Moved(cargo);
        }
        if lane.closed {
            return Left::Closed(cargo);
        }
        let first = lane.cargo.is_empty();
        lane.cargo.push_back(cargo);
        drop(lane);
        // Whoever left the first one raises the bit for those behind it.
        Left::Here { wake: first && self.raise(EXTERNAL) }
    }

    /// Takes what is in the lane, in order, into `taken`, which is empty, and does `meanwhile` under the
    /// lane's lock. Owner only.
    pub(super) fn empty(&self, taken: &mut VecDeque<Cargo>, meanwhile: impl FnOnce()) {
        let mut lane = self.lane.lock();
        std::mem::swap(&mut lane.cargo, taken);
        meanwhile();
    }

    /// Closes the lane for good and returns what was in it.
    pub(super) fn close(&self) -> VecDeque<Cargo> {
        let mut lane = self.lane.lock();
        lane.closed = true;
        std::mem::take(&mut lane.cargo)
    }
}
