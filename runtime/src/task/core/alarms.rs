//! What happens at a time, and who looks after it: each worker after its own alarms, the timekeeper after those of others.

use super::Core;
use crate::sync::Ordering;
use crate::sync::panic::quietly;
use crate::task::current;
use crate::task::letter::Letter;
use crate::time::{Time, TimerKey};
use std::task::Waker;

impl Core {
    /// Lets `alarm` go off at `due`. O(1).
    pub(crate) fn set_alarm(&self, due: Time, alarm: Alarm) -> AlarmKey {
        let at = current::worker_of(self);
        let worker = at.unwrap_or(self.timekeeper());
        let (key, early) = self.alarms[worker as usize].set(due, alarm);
        if early {
            self.scheduler.wake_sleeper(at, worker);
        }
        AlarmKey { worker, key }
    }

    /// Takes an alarm back; nothing happens if it went off. O(1). Who is no worker takes each one back, once, and sets another
    /// one before: as long as it has one, there is a timekeeper.
    pub(crate) fn cancel_alarm(&self, key: AlarmKey) {
        drop(self.alarms[key.worker as usize].cancel(key.key));
        // It may have been what the timekeeper has waited for since the last worker ended.
        if key.worker == self.timekeeper() && !self.has_workers() {
            self.watch.wake_timekeeper();
        }
    }

    /// Whether the last worker has ended, and nobody has an alarm of the timekeeper's. Who ends that worker, or takes the
    /// last alarm back after that, wakes it.
    pub(crate) fn needs_no_timekeeper(&self) -> bool {
        // AcqRel: the rendezvous with `worker_ended`, which sees the timekeeper's thread or has been seen. Before the look at
        // the alarms: who takes the last one back after it, under the same lock, sees that there are no workers.
        self.workers.fetch_add(0, Ordering::AcqRel) == 0
            && !self.alarms[self.timekeeper() as usize].are_held()
    }

    /// Lets the alarms of `worker` that are due go off; `scratch` is kept by the caller for reuse.
    pub(crate) fn fire_alarms(&self, worker: u32, now: Time, scratch: &mut Vec<Alarm>) {
        self.alarms[worker as usize].take_due(now, scratch);
        for alarm in scratch.drain(..) {
            // What is woken may be anybody's, and must not end the worker.
            quietly(|| alarm.go_off());
        }
    }

    /// When `worker` must look at its alarms again. It is woken if an earlier one is set until then.
    pub(crate) fn next_alarm(&self, worker: u32) -> Option<Time> {
        self.alarms[worker as usize].next()
    }
}

/// Names an alarm until it goes off or is cancelled.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AlarmKey {
    worker: u32,
    key: TimerKey,
}

#[cfg(test)]
impl AlarmKey {
    /// The name of an entry in a worker's own wheel.
    pub(crate) fn of_worker(worker: u32, key: TimerKey) -> Self {
        Self { worker, key }
    }
}

/// What happens at a time.
#[derive(Debug)]
pub(crate) enum Alarm {
    /// Somebody who waits is woken.
    Wake(Waker),
    /// A node is sent to a cell.
    Push(Letter),
}

impl Alarm {
    fn go_off(self) {
        match self {
            Self::Wake(waker) => waker.wake(),
            Self::Push(letter) => letter.send(),
        }
    }
}
