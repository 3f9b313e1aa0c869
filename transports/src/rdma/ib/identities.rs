//! Which queue a completion is of.
//!
//! A device says the number of a queue pair, which is that of another one once it is destroyed, and a request's number,
//! whose owner users choose. Slots are handed out by what is looked up here when a completion is polled. One of a queue pair that
//! was destroyed before is then said to be of nobody, or of who has its number by now: whose sends it is not among, which are
//! counted from elsewhere.

use super::super::verbs::{Completion, Direction};
use hashbrown::HashMap;
use parking_lot::Mutex;
use rustc_hash::FxBuildHasher;
use std::sync::atomic::{AtomicU64, Ordering};

/// A number that no other queue of this process has had.
pub(super) fn fresh() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    // Relaxed: that it is never given twice needs no other memory.
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// A queue pair, and what its receives come from: itself, or shared ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Identity {
    pub(super) pair: u64,
    pub(super) receives: u64,
}

type Pairs = HashMap<u32, Identity, FxBuildHasher>;

/// The queue pairs that complete into one queue, by their numbers.
#[derive(Debug, Default)]
pub(super) struct Identities {
    pairs: Mutex<Pairs>,
    /// How often they have changed.
    changes: AtomicU64,
}

/// What who polls knows of them: a copy, which is looked at without a lock.
#[derive(Debug, Default)]
pub(super) struct Known {
    pairs: Pairs,
    changes: u64,
}

impl Identities {
    /// A queue pair was made, and nothing was posted to it.
    pub(super) fn add(&self, qpn: u32, identity: Identity) {
        let mut pairs = self.pairs.lock();
        pairs.insert(qpn, identity);
        self.has_changed();
    }

    /// It was destroyed, and another one may have its number by now.
    pub(super) fn remove(&self, qpn: u32, identity: Identity) {
        let mut pairs = self.pairs.lock();
        if pairs.get(&qpn) == Some(&identity) {
            pairs.remove(&qpn);
            self.has_changed();
        }
    }

    /// Says of completions that were just polled which queue they are of.
    pub(super) fn mark(&self, known: &mut Known, completions: &mut [Completion]) {
        if completions.is_empty() {
            return;
        }
        // Acquire: with `has_changed`. What was polled was posted after its queue pair was added, so that is seen.
        if self.changes.load(Ordering::Acquire) != known.changes {
            self.tell(known);
        }
        for completion in completions {
            let pair = known.pairs.get(&completion.qpn);
            completion.queue = match (pair, completion.work.direction()) {
                (Some(identity), Direction::Send) => identity.pair,
                (Some(identity), Direction::Receive) => identity.receives,
                (None, _) => 0,
            };
        }
    }

    #[cold]
    fn tell(&self, known: &mut Known) {
        let pairs = self.pairs.lock();
        known.pairs.clone_from(&pairs);
        // Relaxed: it changes under the lock.
        known.changes = self.changes.load(Ordering::Relaxed);
    }

    /// Under the lock.
    fn has_changed(&self) {
        // Release: with `mark`.
        self.changes.fetch_add(1, Ordering::Release);
    }
}

#[cfg(test)]
mod tests;
