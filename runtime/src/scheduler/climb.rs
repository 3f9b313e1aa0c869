//! How many workers do the most work: hill climbing on messages per time.
//!
//! Two workers need not be faster than one: where handlers are short, actors that talk to each other across
//! cores wait longer for a cache line than a handler takes, and where others want the same cores, a thread
//! more is a thread that is put off. How that is for the program at hand, nobody knows who has not tried. So now and
//! then a *trial* compares the number of workers on duty with half or twice as many, in windows that
//! alternate, and the better one is kept; as the thread pool of .NET finds its number of threads
//! (Hellerstein, Morrison, Eilebrecht: "Applying control theory in the real world", 2009).
//!
//! 1. More are tried only where somebody wanted a helper that was not on duty.
//! 2. Fewer are only better than more if they were busy all the time: those that slept would say how much work there
//!    was, not how fast it can be done. Where there is time to sleep, more cost nobody anything.
//! 3. What is better has to be so by a sixteenth in the median, or nothing changes. What is worse by a quarter
//!    in one window ends the trial.
//! 4. The longer nothing changes, the rarer are trials: one costs a few milliseconds of work at the worse number.
//! 5. Without a trial all go on duty where help is wanted and messages are so few that each takes long; and where
//!    those on duty get stuck twice in a short time.
//!
//! No threads, no clock: whoever has the time says what was done until then.

use crate::time::Time;
use std::time::Duration;

/// One measurement.
const WINDOW: Duration = Duration::from_micros(750);
/// From a change until what it leads to is measured.
const SETTLE: Duration = Duration::from_micros(250);
/// Windows of a trial: as many of each number of workers.
const WINDOWS: usize = 6;
/// Between two trials at least.
pub(super) const HOLD_MIN: Duration = Duration::from_millis(2);
/// Between two trials at most.
const HOLD_MAX: Duration = Duration::from_millis(256);
/// How long all are on duty because those who are were stuck, until that is looked at again.
const RELIEF: Duration = Duration::from_millis(2);
/// Who gets stuck again within that time is not the exception.
const RELIEF_AGAIN: Duration = Duration::from_millis(64);
/// Messages in the shortest time between two trials that there is anything to compare of.
const MESSAGES_MIN: u64 = 64;

/// What has been done, and until when.
#[derive(Clone, Copy, Debug)]
pub(super) struct Report {
    pub(super) now: Time,
    /// Messages that all workers have handled since they began.
    pub(super) handled: u64,
    /// Nanoseconds that those on duty have slept since they began.
    pub(super) slept: u64,
    /// Whether somebody wanted help since the last report that those on duty could not give.
    pub(super) wanted: bool,
}

/// What is to be done, and until when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Order {
    /// Workers on duty.
    pub(super) on_duty: usize,
    /// When to report next.
    pub(super) due: Time,
}

/// A comparison of two numbers of workers.
#[derive(Debug)]
struct Trial {
    other: usize,
    /// Messages per second in the windows so far: at the kept number, at the other, and so on.
    rates: [u64; WINDOWS],
    count: usize,
    /// What had been done when the running window began; none while things settle.
    window: Option<Report>,
}

/// See the [module](self).
#[derive(Debug)]
pub(super) struct Climb {
    workers: usize,
    /// The number that was best so far.
    kept: usize,
    hold: Duration,
    trial: Option<Trial>,
    /// Whether fewer are to be tried next, where both could be.
    down_next: bool,
    /// No trial begins before that.
    next: Time,
    /// When those on duty got stuck last.
    stuck_at: Option<Time>,
    /// The last report outside of trials, and what it had of messages.
    before: (Time, u64),
    wanted: bool,
}

impl Climb {
    /// Begins with one of `workers`.
    pub(super) fn new(workers: usize) -> Self {
        Self {
            workers,
            kept: 1,
            hold: HOLD_MIN,
            trial: None,
            down_next: false,
            next: Time(0),
            stuck_at: None,
            before: (Time(0), 0),
            wanted: false,
        }
    }

    /// Takes a report that is due.
    pub(super) fn report(&mut self, report: Report) -> Order {
        self.wanted |= report.wanted;
        match self.trial.take() {
            Some(trial) => self.go_on(trial, report),
            None => self.begin(report),
        }
    }

    /// Any number, for systematic tests, in which no time passes.
    #[cfg(shuttle)]
    pub(super) fn anything(&mut self) -> Order {
        self.before.1 += 1;
        Order { on_duty: 1 + self.before.1 as usize / 2 % self.workers, due: Time(0) }
    }

    /// Puts all on duty, because messages take so long that each worker more is worth it.
    pub(super) fn spread(&mut self, now: Time) -> Order {
        (self.kept, self.trial) = (self.workers, None);
        self.hold(now, HOLD_MIN)
    }

    /// Puts all on duty for a while, because those who are have got stuck: what was tried is no better then.
    pub(super) fn relieve(&mut self, now: Time) -> Order {
        let is_again = self.stuck_at.is_some_and(|before| now.since(before) < RELIEF_AGAIN);
        self.stuck_at = Some(now);
        if self.trial.take().is_some() {
            self.stay(now);
        } else if is_again {
            return self.spread(now);
        }
        self.relieve_on(now)
    }

