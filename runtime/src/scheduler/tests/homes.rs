//! The queues of workers that share none, as a ready queue.

use crate::scheduler::{Batch, Cores, Origin, PerCore, ReadyQueue, WorkerId};
use crate::sync::Mutex;
use crate::task::{Hint, Ready};

/// An actor becomes ready on the worker that it lives on, when its mail has been brought there. Here it lives on whichever
/// worker comes first.
pub(super) struct Homes {
    queue: PerCore,
    workers: usize,
    /// Those that are still on their way to a worker.
    coming: Mutex<Vec<Ready>>,
}

impl Homes {
    pub(super) fn new(workers: usize) -> Self {
        let queue = PerCore::new(workers, &Cores::default());
        Self { queue, workers, coming: Mutex::new(Vec::new()) }
    }
}

impl ReadyQueue for Homes {
    fn push(&self, from: Origin, ready: Ready, _hint: Hint) {
        match from {
            Origin::Worker(id) => self.queue.push(id, ready),
            Origin::External => self.coming.lock().push(ready),
        }
    }

    fn pop(&self, worker: WorkerId, batch: &mut Batch) {
        for ready in self.coming.lock().drain(..) {
            self.queue.push(worker, ready);
        }
        if let Some(ready) = self.queue.next(worker, self.queue.post(worker), &|_| {}) {
            batch.push(ready);
        }
    }

    fn has_work(&self, worker: WorkerId) -> bool {
        !self.coming.lock().is_empty() || self.queue.has_work(worker)
    }

    /// Exact, where only one thread uses the queue: the suite asks nobody else.
    fn len(&self) -> usize {
        let backlog = |worker| {
            // SAFETY: no other thread uses the queue, and no step is inside another one.
            self.queue.backlog(unsafe { WorkerId::new(worker) })
        };
        self.coming.lock().len() + (0..self.workers).map(backlog).sum::<usize>()
    }
}
