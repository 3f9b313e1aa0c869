//! Which queue a completion is of.
//!
//! A device says the number of a queue pair, which is that of another one once it is destroyed, and a request's number,
//! whose owner users choose. Slots are handed out by what is looked up here when a completion is polled.

use super::super::verbs::{Completion, Direction};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

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

/// The queue pairs that complete into one queue, by their numbers.
#[derive(Debug, Default)]
pub(super) struct Identities(Mutex<BTreeMap<u32, Identity>>);

impl Identities {
    /// A queue pair was made.
    pub(super) fn add(&self, qpn: u32, identity: Identity) {
        self.lock().insert(qpn, identity);
    }

    /// It was destroyed, and another one may have its number by now.
    pub(super) fn remove(&self, qpn: u32, identity: Identity) {
        let mut pairs = self.lock();
        if pairs.get(&qpn) == Some(&identity) {
            pairs.remove(&qpn);
        }
    }

    /// Says of completions that were just polled which queue they are of.
    pub(super) fn mark(&self, completions: &mut [Completion]) {
        if completions.is_empty() {
            return;
        }
        let pairs = self.lock();
        for completion in completions {
            completion.queue = match (pairs.get(&completion.qpn), completion.work.direction()) {
                (Some(identity), Direction::Send) => identity.pair,
                (Some(identity), Direction::Receive) => identity.receives,
                (None, _) => 0,
            };
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<u32, Identity>> {
        // Whoever panics in between leaves a whole map.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;
