//! The ready queue of a world: any ready actor may be next, and the world's choices say which.

use super::policy::Chooser;
use super::stage::Stage;
use crate::scheduler::{Batch, Origin, ReadyQueue, WorkerId};
use crate::sync::{Arc, Mutex};
use crate::task::{Hint, Ready};

/// See the [module](self).
pub(crate) struct SimulatedQueue {
    stage: Arc<Stage>,
    inside: Mutex<(Vec<Ready>, Chooser)>,
}

impl SimulatedQueue {
    pub(crate) fn new(stage: Arc<Stage>) -> Self {
        let chooser = stage.chooser();
        Self { stage, inside: Mutex::new((Vec::new(), chooser)) }
    }
}

impl ReadyQueue for SimulatedQueue {
    fn push(&self, _from: Origin, ready: Ready, _hint: Hint) {
        self.inside.lock().0.push(ready);
    }

    fn pop(&self, _worker: WorkerId, batch: &mut Batch) {
        let mut inside = self.inside.lock();
        let (ready, chooser) = &mut *inside;
        if ready.is_empty() {
            return;
        }
        let choose = |choices: &mut _| chooser.choose(ready.iter().map(Ready::number), choices);
        let place = self.stage.choose(choose);
        batch.push(ready.remove(place));
    }

    fn has_work(&self, _worker: WorkerId) -> bool {
        self.len() > 0
    }

    fn len(&self) -> usize {
        self.inside.lock().0.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scheduler::ready_queue_of_one_thread_conforms;
    use crate::sim::choice::Source;
    use crate::sim::options::Options;
    use crate::sim::policy::DRAWN;

    #[test]
    fn the_queue_of_a_world_conforms() {
        for (seed, policy) in (0..).zip(DRAWN) {
            let options = Options { policy: Some(policy), ..Options::default() };
            let stage = Arc::new(Stage::new(Source::Seed(seed), &options));
            ready_queue_of_one_thread_conforms(|_workers| SimulatedQueue::new(Arc::clone(&stage)));
        }
    }
}
