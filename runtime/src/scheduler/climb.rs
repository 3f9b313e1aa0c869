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
//! 2. Trials are for workers that have no time to sleep: what the others handle says how much work there is, not how
//!    fast it can be done. Where they have, messages of a microsecond or more are for more workers, which
//!    are done sooner, and shorter ones for fewer.
//! 3. What is better has to be so by a sixteenth in the median, or nothing changes. What is worse by a quarter
//!    in one window ends the trial.
//! 4. The longer nothing changes, the rarer are trials: one costs a few milliseconds of work at the worse number.
//! 5. Without a trial all go on duty where messages are long: those of the last looks at the clock, or, where help is
//!    wanted, all that busy workers have handled. So they do where those on duty get stuck twice in a short time.
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
/// Messages that say anything of a program.
const MESSAGES_MIN: u64 = 256;
/// Messages that take as long gain from each worker.
const LONG: Duration = Duration::from_micros(30);
/// Messages that take as long gain from more workers where those on duty have time to sleep: several times what it
/// costs to take one to another core.
const MIDDLING: Duration = Duration::from_micros(1);

/// What has been done since the last order that did not have it count on, and until when.
#[derive(Clone, Copy, Debug)]
pub(super) struct Report {
    pub(super) now: Time,
    /// How long that is.
    pub(super) span: Duration,
    /// Messages that all workers have handled.
    pub(super) handled: u64,
    /// Nanoseconds that those on duty have slept, all together.
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
    /// Whether that report is of what has been done until now, too.
    pub(super) counts_on: bool,
}

/// A comparison of two numbers of workers.
#[derive(Debug)]
struct Trial {
    other: usize,
    /// Messages per second in the windows so far: at the kept number, at the other, and so on.
    rates: [u64; WINDOWS],
    count: usize,
    /// Whether things settle before the next window.
    settles: bool,
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
            wanted: false,
        }
    }

    /// Takes a report that is due.
    pub(super) fn report(&mut self, report: Report) -> Order {
        if cfg!(shuttle) {
            return self.anything(report.now);
        }
        self.wanted |= report.wanted;
        match self.trial.take() {
            Some(trial) => self.go_on(trial, report),
            None => self.begin(report),
        }
    }

    /// Any number, for systematic tests: each twice, in turn.
    fn anything(&mut self, now: Time) -> Order {
        self.down_next = !self.down_next;
        if self.down_next {
            self.kept = self.kept % self.workers + 1;
        }
        self.order(now)
    }

    /// Puts all on duty, because messages take so long that each worker more is worth it.
    pub(super) fn spread(&mut self, now: Time) -> Order {
        (self.kept, self.trial, self.wanted) = (self.workers, None, false);
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

    /// Has those work again who had got stuck.
    pub(super) fn go_back(&self, now: Time) -> Order {
        self.order(now.after(SETTLE))
    }

    /// Has all go on who relieve others.
    pub(super) fn relieve_on(&mut self, now: Time) -> Order {
        Order { on_duty: self.workers, due: now.after(RELIEF), counts_on: false }
    }

    /// Has as many on duty as are kept.
    fn order(&self, due: Time) -> Order {
        Order { on_duty: self.kept, due, counts_on: false }
    }

    /// Tries nothing for so long.
    fn hold(&mut self, now: Time, span: Duration) -> Order {
        (self.hold, self.next) = (span, now.after(span));
        self.order(now.after(HOLD_MIN))
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
        let (now, each) = (report.now, report.each(self.kept));
        if self.wanted && each >= LONG && report.awake(self.kept) >= WINDOW {
            return self.spread(now);
        }
        if report.handled < MESSAGES_MIN {
            return Order { counts_on: true, ..self.order(now.after(HOLD_MIN)) };
        }
        let Some(other) = self.candidate().filter(|_| now >= self.next) else {
            return self.order(now.after(HOLD_MIN));
        };
        if report.is_idle(self.kept) {
            let is_for_more = each >= MIDDLING;
            let is_right = is_for_more == (other > self.kept);
            return self.end(now, if is_right { other } else { self.kept });
        }
        self.trial = Some(Trial { other, rates: [0; WINDOWS], count: 0, settles: false });
        self.order(now.after(WINDOW))
    }

    /// What to compare with.
    fn candidate(&self) -> Option<usize> {
        let up = Some(self.kept.saturating_mul(2).min(self.workers));
        let up = up.filter(|&up| up > self.kept && self.wanted);
        let down = Some(self.kept / 2).filter(|&down| down > 0);
        if self.down_next { down.or(up) } else { up.or(down) }
    }

    fn go_on(&mut self, mut trial: Trial, report: Report) -> Order {
        let (now, measured) = (report.now, self.measured(&trial));
        if std::mem::take(&mut trial.settles) {
            self.trial = Some(trial);
            return Order { on_duty: measured, ..self.order(now.after(WINDOW)) };
        }
        if report.awake(measured).saturating_mul(8)
            < report.span.saturating_mul(7 * self.fewer(&trial))
        {
            return self.end(now, self.kept);
        }
        trial.note(report.rate());
        if trial.is_hopeless() {
            return self.end(now, self.kept);
        }
        if trial.count == WINDOWS {
            let best = if trial.is_other_better() { trial.other } else { self.kept };
            return self.end(now, best);
        }
        let on_duty = self.measured(&trial);
        self.trial = Some(trial);
        Order { on_duty, ..self.order(now.after(SETTLE)) }
    }

    /// The smaller number of workers of the two.
    fn fewer(&self, trial: &Trial) -> u32 {
        number(trial.other.min(self.kept))
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
    /// How long so many workers have been awake, all together.
    fn awake(&self, workers: usize) -> Duration {
        self.span.saturating_mul(number(workers)).saturating_sub(Duration::from_nanos(self.slept))
    }

    /// Whether so many workers have slept for an eighth of the time.
    fn is_idle(&self, workers: usize) -> bool {
        self.awake(workers).saturating_mul(8) <= self.span.saturating_mul(7 * number(workers))
    }

    /// What a message has taken of the time of so many workers.
    fn each(&self, workers: usize) -> Duration {
        self.awake(workers) / u32::try_from(self.handled).unwrap_or(u32::MAX).max(1)
    }

    /// Messages per second.
    fn rate(&self) -> u64 {
        rate(self.handled, self.span)
    }
}

impl Trial {
    /// Ends the running window.
    fn note(&mut self, rate: u64) {
        self.rates[self.count] = rate;
        self.count += 1;
        self.settles = true;
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

/// A number of workers.
fn number(workers: usize) -> u32 {
    u32::try_from(workers).unwrap_or(u32::MAX)
}

/// Messages per second.
fn rate(messages: u64, span: Duration) -> u64 {
    let nanos = span.as_nanos().max(1);
    u64::try_from(u128::from(messages) * 1_000_000_000 / nanos).unwrap_or(u64::MAX)
}

#[cfg(all(test, not(shuttle)))]
mod tests;
