//! The thread that looks after what no worker can: timers of other threads, handlers that run for too long,
//! and what waits behind them while other workers sleep. It sleeps until there is something to do next.

use super::worker::Shared;
use crate::event::Event;
use crate::sync::{Ordering, planted, thread};
use crate::task::core::Core;
use crate::time::Time;
use std::time::Duration;

/// The life of the timekeeper, which is the last to end: who waits for an answer that is kept elsewhere, or for a worker
/// that is stuck, has an alarm still.
pub(super) fn keep_time(shared: &Shared, core: &Core) {
    core.watch.be_timekeeper();
    shared.begin();
    let mut alarms = Vec::with_capacity(16);
    let mut watchman = Watchman::new(core);
    loop {
        // Acquire: pairs with the AcqRel in `end`.
        let is_ending = shared.ending.load(Ordering::Acquire);
        if is_ending && planted!("timekeeper-ends-first": core.needs_no_timekeeper() => true) {
            return;
        }
        core.fire_alarms(core.timekeeper(), core.clock.now(), &mut alarms);
        let look = if is_ending { Time::NEVER } else { watchman.look_when_due(shared, core) };
        let next = core.next_alarm(core.timekeeper()).unwrap_or(Time::NEVER).min(look);
        if next == Time::NEVER {
            thread::park();
        } else {
            thread::park_timeout(next.since(core.clock.now()));
        }
        core.events.counters.wakings.add_one();
    }
}

/// How long work waits at most that a worker has left behind a long handler, while another one sleeps.
const HELP_INTERVAL: Duration = Duration::from_millis(2);

/// Looks at the workers again and again, unless all of them have slept between two looks.
struct Watchman {
    rests: bool,
    /// When to look at the handlers next; never where nobody watches them.
    due: Time,
    /// When to look next for work that sleepers could do; never where nobody could.
    help_due: Time,
    /// Messages that had been handled when work waited the last time.
    handled: u64,
    /// Since when each worker's running handler has been known to run.
    since: Vec<Time>,
    /// How many sleeps had ended when all were asleep at the last look.
    asleep_since: Option<u64>,
}

impl Watchman {
    fn new(core: &Core) -> Self {
        let since = vec![Time::NEVER; core.workers()];
        let (due, help_due) = (Time::NEVER, Time::NEVER);
        Self { rests: true, due, help_due, handled: 0, since, asleep_since: None }
    }

    /// Looks if it is time to; returns when that is next.
    fn look_when_due(&mut self, shared: &Shared, core: &Core) -> Time {
        let now = core.clock.now();
        if self.rests {
            if !core.watch.is_looked_after() {
                return Time::NEVER;
            }
            // Called from its rest, it looks when what has begun could have overrun.
            (self.rests, self.asleep_since) = (false, None);
            (self.due, self.help_due) = (next_look(core, now), next_help(core, now));
        }
        if now >= self.due.min(self.help_due) {
            self.look_around(shared, core, now);
        }
        if self.rests { Time::NEVER } else { self.due.min(self.help_due) }
    }

    /// Looks for what is due, and rests if nobody is awake.
    fn look_around(&mut self, shared: &Shared, core: &Core, now: Time) {
        if now >= self.help_due {
            planted!("helper-never-called": shared.call_helper_of_anyone(&mut self.handled) => ());
            self.help_due = next_help(core, now);
        }
        if now >= self.due {
            self.look(core, now);
            self.due = next_look(core, now);
        }
        self.rests = self.may_rest(shared, core);
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

    /// Whether all workers have slept since the last look, so that the next one to wake up has to call. That
    /// costs a call of the kernel, so where one wakes between any two looks, nobody has to.
    fn may_rest(&mut self, shared: &Shared, core: &Core) -> bool {
        let asleep_since = shared.idle.all_asleep_since();
        let before = std::mem::replace(&mut self.asleep_since, asleep_since);
        if asleep_since.is_none() || asleep_since != before {
            return false;
        }
        core.watch.rest();
        // Whoever woke up in between has not called.
        shared.idle.all_asleep_since() == asleep_since || !core.watch.resume()
    }
}

/// When to look at the handlers again.
fn next_look(core: &Core, now: Time) -> Time {
    let budget = core.watch.budget;
    if budget.is_zero() { Time::NEVER } else { now.after(budget) }
}

/// When to look again for work that sleepers could do.
fn next_help(core: &Core, now: Time) -> Time {
    if core.workers() > 1 { now.after(HELP_INTERVAL) } else { Time::NEVER }
}
