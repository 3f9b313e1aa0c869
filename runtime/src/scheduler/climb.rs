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
//! 2. A trial whose windows last too long, because workers slept, says nothing, and nothing changes.
//! 3. What is better has to be so by a sixteenth in the median, or nothing changes. What is worse by a quarter
//!    in one window ends the trial.
//! 4. The longer nothing changes, the rarer are trials: one costs a few milliseconds of work at the worse number.
//!
//! No threads, no clock: whoever has the time says what was done until then. An order is obeyed under the lock
//! that the report was made under, so the last one counts.

use crate::time::Time;
use std::time::Duration;

/// One measurement.
const WINDOW: Duration = Duration::from_micros(750);
/// From a change until what it leads to is measured.
const SETTLE: Duration = Duration::from_micros(250);
/// Windows of a trial: as many of each number of workers.
const WINDOWS: usize = 6;
/// Between two trials at least.
const HOLD_MIN: Duration = Duration::from_millis(2);
/// Between two trials at most.
const HOLD_MAX: Duration = Duration::from_millis(256);
/// How long all are on duty because those who are were stuck.
const RELIEF: Duration = Duration::from_millis(2);
/// Messages between two trials for which it is worth comparing anything: fewer take so long that all workers are
/// on duty anyway.
const MESSAGES_MIN: u64 = 64;

/// What has been done, and until when.
#[derive(Clone, Copy, Debug)]
pub(super) struct Report {
    pub(super) now: Time,
    /// Messages that all workers have handled since they began.
    pub(super) handled: u64,
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
    /// When the running window began, and what had been handled then; none while things settle.
    window: Option<(Time, u64)>,
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
    /// What had been handled at the last report outside of trials.
    handled: u64,
    wanted: bool,
}

impl Climb {
    /// Begins with one of `workers`, two at least.
    pub(super) fn new(workers: usize) -> Self {
        Self {
            workers,
            kept: 1,
            hold: HOLD_MIN,
            trial: None,
            down_next: false,
            next: Time(0),
            handled: 0,
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
        self.handled += 1;
        Order { on_duty: 1 + self.handled as usize / 2 % self.workers, due: Time(0) }
    }

    /// Puts all on duty, because messages take so long that each worker more is worth it.
    pub(super) fn spread(&mut self, now: Time) -> Order {
        (self.kept, self.trial) = (self.workers, None);
        self.hold(now, HOLD_MIN)
    }

    /// Puts all on duty for a while, because those who are do not get on.
    pub(super) fn relieve(&mut self, now: Time) -> Order {
        self.trial = None;
        Order { on_duty: self.workers, due: now.after(RELIEF) }
    }

    /// Workers on duty, but for trials and relief.
    pub(super) fn kept(&self) -> usize {
        self.kept
    }

    /// Lets things be for so long.
    fn hold(&mut self, now: Time, span: Duration) -> Order {
        (self.hold, self.next) = (span, now.after(span));
        Order { on_duty: self.kept, due: self.next }
    }

    fn begin(&mut self, report: Report) -> Order {
        let kept = self.kept;
        if report.now < self.next {
            return Order { on_duty: kept, due: self.next };
        }
        let before = std::mem::replace(&mut self.handled, report.handled);
        let is_worth = report.handled.wrapping_sub(before) >= MESSAGES_MIN;
        let Some(other) = self.candidate().filter(|_| is_worth) else {
            return Order { on_duty: kept, due: report.now.after(HOLD_MIN) };
        };
        let window = Some((report.now, report.handled));
        self.trial = Some(Trial { other, rates: [0; WINDOWS], count: 0, window });
        Order { on_duty: kept, due: report.now.after(WINDOW) }
    }

    /// What to compare with.
    fn candidate(&mut self) -> Option<usize> {
        let up = Some(self.kept.saturating_mul(2).min(self.workers));
        let up = up.filter(|&up| up > self.kept && std::mem::take(&mut self.wanted));
        let down = Some(self.kept / 2).filter(|&down| down > 0);
        if self.down_next { down.or(up) } else { up.or(down) }
    }

    fn go_on(&mut self, mut trial: Trial, report: Report) -> Order {
        let Some((began, handled)) = trial.window else {
            trial.window = Some((report.now, report.handled));
            let on_duty = self.measured(&trial);
            self.trial = Some(trial);
            return Order { on_duty, due: report.now.after(WINDOW) };
        };
        let span = report.now.since(began);
        if span > WINDOW * 4 {
            return self.end(report, None);
        }
        trial.rates[trial.count] = rate(report.handled.wrapping_sub(handled), span);
        trial.count += 1;
        if trial.is_hopeless() {
            return self.end(report, None);
        }
        if trial.count == WINDOWS {
            let better = trial.is_other_better().then_some(trial.other);
            return self.end(report, better);
        }
        trial.window = None;
        let on_duty = self.measured(&trial);
        self.trial = Some(trial);
        Order { on_duty, due: report.now.after(SETTLE) }
    }

    /// Workers on duty in the window that comes next.
    fn measured(&self, trial: &Trial) -> usize {
        if trial.count.is_multiple_of(2) { self.kept } else { trial.other }
    }

    fn end(&mut self, report: Report, better: Option<usize>) -> Order {
        (self.handled, self.wanted) = (report.handled, false);
        if let Some(better) = better {
            self.down_next = better < self.kept;
            self.kept = better;
            return self.hold(report.now, HOLD_MIN);
        }
        self.down_next = !self.down_next;
        self.hold(report.now, (self.hold * 2).min(HOLD_MAX))
    }
}

impl Trial {
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
