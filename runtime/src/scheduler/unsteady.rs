//! What a world puts around the ready queue that its workers share: it keeps the promises of a
//! [`ReadyQueue`], and no more than those. It notes who pushes from another thread than the world's.

use super::{Batch, Origin, ReadyQueue, WorkerId};
use crate::sync::{Rare, WakeList, buggify};
use crate::task::{Hint, Ready};

/// See the [module](self).
pub(crate) struct Unsteady {
    queue: Box<dyn ReadyQueue>,
    woken: WakeList,
}

impl Unsteady {
    pub(super) fn new(queue: Box<dyn ReadyQueue>, woken: WakeList) -> Self {
        Self { queue, woken }
    }
}

impl ReadyQueue for Unsteady {
    fn push(&self, from: Origin, ready: Ready, hint: Hint) {
        self.woken.check_thread();
        let from = if buggify(Rare::SpillEarly) { Origin::External } else { from };
        let hint = if hint == Hint::Next && buggify(Rare::WakeLate) { Hint::Back } else { hint };
        self.queue.push(from, ready, hint);
    }

    fn give_way(&self, worker: WorkerId, ready: Ready) {
        if buggify(Rare::SpillEarly) {
            self.queue.push(Origin::External, ready, Hint::Back);
        } else {
            self.queue.give_way(worker, ready);
        }
    }

    fn pop(&self, worker: WorkerId, batch: &mut Batch) {
        if !buggify(Rare::StealAlways) {
            self.queue.pop(worker, batch);
        }
    }

    fn has_work(&self, worker: WorkerId) -> bool {
        self.queue.has_work(worker)
    }

    fn hand_over(&self, worker: WorkerId) {
        self.queue.hand_over(worker);
    }

    fn len(&self) -> usize {
        self.queue.len()
    }
}
