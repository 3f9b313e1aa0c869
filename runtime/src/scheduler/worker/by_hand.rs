//! A worker whose turns somebody else takes, one at a time: without a thread, a runtime or a time of its
//! own. Simulated worlds run all their workers so, on one thread.

use super::{Shared, Worker};
use crate::scheduler::WorkerId;
use crate::scheduler::queues::Queues;
use crate::sync::{Arc, Ordering, Rare, buggify};
use crate::task::Ready;
use crate::task::core::Core;
use crate::task::current;
use crate::task::run::Turn;
use crate::task::share::Share;
use crate::task::witness::Witness;
use crate::time::Time;
use std::task::Waker;

/// What is taken for the stack of whoever takes the turns: as much as threads have that are not asked for more.
const STACK_BYTES: usize = 2 << 20;

/// What a worker did in its turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Took {
    /// It ran the actor of that number, or moved mail; there may be more.
    Turn(Option<u64>),
    /// Nothing: it sleeps until its waker is called.
    Nothing,
    /// Nothing: its system has ended, and so has the worker.
    Left,
}

/// How a turn goes, where that is up to chance.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Manner {
    /// Whether it counts as having lasted so long that others are to help with what is left.
    pub(crate) late: bool,
    /// Whether a question may be answered inside the turn of its asker.
    pub(crate) nests: bool,
    /// Whether somebody wants to see each message by itself.
    pub(crate) is_seen: bool,
}

impl Shared {
    /// Lets another worker have some of the calling one's actors, where each lives on one.
    fn hand_over(&self, id: WorkerId) {
        if let Queues::PerCore(queue) = &self.queues {
            let other = (id.index() + 1) % self.wakers.len();
            queue.share(id, other, &|worker| self.wake(worker));
        }
    }

    /// Has all workers on duty, or one, whoever is now; where that may change at all.
    fn change_duty(&self) {
        if self.duty.is_some() {
            let all = self.wakers.len();
            self.idle.set_on_duty(if self.idle.on_duty() == 1 { all } else { 1 });
        }
    }
}

/// See the [module](self).
pub(crate) struct ByHand {
    worker: Worker,
    has_left: bool,
}

impl ByHand {
    /// A worker that `waker` makes known to be worth a turn.
    pub(in crate::scheduler) fn new(
        index: usize,
        shared: &Arc<Shared>,
        core: &Arc<Core>,
        limits: super::Limits,
        waker: Waker,
    ) -> Self {
        shared.wakers[index].get_or_init(|| waker);
        // SAFETY: one thread at a time has the value, and says so in each turn.
        let worker = unsafe { Worker::new(index, shared.clone(), core.clone(), limits, None) };
        Self { worker, has_left: false }
    }

    /// Lets one ready actor have its turn; `witness` looks on.
    pub(crate) fn turn(&mut self, manner: Manner, witness: impl Witness) -> Took {
        if self.has_left {
            return Took::Left;
        }
        let _inside = Inside::new(&self.worker);
        current::allow_nesting(manner.nests);
        let took = self.turn_inside(manner, witness);
        current::allow_nesting(true);
        current::end_slice();
        took
    }

    fn turn_inside(&mut self, manner: Manner, witness: impl Witness) -> Took {
        let worker = &mut self.worker;
        worker.wake_up();
        // Acquire: pairs with the AcqRel in `end`.
        if worker.own.shared.ending.load(Ordering::Acquire) {
            self.leave();
            return Took::Left;
        }
        if buggify(Rare::ChangeDuty) {
            worker.own.shared.change_duty();
        }
        if worker.retires() {
            worker.own.shared.idle.doze(worker.id.index());
            return Took::Nothing;
        }
        let own = worker.own.clone();
        let (core, shared) = (&*own.core, &*own.shared);
        current::set_now(core.clock.now());
        current::set_turn_cost(if manner.late { u64::MAX } else { 0 });
        worker.own.shared.queues.begin_slice(worker.id);
        if buggify(Rare::HandOver) {
            worker.own.shared.hand_over(worker.id);
        }
        let is_short = buggify(Rare::ShortTurn) || manner.is_seen;
        let batch = if is_short { 1 } else { worker.limits.batch };
        let share = if is_short { Share::fixed(1) } else { Share::growing(batch) };
        let until = Time::NEVER;
        let doing = core.watch.doing(worker.id.index());
        let turn = Turn { share, look: batch, until, clock: &core.clock, doing };
        let ready = worker.next(shared.queues.source(worker.id));
        let ran = ready.as_ref().map(Ready::number);
        if let Some(ready) = ready {
            // SAFETY: the tokens that workers run are of live cells.
            let again = buggify(Rare::PollAgain).then(|| unsafe { ready.cell() });
            worker.run(ready, &turn, witness);
            if let Some(cell) = again {
                cell.wake();
            }
        }
        current::close_home();
        if manner.late && worker.own.shared.queues.has_work(worker.id) {
            worker.own.shared.call_helper(worker.id);
        }
        if ran.is_some() || !self.sleep() { Took::Turn(ran) } else { Took::Nothing }
    }

    /// As a worker does that finds nothing; `false` if there is something after all.
    fn sleep(&mut self) -> bool {
        let worker = &mut self.worker;
        if !std::mem::replace(&mut worker.searching, true) {
            worker.own.shared.idle.search();
            worker.say_whether_it_searches();
        }
        if worker.own.shared.queues.has_work(worker.id) || buggify(Rare::StayAwake) {
            return false;
        }
        if buggify(Rare::ChangeDuty) {
            worker.own.shared.change_duty();
        }
        worker.own.shared.idle.leave(worker.id.index());
        worker.searching = false;
        worker.sleeping = true;
        let sleeps = worker.own.shared.queues.may_sleep(worker.id);
        if sleeps {
            worker.own.shared.idle.doze(worker.id.index());
        } else {
            worker.wake_up();
        }
        sleeps
    }

    /// Lets the alarms go off that are due, as the worker or as the timekeeper does.
    pub(crate) fn fire_alarms(&mut self) {
        let worker = &mut self.worker;
        let number = worker.number();
        let _inside = Inside::new(worker);
        let now = worker.own.core.clock.now();
        current::set_now(now);
        let mut alarms = std::mem::take(&mut worker.alarms);
        worker.own.shared.queues.begin_slice(worker.id);
        worker.own.core.fire_alarms(number, now, &mut alarms);
        current::close_home();
        worker.alarms = alarms;
        current::end_slice();
    }

    /// When the worker's next alarm is due.
    pub(crate) fn next_alarm(&self) -> Option<Time> {
        self.worker.own.core.next_alarm(self.worker.number())
    }

    /// Ends the worker's part, whatever is left to do.
    fn leave(&mut self) {
        self.has_left = true;
        current::leave(&self.worker.own.core);
        if let Queues::PerCore(queue) = &self.worker.own.shared.queues {
            // SAFETY: the calling thread was the worker until now, and nobody is from now on.
            queue.leave(unsafe { WorkerId::new(self.worker.id.index()) });
        }
        self.worker.own.core.worker_ended();
    }
}

/// While it is there, the thread is a worker; also a panic of a queue that is somebody's own ends that.
struct Inside(Arc<Core>);

impl Inside {
    fn new(worker: &Worker) -> Self {
        current::enter(&worker.own.core, worker.number(), STACK_BYTES);
        Self(worker.own.core.clone())
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        current::leave(&self.0);
    }
}

impl std::fmt::Debug for ByHand {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ByHand").field("worker", &self.worker.id).finish_non_exhaustive()
    }
}
