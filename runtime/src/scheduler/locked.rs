//! One queue behind one lock.
//!
//! The simplest that works, and the oracle for the others. A worker that
//! is alone takes a whole batch per lock. Where there are others it takes one actor at a time: what
//! is in a batch only its own worker reaches, and a handler that blocked it would delay the rest.
//! Neither does it take more than one once it has seen a high actor: the next one is not to wait for
//! normal actors that are in a batch already.

use super::{Batch, Origin, ReadyQueue, WorkerId};
use crate::sync::{AtomicUsize, Mutex, Ordering};
use crate::task::priority::Line;
use crate::task::{Hint, Priority, Ready};

/// See the [module](self).
#[derive(Debug)]
pub(crate) struct LockedQueue {
    actors: Mutex<Actors>,
    /// The queue's length, written under the lock.
    len: AtomicUsize,
}

/// What the lock guards.
#[derive(Debug)]
struct Actors {
    line: Line,
    /// Picks of each worker at which a high actor waited.
    picks: Box<[u32]>,
    /// Actors taken at once at most.
    batch: usize,
}

impl LockedQueue {
    pub(crate) fn new(workers: usize) -> Self {
        let (line, picks) = (Line::new(), vec![0; workers].into());
        let batch = if workers == 1 { Batch::CAPACITY } else { 1 };
        Self { actors: Mutex::new(Actors { line, picks, batch }), len: AtomicUsize::new(0) }
    }
}

impl ReadyQueue for LockedQueue {
    fn push(&self, _from: Origin, ready: Ready, _hint: Hint) {
        let mut actors = self.actors.lock();
        if ready.priority() == Priority::High {
            actors.batch = 1;
        }
        actors.line.push(ready);
        // Release: pairs with the Acquire in `len`; the lock orders the rest.
        self.len.store(actors.line.len(), Ordering::Release);
    }

    fn pop(&self, worker: WorkerId, batch: &mut Batch) {
        if self.len() == 0 {
            return;
        }
        let mut actors = self.actors.lock();
        let Actors { line, picks, batch: most } = &mut *actors;
        for _ in 0..*most {
            let Some(ready) = line.pop_by(&mut picks[worker.index()]) else { break };
            batch.push(ready);
        }
        // Release: pairs with the Acquire in `len`.
        self.len.store(actors.line.len(), Ordering::Release);
    }

    fn has_work(&self, _worker: WorkerId) -> bool {
        self.len() > 0
    }

    fn len(&self) -> usize {
        // Acquire: pairs with the Release in `push`.
        self.len.load(Ordering::Acquire)
    }
}
