//! Where others leave things for a worker: its signal, and a lane for threads that are no workers.
//!
//! Invariant 1: the home of an actor changes only under the lane's lock of the worker that it leaves, which is
//! emptied first: a thread that finds the home unchanged under the lock is not too late.
//!
//! Invariant 2: an order to drain an actor is delivered after its worker has emptied the lane, whose mailbox was closed
//! before: a thread that finds the mailbox open under the lock is not too late. Mail of workers is in front of the order by
//! a fence, but for what tokio's tasks send from a worker that waits in tokio: they look when it has taken that back.
//!
//! Invariant 3: who has left something has left it with a worker that is not at rest: the bit is raised under the lock.
//! Raised after it, by a thread that the kernel stops in between, it would be missing for all who leave more meanwhile.

use crate::scheduler::signal::{EXTERNAL, Signal};
use crate::sync::{AtomicBool, Mutex, planted};
use crate::task::cargo::Cargo;
use crate::task::cell::CellRef;
use std::collections::VecDeque;

/// What a lane holds before it grows; the owner keeps as much to take it to.
pub(super) const LANE_AT_START: usize = 1024;

/// See the [module](self).
#[derive(Debug)]
pub(super) struct Dock {
    pub(super) signal: Signal,
    /// Whether the owner looks for work, and has none, or sleeps since then. Beside the signal that it looks at: it writes
    /// to no line of others.
    pub(super) searches: AtomicBool,
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
    /// It is a user's message, and the mailbox is closed.
    Late(Cargo),
}

impl Dock {
    pub(super) fn new() -> Self {
        let lane = Lane { cargo: VecDeque::with_capacity(LANE_AT_START), closed: false };
        Self { signal: Signal::new(), searches: AtomicBool::new(false), lane: Mutex::new(lane) }
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
        if planted!("per-core-accepts-late": cargo.is_late() => false) {
            return Left::Late(cargo);
        }
        let first = lane.cargo.is_empty();
        lane.cargo.push_back(cargo);
        // Whoever left the first one raises the bit for those behind it, before they can be there (invariant 3).
        let raise = || first && self.signal.raise(EXTERNAL);
        let wake = planted!("per-core-raised-late": raise() => {
            drop(lane);
            raise()
        });
        Left::Here { wake }
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
