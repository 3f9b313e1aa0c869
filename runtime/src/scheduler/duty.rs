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
    /// While others relieve those on duty: how many these were, and what they had handled.
    stuck: Option<(usize, u64)>,
}

impl Duty {
    /// For so many workers, of whom one is on duty at first.
    pub(super) fn new(workers: usize, idle: &Idle) -> Self {
        idle.set_on_duty(1);
        let done = || Done { handled: AtomicU64::new(0), slept: AtomicU64::new(0) };
        Self {
            done: (0..workers).map(|_| CachePadded(done())).collect(),
            due: CachePadded(AtomicU64::new(0)),
            wanted: CachePadded(AtomicBool::new(false)),
            judge: Mutex::new(Judge { climb: Climb::new(workers), stuck: None }),
        }
    }

    /// Notes what `worker` has handled and slept so far.
    pub(super) fn note(&self, worker: usize, handled: u64, slept: u64) {
        // Relaxed, here and in all of this: figures, which order nothing.
        self.done[worker].handled.store(handled, Ordering::Relaxed);
        self.done[worker].slept.store(slept, Ordering::Relaxed);
    }

    /// Messages that all workers have handled.
    pub(super) fn handled(&self) -> u64 {
        self.sum(self.done.len(), |done| &done.handled)
    }

    /// What the first so many workers have done.
    fn sum(&self, workers: usize, of: impl Fn(&Done) -> &AtomicU64) -> u64 {
        let done = self.done[..workers].iter();
        done.fold(0, |sum, done| sum.wrapping_add(of(done).load(Ordering::Relaxed)))
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
        let handled_by = |workers| self.sum(workers, |done| &done.handled);
        let order = if judge.stuck.is_some_and(|(workers, at)| handled_by(workers) == at) {
            judge.climb.relieve_on(now)
        } else {
            judge.stuck = None;
            self.judged(&mut judge.climb, now, idle.on_duty())
        };
        self.obey(order, idle);
    }

    #[cfg(not(shuttle))]
    fn judged(&self, climb: &mut Climb, now: Time, on_duty: usize) -> Order {
        let wanted = self.wanted.swap(false, Ordering::Relaxed);
        let slept = self.sum(on_duty, |done| &done.slept);
        climb.report(Report { now, handled: self.handled(), slept, wanted })
    }

    /// shuttle repeats its schedules, and could not if they followed from the time.
    #[cfg(shuttle)]
    fn judged(&self, climb: &mut Climb, _now: Time, _on_duty: usize) -> Order {
        climb.anything()
    }

    /// Puts all on duty: the messages that are handled now take that long.
    #[cold]
    pub(super) fn spread(&self, now: Time, idle: &Idle) {
        // Many workers may find that out again and again.
        let is_settled = self.due.load(Ordering::Relaxed) > now.after(HOLD_MIN / 2).0;
        if !is_settled || idle.on_duty() < self.done.len() {
            let mut judge = self.judge.lock();
            judge.stuck = None;
            self.obey(judge.climb.spread(now), idle);
        }
    }

    /// Puts all on duty until those who are get on.
    #[cold]
    pub(super) fn relieve(&self, now: Time, idle: &Idle) {
        let mut judge = self.judge.lock();
        let on_duty = idle.on_duty();
        if on_duty < self.done.len() {
            judge.stuck = Some((on_duty, self.sum(on_duty, |done| &done.handled)));
            self.obey(judge.climb.relieve(now), idle);
        }
    }

    /// Does what the judge says, whose lock the caller has: the last order counts.
    fn obey(&self, order: Order, idle: &Idle) {
        if idle.on_duty() != order.on_duty {
            idle.set_on_duty(order.on_duty);
        }
        self.due.store(order.due.0, Ordering::Relaxed);
    }
}
