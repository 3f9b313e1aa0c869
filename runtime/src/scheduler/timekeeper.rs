//! The thread that looks after what no worker can: timers of other threads, handlers that run for too long,
//! and what waits behind them while other workers sleep. It sleeps until there is something to do next.

use super::worker::Shared;
use crate::event::Event;
use crate::sync::{Ordering, planted, thread};
use crate::task::core::Core;
use crate::time::Time;
use std::time::Duration;

/// The life of the timekeeper.
pub(super) fn keep_time(shared: &Shared, core: &Core) {
    shared.timekeeper.get_or_init(thread::current);
    shared.begin();
    let mut alarms = Vec::with_capacity(16);
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

/// How long work waits at most that a worker has left behind a long handler, while another one sleeps.
const HELP_INTERVAL: Duration = Duration::from_millis(2);
/// Time between two looks at whether all workers are idle, where nobody watches handlers.
const REST_INTERVAL: Duration = Duration::from_millis(100);

/// Looks at the workers again and again, unless all of them are idle.
struct Watchman {
    rests: bool,
    /// When to look at the handlers next.
    due: Time,
    /// When to look next for work that sleepers could do.
    help_due: Time,
    /// Since when each worker's running handler has been known to run.
    since: Vec<Time>,
}

impl Watchman {
    fn new(core: &Core) -> Self {
        let since = vec![Time::NEVER; core.workers()];
        Self { rests: true, due: Time::NEVER, help_due: Time::NEVER, since }
    }

    /// Looks if it is time to; returns when that is next.
    fn look_when_due(&mut self, shared: &Shared, core: &Core) -> Time {
        let now = core.clock.now();
        let budget = core.watch.budget;
        let interval = if budget.is_zero() { REST_INTERVAL } else { budget };
        if self.rests {
            if !core.watch.is_looked_after() {
                return Time::NEVER;
            }
            // Called from its rest, it looks when what has begun could have overrun.
            self.rests = false;
            (self.due, self.help_due) = (now.after(interval), now.after(HELP_INTERVAL));
        }
        let looks = now >= self.help_due || now >= self.due;
        if now >= self.help_due {
            planted!("helper-never-called": shared.call_helper_of_anyone() => ());
            self.help_due = now.after(HELP_INTERVAL);
        }
        if now >= self.due {
            if !budget.is_zero() {
                self.look(core, now);
            }
            self.due = now.after(interval);
        }
        // At each look: a timer that goes off now and then must not keep it looking in between.
        if looks && Self::may_rest(shared, core) {
            self.rests = true;
            return Time::NEVER;
        }
        if core.workers() > 1 { self.due.min(self.help_due) } else { self.due }
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
