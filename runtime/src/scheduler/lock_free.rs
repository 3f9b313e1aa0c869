//! One queue for all workers without a lock, claimed from in batches.
//!
//! Every push goes into one shared queue. A worker claims its share of it by one read-modify-write and
//! keeps what it does not run at once in a ring of its own, from where others may take it: an actor
//! whose handler blocks its worker delays nobody else.
//!
//! Fairness: a worker runs what it has claimed, in order, before it claims again, and nothing joins a
//! claim later.

use super::{Batch, Origin, ReadyQueue, WorkerId};
use crate::queue::mpmc::Mpmc;
use crate::queue::ring::Ring;
use crate::task::{Hint, Ready};

/// See the [module](self).
#[derive(Debug)]
pub(crate) struct LockFreeQueue {
    shared: Mpmc,
    /// What each worker has claimed and not begun to run.
    claimed: Box<[Ring]>,
}

impl LockFreeQueue {
    pub(crate) fn new(workers: usize) -> Self {
        Self { shared: Mpmc::new(), claimed: (0..workers).map(|_| Ring::new()).collect() }
    }

    /// Half of what another worker has claimed, beginning with the next one.
    fn steal(&self, thief: usize, own: &Ring) -> Option<usize> {
        let (before, after) = self.claimed.split_at(thief);
        let mut others = after[1..].iter().chain(before);
        others.find_map(|ring| ring.steal_into(own))
    }
}

impl ReadyQueue for LockFreeQueue {
    fn push(&self, _from: Origin, ready: Ready, _hint: Hint) {
        self.shared.push(ready.into_word());
    }

    fn pop(&self, worker: WorkerId, batch: &mut Batch) {
        let index = worker.index();
        let own = &self.claimed[index];
        let word = own
            .pop()
            .or_else(|| self.shared.claim(self.claimed.len(), own))
            .or_else(|| self.steal(index, own));
        if let Some(word) = word {
            // SAFETY: each word was made by `into_word` and is taken out once.
            batch.push(unsafe { Ready::from_word(word) });
        }
    }

    fn has_work(&self, _worker: WorkerId) -> bool {
        // In this order, which is that in which actors move.
        self.shared.len() > 0 || self.claimed.iter().any(|ring| ring.len() > 0)
    }

    fn len(&self) -> usize {
        self.shared.len() + self.claimed.iter().map(Ring::len).sum::<usize>()
    }
}
