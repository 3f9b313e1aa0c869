//! The thread that looks after what no worker can: timers of other threads, and handlers that run for
//! too long. It sleeps until there is something to do next.

use super::worker::Shared;
use crate::event::Event;
use crate::sync::{Ordering, thread};
use crate::task::core::Core;
use crate::time::Time;

/// The life of the timekeeper.
pub(super) fn keep_time(shared: &Shared, core: &Core) {
    shared.timekeeper.get_or_init(thread::current);
    shared.begin();
    let mut alarms = Vec::new();
    let mut watchman = Watchman::new(core);
    // Acquire: pairs with the AcqRel in `end`.
    while !shared.ending.load(Ordering::Acquire) {
        core.fire_alarms(core.timekeeper(), core.clock.now(), &mut alarms);
        let look = watchman.look_when_due(shared, core);
        let next = core.next_alarm(core.timekeeper()).unwrap_or(Time::NEVER).min(look);
        if next == Time::NEVER {
            thread::park();
        } else {
            thread::park_timeout(next.since(core.clock.now()));
        }
    }
}

/// Looks at the workers once per budget, unless all of them are idle.
struct Watchman {
    /// When to look next; never while it rests.
    due: Time,
    /// Since when each worker's running handler has been known to run.
    since: Vec<Time>,
}

impl Watchman {
    fn new(core: &Core) -> Self {
        Self { due: Time::NEVER, since: vec![Time::NEVER; core.workers()] }
    }

    /// Looks if it is time to; returns when that is next.
    fn look_when_due(&mut self, shared: &Shared, core: &Core) -> Time {
        let now = core.clock.now();
        if self.due == Time::NEVER {
            // Called from its rest, it looks when what has begun could have overrun.
            let is_called = core.watch.is_looked_after();
            self.due = if is_called { now.after(core.watch.budget) } else { Time::NEVER };
        } else if now >= self.due {
            self.look(core, now);
            let rests = Self::may_rest(shared, core);
            self.due = if rests { Time::NEVER } else { now.after(core.watch.budget) };
        }
        self.due
    }

    fn look(&mut self, core: &Core, now: Time) {
        core.watch.look(|worker, overrun| {
            let Some((actor, message)) = overrun else {
                self.since[worker] = now;
                return;
            };
            let so_far = now.since(self.since[worker]);
            core.events.counters.overruns.add_one();
            core.events.emit(|| Event::Overrun { actor, message, so_far });
        });
    }

    /// Whether all workers are idle, so that the next one to wake up has to call.
    fn may_rest(shared: &Shared, core: &Core) -> bool {
        if !shared.idle.is_all_idle() {
            return false;
        }
        core.watch.rest();
        // Whoever woke up in between has not called.
        shared.idle.is_all_idle() || !core.watch.begin()
    }
}
