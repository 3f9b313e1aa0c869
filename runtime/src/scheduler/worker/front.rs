//! The scheduler, as cells see it.

use super::Shared;
use crate::queue::node::Node;
use crate::scheduler::WorkerId;
use crate::scheduler::queues::Queues;
use crate::sync::{Arc, planted, thread_local};
use crate::task::cargo::{self, Cargo};
use crate::task::cell::CellRef;
use crate::task::core::Schedule;
use crate::task::current;
use crate::task::{Hint, Ready};
use std::cell::Cell;
use std::ptr::NonNull;
use std::task::Waker;

/// Where a worker's thread is, which decides what becomes of actors that are made ready on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// In a slice, after which it looks for work; or it is no worker.
    Slice,
    /// In tokio, and looks for work when it is woken.
    Waits,
    /// In tokio, and runs no actors.
    OffDuty,
}

thread_local! {
    static PLACE: Cell<Place> = const { Cell::new(Place::Slice) };
}

/// Where the calling worker is.
pub(super) fn place() -> Place {
    PLACE.with(Cell::get)
}

/// Says where the calling worker is.
pub(super) fn set_place(place: Place) {
    PLACE.with(|cell| cell.set(place));
}

/// See the [module](self).
pub(crate) struct Front(pub(crate) Arc<Shared>);

impl Front {
    /// Queues an actor where somebody may have to be woken: the calling worker itself, which `id` names, or a helper.
    #[inline(never)]
    fn push_and_wake(&self, id: WorkerId, ready: Ready, hint: Hint, pause: bool) {
        let (shared, place) = (&self.0, place());
        // Or it was put off duty in its sleep, and has not seen that yet.
        let is_off_duty = || place == Place::OffDuty || id.index() >= shared.idle.on_duty();
        if place != Place::Slice && is_off_duty() {
            return shared.push_from_outside(ready, hint);
        }
        shared.queues.push(id, ready, hint);
        if place == Place::Waits {
            shared.wake(id.index());
        }
        if !pause
            && shared.queues.are_shared()
            && shared.idle.could_help()
            && shared.has_backlog_after_push(id)
        {
            shared.call_helper(id);
        }
    }
}

impl Schedule for Front {
    fn schedule(&self, at: Option<u32>, ready: Ready, hint: Hint, pause: bool) {
        let shared = &self.0;
        let Some(worker) = at else { return shared.push_from_outside(ready, hint) };
        // SAFETY: `at` names the calling thread, which alone is that worker of this system: so the worker itself told
        // `current::enter`, and to other systems `at` is none.
        let id = unsafe { WorkerId::new(worker as usize) };
        // Looked at before the push, so that this is the last thing to do. Who falls asleep meanwhile is missed, as a
        // helper may be: the calling worker itself runs the actor.
        if place() == Place::Slice && (pause || !shared.idle.could_help()) {
            return shared.queues.push(id, ready, hint);
        }
        self.push_and_wake(id, ready, hint, pause);
    }

    fn carry(&self, at: Option<u32>, cargo: Cargo) {
        let shared = &self.0;
        let Queues::PerCore(queue) = &shared.queues else { unreachable!("nobody has a home") };
        let wake = |worker| shared.wake(worker);
        let Some(worker) = at else {
            return queue.carry_from_outside(cargo, &wake).expect("this is no message");
        };
        // SAFETY: as in `schedule`.
        let id = unsafe { WorkerId::new(worker as usize) };
        shared.wake_if_waiting(id);
        queue.carry(id, cargo, &wake);
    }

    fn is_congested(&self, at: Option<u32>, to: &CellRef) -> bool {
        let (Queues::PerCore(queue), Some(worker)) = (&self.0.queues, at) else { return false };
        // SAFETY: as in `schedule`.
        queue.is_congested(unsafe { WorkerId::new(worker as usize) }, to)
    }

    unsafe fn carry_mail(
        &self,
        at: Option<u32>,
        to: &CellRef,
        node: NonNull<Node>,
    ) -> Result<(), NonNull<Node>> {
        let Queues::PerCore(queue) = &self.0.queues else { unreachable!("nobody has a home") };
        let wake = |worker| self.0.wake(worker);
        let Some(worker) = at else {
            // SAFETY: the caller's promise.
            return queue.carry_from_outside(unsafe { Cargo::mail(to.clone(), node) }, &wake);
        };
        // SAFETY: as in `schedule`.
        let id = unsafe { WorkerId::new(worker as usize) };
        // The fence before an order to drain does not wait for a worker that does.
        // SAFETY: the caller owns the node.
        let is_late = self.0.wake_if_waiting(id) && unsafe { cargo::is_late(to, node) };
        if planted!("sleeper-accepts-late": is_late => false) {
            return Err(node);
        }
        // SAFETY: the caller's promise.
        unsafe { queue.carry_mail(id, to, node, &wake) };
        Ok(())
    }

    fn migrate(&self, at: Option<u32>, ready: Ready, to: usize) {
        let worker = at.expect("only workers run actors");
        // SAFETY: as in `schedule`.
        let id = unsafe { WorkerId::new(worker as usize) };
        self.0.wake_if_waiting(id);
        self.0.migrate(id, ready, to);
    }

    fn answers_inside(&self) -> bool {
        // In a task of tokio, the calling worker itself is as good as another.
        matches!(self.0.queues, Queues::PerCore(_))
            || place() == Place::Slice
                && (current::turn_cost() < self.0.alone || self.0.idle.is_all_awake())
    }

    fn all_asleep_since(&self) -> Option<u64> {
        self.0.idle.all_asleep_since().filter(|_| self.0.queues.is_at_rest())
    }

    fn sleeps_ended(&self) -> u64 {
        self.0.idle.sleeps_ended()
    }

    fn tell_when_all_asleep(&self, waker: &Waker) {
        self.0.idle.tell_when_all_asleep(waker);
    }

    fn wake_sleeper(&self, at: Option<u32>, worker: u32) {
        // The calling worker looks at its timers before it sleeps, unless it waits in tokio already.
        if at.is_none() || place() != Place::Slice {
            self.0.wake(worker as usize);
        }
    }

    fn end(&self) {
        self.0.end();
    }
}