    /// Has all go on who relieve others.
    pub(super) fn relieve_on(&mut self, now: Time) -> Order {
        Order { on_duty: self.workers, due: now.after(RELIEF) }
    }

    /// Lets things be for so long.
    fn hold(&mut self, now: Time, span: Duration) -> Order {
        (self.hold, self.next) = (span, now.after(span));
        Order { on_duty: self.kept, due: self.next }
    }

    /// Keeps the number, for twice as long as the last time.
    fn stay(&mut self, now: Time) -> Order {
        self.down_next = !self.down_next;
        self.hold(now, (self.hold * 2).min(HOLD_MAX))
    }

    /// Takes another number, to be doubted sooner.
    fn change(&mut self, now: Time, kept: usize) -> Order {
        self.down_next = kept < self.kept;
        self.kept = kept;
        self.hold(now, (self.hold / 4).max(HOLD_MIN))
    }

    fn begin(&mut self, report: Report) -> Order {
        let now = report.now;
        if now < self.next {
            return Order { on_duty: self.kept, due: self.next };
        }
        let (then, handled) = std::mem::replace(&mut self.before, (now, report.handled));
        let count = report.handled.wrapping_sub(handled);
        let is_little = rate(count, now.since(then)) < rate(MESSAGES_MIN, HOLD_MIN);
        if is_little && std::mem::take(&mut self.wanted) {
            return self.spread(now);
        }
        let Some(other) = self.candidate().filter(|_| !is_little) else {
            return Order { on_duty: self.kept, due: now.after(HOLD_MIN) };
        };
        self.trial = Some(Trial { other, rates: [0; WINDOWS], count: 0, window: Some(report) });
        Order { on_duty: self.kept, due: now.after(WINDOW) }
    }

    /// What to compare with.
    fn candidate(&self) -> Option<usize> {
        let up = Some(self.kept.saturating_mul(2).min(self.workers));
        let up = up.filter(|&up| up > self.kept && self.wanted);
        let down = Some(self.kept / 2).filter(|&down| down > 0);
        if self.down_next { down.or(up) } else { up.or(down) }
    }

    fn go_on(&mut self, mut trial: Trial, report: Report) -> Order {
        let now = report.now;
        let Some(began) = trial.window else {
            trial.window = Some(report);
            let on_duty = self.measured(&trial);
            self.trial = Some(trial);
            return Order { on_duty, due: now.after(WINDOW) };
        };
        let more = trial.other.max(self.kept);
        let measured = self.measured(&trial);
        if measured < more && report.is_idle_since(&began, measured) {
            return self.end(now, more);
        }
        trial.note(began, report);
        if trial.is_hopeless() {
            return self.end(now, self.kept);
        }
        if trial.count == WINDOWS {
            let best = if trial.is_other_better() { trial.other } else { self.kept };
            return self.end(now, best);
        }
        let on_duty = self.measured(&trial);
        self.trial = Some(trial);
        Order { on_duty, due: now.after(SETTLE) }
    }

    /// Workers on duty in the window that runs or comes next.
    fn measured(&self, trial: &Trial) -> usize {
        if trial.count.is_multiple_of(2) { self.kept } else { trial.other }
    }

    fn end(&mut self, now: Time, best: usize) -> Order {
        self.wanted = false;
        if best == self.kept { self.stay(now) } else { self.change(now, best) }
    }
}

impl Report {
    /// Whether so many workers have slept for an eighth of the time since then.
    fn is_idle_since(&self, began: &Self, workers: usize) -> bool {
        let span = self.now.since(began.now);
        let slept = Duration::from_nanos(self.slept.wrapping_sub(began.slept));
        slept * 8 >= span.saturating_mul(u32::try_from(workers).unwrap_or(u32::MAX))
    }
}

impl Trial {
    /// Ends the running window.
    fn note(&mut self, began: Report, report: Report) {
        let handled = report.handled.wrapping_sub(began.handled);
        self.rates[self.count] = rate(handled, report.now.since(began.now));
        self.count += 1;
        self.window = None;
    }

    /// Whether the other number has just done so badly that trying on would only cost.
    fn is_hopeless(&self) -> bool {
        let mut pairs = self.rates[..self.count].chunks_exact(2);
        pairs.next_back().is_some_and(|pair| pair[1] < pair[0] - pair[0] / 4)
    }

    fn is_other_better(&self) -> bool {
        let median = |from: usize| {
            let mut rates = [self.rates[from], self.rates[from + 2], self.rates[from + 4]];
            rates.sort_unstable();
            rates[1]
        };
        let (kept, other) = (median(0), median(1));
        other > kept.saturating_add(kept / 16)
    }
}

/// Messages per second.
fn rate(messages: u64, span: Duration) -> u64 {
    let nanos = span.as_nanos().max(1);
    u64::try_from(u128::from(messages) * 1_000_000_000 / nanos).unwrap_or(u64::MAX)
}

#[cfg(all(test, not(shuttle)))]
mod tests;
