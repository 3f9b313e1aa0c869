//! Who is on duty where that is left to the runtime: counts what workers do, and lets [`Climb`] judge.

use super::climb::{Climb, HOLD_MIN, Order, Report};
use super::idle::Idle;
use crate::sync::{Arc, AtomicBool, AtomicU64, CachePadded, Mutex, Ordering, planted};
use crate::time::Time;

/// What one worker has done; written by itself.
#[derive(Debug, Default)]
struct Done {
    /// Messages handled.
    handled: AtomicU64,
    /// How often it has noted that.
    notes: AtomicU64,
}

/// How long the thread of one worker has slept; written by itself.
#[derive(Debug)]
pub(super) struct Sleeps {
    /// Nanoseconds of sleeps that have ended.
    ended: AtomicU64,
    /// When the one has begun that has not.
    since: AtomicU64,
}

impl Sleeps {
    fn new() -> Self {
        Self { ended: AtomicU64::new(0), since: AtomicU64::new(Time::NEVER.0) }
    }

    /// The thread is about to sleep.
    pub(super) fn begin(&self, now: Time) {
        // Relaxed, here and in all of this file: figures, which order nothing.
        self.since.store(now.0, Ordering::Relaxed);
    }

    /// The thread has slept.
    pub(super) fn end(&self, now: Time) {
        let since = self.since.swap(Time::NEVER.0, Ordering::Relaxed);
        let ended = self.ended.load(Ordering::Relaxed);
        self.ended.store(ended.wrapping_add(now.0.saturating_sub(since)), Ordering::Relaxed);
    }

    /// Nanoseconds until now.
    fn until(&self, now: Time) -> u64 {
        let since = self.since.load(Ordering::Relaxed);
        self.ended.load(Ordering::Relaxed).wrapping_add(now.0.saturating_sub(since))
    }
}

/// See the [module](self).
#[derive(Debug)]
pub(crate) struct Duty {
    done: Box<[CachePadded<Done>]>,
    /// Apart: tokio keeps it as well.
    sleeps: Arc<Box<[CachePadded<Sleeps>]>>,
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
    /// Since when what is done counts, and what had been by then: messages of all, and sleep of each.
    since: Time,
    handled: u64,
    slept: Vec<u64>,
}

impl Duty {
    /// For so many workers, of whom one is on duty at first.
    pub(super) fn new(workers: usize, idle: &Idle) -> Self {
        idle.set_on_duty(1);
        Self {
            done: (0..workers).map(|_| CachePadded(Done::default())).collect(),
            sleeps: Arc::new((0..workers).map(|_| CachePadded(Sleeps::new())).collect()),
            due: CachePadded(AtomicU64::new(0)),
            wanted: CachePadded(AtomicBool::new(false)),
            judge: Mutex::new(Judge {
                climb: Climb::new(workers),
                stuck: None,
                since: Time(0),
                handled: 0,
                slept: vec![0; workers],
            }),
        }
    }

    /// Where each worker's thread says when it sleeps.
    pub(super) fn sleeps(&self) -> Arc<Box<[CachePadded<Sleeps>]>> {
        self.sleeps.clone()
    }

    /// Notes what `worker`, the calling one, has handled so far.
    pub(super) fn note(&self, worker: usize, handled: u64) {
        let done = &self.done[worker];
        done.handled.store(handled, Ordering::Relaxed);
        done.notes.store(done.notes.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }

    /// Messages that all workers have handled.
    fn handled(&self) -> u64 {
        let handled = self.done.iter().map(|done| done.handled.load(Ordering::Relaxed));
        handled.fold(0, u64::wrapping_add)
    }

    /// How often the first so many workers have noted anything.
    fn notes(&self, workers: usize) -> u64 {
        let notes = self.done[..workers].iter().map(|done| done.notes.load(Ordering::Relaxed));
        notes.fold(0, u64::wrapping_add)
    }

    /// Whether no message was handled since this was told the last time how many had been.
    pub(super) fn is_stuck(&self, handled: &mut u64) -> bool {
        let before = std::mem::replace(handled, self.handled());
        planted!("stuck-unseen": before == *handled => false)
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
            Some((workers, notes)) if self.notes(workers) == notes => judge.climb.relieve_on(now),
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

    /// What has been done since it counts.
    fn report_of(&self, judge: &Judge, now: Time, on_duty: usize) -> Report {
        let slept = self.sleeps.iter().zip(&judge.slept).take(on_duty);
        let slept = slept.map(|(sleeps, before)| sleeps.until(now).wrapping_sub(*before));
        Report {
            now,
            span: now.since(judge.since),
            handled: self.handled().wrapping_sub(judge.handled),
            slept: slept.fold(0, u64::saturating_add),
            wanted: self.wanted.swap(false, Ordering::Relaxed),
        }
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
            judge.stuck = Some((on_duty, self.notes(on_duty)));
            let order = judge.climb.relieve(now);
            self.obey(order, &mut judge, now, idle);
        }
    }

    /// Does what the judge says, whose lock the caller has: the last order counts.
    fn obey(&self, order: Order, judge: &mut Judge, now: Time, idle: &Idle) {
        if idle.on_duty() != order.on_duty {
            idle.set_on_duty(order.on_duty);
        }
        if !order.counts_on {
            (judge.since, judge.handled) = (now, self.handled());
            for (slept, sleeps) in judge.slept.iter_mut().zip(self.sleeps.iter()) {
                *slept = sleeps.until(now);
            }
        }
        self.due.store(order.due.0, Ordering::Relaxed);
    }
}
