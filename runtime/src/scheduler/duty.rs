//! Who is on duty where that is left to the runtime: counts what workers do, and lets [`Climb`] judge.

use super::climb::{Climb, Order, Report};
use super::idle::Idle;
use crate::sync::{AtomicBool, AtomicU64, CachePadded, Mutex, Ordering};
use crate::time::Time;

/// See the [module](self).
#[derive(Debug)]
pub(crate) struct Duty {
    /// Messages that each worker has handled; written by itself.
    handled: Box<[CachePadded<AtomicU64>]>,
    /// When the next report is due.
    due: CachePadded<AtomicU64>,
    /// Whether somebody wanted help from workers that are off duty.
    wanted: CachePadded<AtomicBool>,
    judge: Mutex<Judge>,
}

#[derive(Debug)]
struct Judge {
    climb: Climb,
    /// While others relieve those on duty: what these had handled when they got stuck.
    stuck_at: Option<u64>,
}

impl Duty {
    /// For so many workers, of whom one is on duty at first.
    pub(super) fn new(workers: usize, idle: &Idle) -> Self {
        idle.set_on_duty(1);
        Self {
            handled: (0..workers).map(|_| CachePadded(AtomicU64::new(0))).collect(),
            due: CachePadded(AtomicU64::new(0)),
            wanted: CachePadded(AtomicBool::new(false)),
            judge: Mutex::new(Judge { climb: Climb::new(workers), stuck_at: None }),
        }
    }

    /// Notes what `worker` has handled so far.
    pub(super) fn note(&self, worker: usize, handled: u64) {
        // Relaxed, here and in all of this: figures, which order nothing.
        self.handled[worker].store(handled, Ordering::Relaxed);
    }

    /// Messages that all workers have handled.
    pub(super) fn handled(&self) -> u64 {
        self.handled_by(self.handled.len())
    }

    /// Messages that the first so many workers have handled.
    fn handled_by(&self, workers: usize) -> u64 {
        let handled = self.handled[..workers].iter().map(|count| count.load(Ordering::Relaxed));
        handled.fold(0, u64::wrapping_add)
    }

    /// Notes that help was wanted that nobody on duty could give.
    #[cold]
    pub(super) fn want(&self) {
        if !self.wanted.load(Ordering::Relaxed) {
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
        let order = if judge.stuck_at == Some(self.handled_by(judge.climb.kept())) {
            judge.climb.relieve(now)
        } else {
            judge.stuck_at = None;
            self.judged(&mut judge.climb, now)
        };
        self.obey(order, idle);
    }

    #[cfg(not(shuttle))]
    fn judged(&self, climb: &mut Climb, now: Time) -> Order {
        let wanted = self.wanted.swap(false, Ordering::Relaxed);
        climb.report(Report { now, handled: self.handled(), wanted })
    }

    /// shuttle repeats its schedules, and could not if they followed from the time.
    #[cfg(shuttle)]
    fn judged(&self, climb: &mut Climb, _now: Time) -> Order {
        climb.anything()
    }

    /// Puts all on duty: the messages that are handled now take that long.
    #[cold]
    pub(super) fn spread(&self, now: Time, idle: &Idle) {
        self.obey(self.judge.lock().climb.spread(now), idle);
    }

    /// Puts all on duty until those who are get on.
    #[cold]
    pub(super) fn relieve(&self, now: Time, idle: &Idle) {
        let mut judge = self.judge.lock();
        judge.stuck_at = Some(self.handled_by(judge.climb.kept()));
        self.obey(judge.climb.relieve(now), idle);
    }

    fn obey(&self, order: Order, idle: &Idle) {
        idle.set_on_duty(order.on_duty);
        self.due.store(order.due.0, Ordering::Relaxed);
    }
}
