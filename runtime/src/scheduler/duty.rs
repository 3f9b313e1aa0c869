//! Who is on duty where that is left to the runtime: counts what workers do, and lets [`Climb`] judge.

use super::climb::{Climb, HOLD_MIN, Order, Report};
use super::idle::Idle;
use crate::sync::{AtomicBool, AtomicU64, CachePadded, Mutex, Ordering};
use crate::time::Time;

/// What one worker has done; written by itself.
#[derive(Debug)]
struct Done {
    /// Messages handled.
    handled: AtomicU64,
    /// Nanoseconds slept.
    slept: AtomicU64,
    /// How often it has noted that.
    notes: AtomicU64,
}

/// See the [module](self).
#[derive(Debug)]
pub(crate) struct Duty {
    done: Box<[CachePadded<Done>]>,
    /// When the next report is due.
    due: CachePadded<AtomicU64>,
    /// Whether somebody wanted help from workers that are off duty.
    wanted: CachePadded<AtomicBool>,
    judge: Mutex<Judge>,
}

#[derive(Debug)]
struct Judge {
    climb: Climb,
    /// While others relieve those on duty: how many these were, and how often they had noted anything.
    stuck: Option<(usize, u64)>,
    /// The time of the last order, and what each worker had done by then.
    since: Time,
    stock: Vec<Stock>,
}

/// What a worker had done.
#[derive(Clone, Copy, Debug, Default)]
struct Stock {
    handled: u64,
    slept: u64,
    notes: u64,
}

impl Done {
    fn stock(&self) -> Stock {
        // Relaxed, here and in all of this file: figures, which order nothing.
        let [handled, slept, notes] =
            [&self.handled, &self.slept, &self.notes].map(|of| of.load(Ordering::Relaxed));
        Stock { handled, slept, notes }
    }
}

impl Duty {
    /// For so many workers, of whom one is on duty at first.
    pub(super) fn new(workers: usize, idle: &Idle) -> Self {
        idle.set_on_duty(1);
        let done = || Done {
            handled: AtomicU64::new(0),
            slept: AtomicU64::new(0),
            notes: AtomicU64::new(0),
        };
        Self {
            done: (0..workers).map(|_| CachePadded(done())).collect(),
            due: CachePadded(AtomicU64::new(0)),
            wanted: CachePadded(AtomicBool::new(false)),
            judge: Mutex::new(Judge {
                climb: Climb::new(workers),
                stuck: None,
                since: Time(0),
                stock: vec![Stock::default(); workers],
            }),
        }
    }

    /// Notes what `worker`, the calling one, has handled and slept so far.
    pub(super) fn note(&self, worker: usize, handled: u64, slept: u64) {
        let done = &self.done[worker];
        done.handled.store(handled, Ordering::Relaxed);
        done.slept.store(slept, Ordering::Relaxed);
        done.notes.store(done.notes.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }

    /// Messages that all workers have handled.
    pub(super) fn handled(&self) -> u64 {
        self.done.iter().fold(0, |sum, done| sum.wrapping_add(done.stock().handled))
    }

    /// Notes that help was wanted that nobody on duty could give.
    #[cold]
    pub(super) fn want(&self, idle: &Idle) {
        if idle.on_duty() < self.done.len() && !self.wanted.load(Ordering::Relaxed) {
            self.wanted.store(true, Ordering::Relaxed);
        }
    }

    /// Changes who is on duty, if it is time to think about that.
    #[inline]
    pub(super) fn look(&self, now: Time, idle: &Idle) {
        if now.0 >= self.due.load(Ordering::Relaxed) {
            self.report(now, idle);
        }
    }

    #[cold]
    fn report(&self, now: Time, idle: &Idle) {
        let Some(mut judge) = self.judge.try_lock() else { return };
        // Another worker may have just done so.
        if now.0 < self.due.load(Ordering::Relaxed) {
            return;
        }
        let order = match judge.stuck {
            Some((workers, notes)) if self.notes_of(workers) == notes => {
                judge.climb.relieve_on(now)
            }
            Some(_) => {
                judge.stuck = None;
                judge.climb.go_back(now)
            }
            None => {
                let report = self.report_of(&judge, now, idle.on_duty());
                judge.climb.report(report)
            }
        };
        self.obey(order, &mut judge, now, idle);
    }

    /// What has been done since the last order.
    fn report_of(&self, judge: &Judge, now: Time, on_duty: usize) -> Report {
        let span = now.since(judge.since);
        let most = u64::try_from(span.as_nanos()).unwrap_or(u64::MAX);
        let (mut handled, mut slept) = (0_u64, 0_u64);
        for (worker, (done, before)) in self.done.iter().zip(&judge.stock).enumerate() {
            let stock = done.stock();
            handled = handled.wrapping_add(stock.handled.wrapping_sub(before.handled));
            if worker < on_duty {
                // Who has noted nothing has slept all the time, and will say so when that ends.
                let all = if stock.notes == before.notes { most } else { 0 };
                let part = stock.slept.wrapping_sub(before.slept).min(most);
                slept = slept.saturating_add(part.max(all));
            }
        }
        Report { now, span, handled, slept, wanted: self.wanted.swap(false, Ordering::Relaxed) }
    }

    /// How often the first so many workers have noted anything.
    fn notes_of(&self, workers: usize) -> u64 {
        self.done[..workers].iter().fold(0, |sum, done| sum.wrapping_add(done.stock().notes))
    }

    /// Puts all on duty: the messages that are handled now take that long.
    #[cold]
    pub(super) fn spread(&self, now: Time, idle: &Idle) {
        // Many workers may find that out again and again.
        let is_settled = self.due.load(Ordering::Relaxed) > now.after(HOLD_MIN / 2).0;
        if !is_settled || idle.on_duty() < self.done.len() {
            let mut judge = self.judge.lock();
            judge.stuck = None;
            let order = judge.climb.spread(now);
            self.obey(order, &mut judge, now, idle);
        }
    }

    /// Puts all on duty until those who are get on.
    #[cold]
    pub(super) fn relieve(&self, now: Time, idle: &Idle) {
        let mut judge = self.judge.lock();
        let on_duty = idle.on_duty();
        if on_duty < self.done.len() {
            judge.stuck = Some((on_duty, self.notes_of(on_duty)));
            let order = judge.climb.relieve(now);
            self.obey(order, &mut judge, now, idle);
        }
    }

    /// Does what the judge says, whose lock the caller has: the last order counts.
    fn obey(&self, order: Order, judge: &mut Judge, now: Time, idle: &Idle) {
        if idle.on_duty() != order.on_duty {
            idle.set_on_duty(order.on_duty);
        }
        judge.since = now;
        for (stock, done) in judge.stock.iter_mut().zip(&self.done) {
            *stock = done.stock();
        }
        self.due.store(order.due.0, Ordering::Relaxed);
    }
}
