//! What a worker does until tokio is to have its thread: it runs slices, and looks for work in between.

use super::Worker;
use super::naps::Naps;
use super::pace::Slice;
use crate::scheduler::driver::AlarmClock;
use crate::scheduler::look;
use crate::sync::{planted, yield_now};
use crate::task::current;
use crate::time::Time;
use std::task::Context;
use std::time::Duration;

/// How long a worker that spins keeps tokio from its sockets. A look at them takes about a microsecond, so that
/// few messages come in the middle of one; and what comes over a socket does not wait long for the next.
const SOCKETS_EVERY: Duration = Duration::from_micros(2);

/// What a worker that looks for work comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Search {
    /// There is work.
    Found,
    /// It is too early to sleep, but time for tokio to look at its sockets.
    Sockets,
    /// It may sleep.
    Nothing,
}

/// What a worker does when tokio has had its thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// It is too early to sleep.
    Again,
    /// It has set its alarm clock, and goes on then.
    Paused,
    /// It may sleep.
    Sleep,
}

impl Worker {
    /// Runs what there is, until tokio is to have the thread.
    pub(super) fn work(&mut self, cx: &mut Context<'_>) -> Next {
        let mut began = None;
        let mut has_found = false;
        loop {
            self.own.shared.queues.begin_slice(self.id);
            let slice = self.slice();
            current::close_home();
            if slice != Slice::Idle {
                self.naps.end(self.began, current::take_heard());
                self.jam.clear();
            }
            if slice == Slice::Over || has_found && slice == Slice::Emptied {
                return Next::Again;
            }
            if slice == Slice::Idle && self.waits_for_room(cx) {
                // Nobody wakes it meanwhile: nobody is to hand it anything.
                if self.searching {
                    self.end_search();
                }
                return Next::Paused;
            }
            let spins = !self.spin().is_zero();
            let began = *began.get_or_insert(self.began);
            let sockets_at = if spins { began.after(SOCKETS_EVERY) } else { Time::NEVER };
            // Nothing is left after a slice that did not last its time: another look at tokio's sockets before
            // those in the kernel are waited for would be for nothing.
            match self.search(sockets_at) {
                Search::Found if spins => self.visits.arrive(self.own.shared.queues.visit(self.id)),
                // It runs that first: were its search over before, another worker would be woken for the same.
                Search::Found if !has_found && self.has_tasks() => has_found = true,
                Search::Found | Search::Sockets => {
                    self.leave_search_to_others();
                    return Next::Again;
                }
                Search::Nothing => return Next::Sleep,
            }
        }
    }

    /// How long to look for work before sleeping.
    fn spin(&self) -> Duration {
        self.limits.spin.max(self.naps.look())
    }

    /// Leaves its thread to tokio for a moment if there is nothing to do but to send what others have had no room for
    /// for a while: `true`. It is not asleep, and is not taken to be: nobody wakes it, so the moment is short.
    fn waits_for_room(&mut self, cx: &mut Context<'_>) -> bool {
        let (stuck, clock) = (self.own.shared.queues.stuck(self.id), &self.own.core.clock);
        let Some(until) = self.jam.pause(stuck, clock) else {
            // Systematic tests take the same steps on every machine.
            if !cfg!(shuttle) && stuck.is_some() && self.limits.shares_core {
                // Those who are to make room may wait for this very core.
                yield_now();
            }
            return false;
        };
        let until = self.own.core.next_alarm(self.number()).map_or(until, |next| next.min(until));
        let pauses = self.alarm_clock.as_mut().is_some_and(|alarm| alarm.set(until, clock, cx));
        planted!("spill-spins": pauses => false)
    }

    /// Searches no more for now, if it does and tokio has tasks beside its sockets: nobody knows for how long they run,
    /// and who searches keeps all others asleep.
    fn leave_search_to_others(&mut self) {
        if !self.has_tasks() {
            return;
        }
        if planted!("spinning-keeps-others-asleep": self.searching => false) {
            self.end_search();
        }
    }

    /// Whether tokio has tasks beside its sockets.
    fn has_tasks(&self) -> bool {
        self.alarm_clock.as_ref().is_some_and(AlarmClock::has_tasks)
    }

    /// Looks for work as long as it may spin, but not past `sockets_at`.
    fn search(&mut self, sockets_at: Time) -> Search {
        if !std::mem::replace(&mut self.searching, true) {
            self.own.shared.idle.search();
            self.say_whether_it_searches();
        }
        let spin = self.spin();
        loop {
            let now = self.own.core.clock.now();
            self.visits.end(now, self.own.shared.alone);
            let has_work = self.own.shared.queues.has_work(self.id);
            if let Some(end) = judge(&mut self.naps, spin, now, sockets_at, has_work) {
                return end;
            }
            look::pause(*self.pauses.get_or_insert_with(|| look::pauses(&self.own.core.clock)));
        }
    }

    /// Says whether it looks for work and has none: also while tokio does nothing but look at its sockets in between, and
    /// while it sleeps.
    pub(super) fn say_whether_it_searches(&self) {
        self.own.shared.queues.set_searching(self.id, self.searching);
    }
}

/// What a look at `now` comes to; `None` if another one follows at once. `spin` is how long to look.
///
/// Who is too slow to look twice before it is time for the sockets sees all the same that it has looked for long enough.
fn judge(
    naps: &mut Naps,
    spin: Duration,
    now: Time,
    sockets_at: Time,
    has_work: bool,
) -> Option<Search> {
    let is_time_for_sockets = now >= sockets_at;
    if has_work {
        return Some(if is_time_for_sockets { Search::Sockets } else { Search::Found });
    }
    if planted!("slow-looks-go-on": false => is_time_for_sockets) {
        return Some(Search::Sockets);
    }
    let since = naps.wait(now);
    if now >= since.after(spin) {
        return Some(Search::Nothing);
    }
    is_time_for_sockets.then_some(Search::Sockets)
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    const US: Duration = Duration::from_micros(1);

    /// A worker that other nodes have woken soon again and again: the clock, and what it has seen.
    struct Napper(Time, Naps);

    impl Napper {
        fn new() -> Self {
            let mut napper = Self(Time(0), Naps::new(true));
            for _ in 0..1000 {
                napper.1.wait(napper.0);
                napper.1.sleep();
                napper.0 = napper.0.after(30 * US);
                napper.1.end(napper.0, true);
            }
            napper
        }

        /// Looks for so long, once in each `step`, and at its sockets in time; says when it is to sleep, if it is.
        fn looks(&mut self, time: Duration, step: Duration) -> Option<Duration> {
            let (begin, spin) = (self.0, self.1.look());
            while self.0 < begin.after(time) {
                let sockets_at = self.0.after(SOCKETS_EVERY);
                loop {
                    self.0 = self.0.after(step);
                    match judge(&mut self.1, spin, self.0, sockets_at, false) {
                        Some(Search::Sockets) => break,
                        Some(Search::Nothing) => return Some(self.0.since(begin)),
                        Some(Search::Found) => panic!("there is no work"),
                        None => {}
                    }
                }
            }
            None
        }
    }

    #[test]
    fn who_looks_sleeps_when_nothing_comes_also_where_looks_are_slow() {
        for step in [US / 10, US, 3 * US, 20 * US] {
            let looked = Napper::new().looks(Duration::from_millis(1), step);
            let looked = looked.unwrap_or_else(|| panic!("it looks for ever, once in {step:?}"));
            assert!(looked >= 50 * US && looked < 50 * US + 3 * step, "{looked:?}");
        }
    }

    #[test]
    fn what_is_found_late_waits_until_the_sockets_are_looked_at() {
        let mut naps = Naps::new(true);
        let judged = |naps: &mut Naps, now| judge(naps, US, Time(now), Time(2000), true);
        assert_eq!(judged(&mut naps, 1999), Some(Search::Found));
        assert_eq!(judged(&mut naps, 2000), Some(Search::Sockets));
    }
}
