//! One worker: a thread with a tokio runtime whose root future is the scheduling loop.
//!
//! The loop runs actors in slices. Between slices tokio polls its sockets, timers and tasks; when
//! there is nothing to run, the root future waits and tokio sleeps in epoll, so whatever ends that
//! sleep (a socket, a timer, another thread) ends the worker's.

#[cfg(not(shuttle))]
mod by_hand;
mod front;
mod naps;
mod pace;
mod search;
mod visits;
#[cfg(not(shuttle))]
pub(crate) use by_hand::{ByHand, Manner, Took};
pub(crate) use front::Front;
pub(crate) use pace::Limits;
pub(super) use pace::nanos;

use super::driver::AlarmClock;
use super::duty::Duty;
use super::idle::Idle;
use super::queues::{Queues, Source};
use super::{Batch, Origin, WorkerId};
use crate::sync::{Arc, AtomicBool, Ordering, planted};
use crate::task::core::{Alarm, Core};
use crate::task::current;
use crate::task::run::{Outcome, Turn};
use crate::task::share::Share;
use crate::task::watch::Watch;
use crate::task::witness::{Nobody, Witness};
use crate::task::{Hint, Ready};
use crate::time::{Clock, Time};
use front::Place;
use naps::Naps;
use pace::{Average, Jam, Slice};
use search::Next;
use std::future::Future;
use std::pin::Pin;
use std::sync::OnceLock;
use std::task::{Context, Poll, Waker};
use std::time::Duration;
use visits::Visits;

/// Turns between two looks at the clock at most; a slice begins with fewer.
const TURNS_PER_CLOCK: u32 = 32;
/// Pushes in one handler between two looks at whether a helper is worth waking.
const PUSHES_PER_LOOK: u32 = 32;
/// Looks at the clock in a row that find long messages, before all workers are on duty: one alone may have
/// been the kernel's, which gave the core to somebody else for a while.
const SLOW_LOOKS: u32 = 3;

/// What all workers of a system share.
pub(crate) struct Shared {
    pub(crate) queues: Queues,
    /// Apart: tokio keeps it as well, and what else is here keeps tokio.
    pub(crate) idle: Arc<Idle>,
    /// Who judges how many workers are on duty; otherwise all are.
    pub(crate) duty: Option<Duty>,
    /// What wakes each worker's root future.
    pub(crate) wakers: Box<[OnceLock<Waker>]>,
    pub(crate) watch: Arc<Watch>,
    pub(crate) ending: AtomicBool,
    pub(crate) clock: Clock,
    /// What waits for a worker takes so long, in nanoseconds, before it wakes another one to help. Waking
    /// costs more than many short turns, and taking an actor to another core slows those that talk to
    /// it; so a helper is called for a backlog, not for each actor (decision 0010).
    pub(crate) alone: u64,
}

/// The thread of a worker has slept, and tokio has something for it: from now on the timekeeper looks at what
/// it does, and at what waits meanwhile.
pub(crate) fn stir(idle: &Idle, watch: &Watch, now: Time, worker: usize) {
    idle.stir(worker);
    watch.begin();
    current::set_now(now);
    current::end_slice();
}

impl Shared {
    /// Whether what waits for the calling worker takes so long that a helper is worth waking.
    fn has_backlog(&self, id: WorkerId) -> bool {
        let waiting = u64::try_from(self.queues.backlog(id)).unwrap_or(u64::MAX);
        waiting.saturating_mul(current::turn_cost()) >= self.alone && waiting > 0
    }

    /// The same in the middle of a handler that has made an actor ready, and may go on for long.
    #[inline]
    fn has_backlog_after_push(&self, id: WorkerId) -> bool {
        current::turn_cost() >= self.alone || self.has_backlog_after_pushes(id)
    }

    /// Lets a worker that sleeps help where work waits: for the timekeeper, in case a handler that is longer
    /// than others before it keeps its worker from looking. `handled` is what this was told last.
    pub(super) fn call_helper_of_anyone(&self, handled: &mut u64) {
        let Queues::Shared(queue) = &self.queues else { return };
        if queue.is_empty() {
            return;
        }
        let helper = match &self.duty {
            Some(duty) if duty.is_stuck(handled) => {
                duty.relieve(self.clock.now(), &self.idle);
                // Who was off duty may be away, and has to be called; who searches may have lost its core.
                self.idle.notify_anyhow()
            }
            _ => self.idle.notify_helper(),
        };
        if let Some(helper) = helper {
            self.wake(helper);
        }
    }

    #[inline(never)]
    fn has_backlog_after_pushes(&self, id: WorkerId) -> bool {
        current::count_push().is_multiple_of(PUSHES_PER_LOOK)
            && (self.has_backlog(id) || self.is_late())
    }

    /// Whether the running turn, or what tokio runs instead, has lasted so long.
    fn is_late(&self) -> bool {
        self.clock.now() >= current::slice_began().after(Duration::from_nanos(self.alone))
    }

    /// Lets a worker that has nothing to run help the calling one, which has more to run than it should.
    fn call_helper(&self, id: WorkerId) {
        match &self.queues {
            Queues::Shared(_) => match (self.idle.notify_helper(), &self.duty) {
                (Some(sleeper), _) => self.wake(sleeper),
                (None, Some(duty)) if !self.idle.is_searched() => duty.want(&self.idle),
                (None, _) => {}
            },
            Queues::PerCore(queue) => {
                // Who searches need not be woken.
                let searcher = if self.idle.is_searched() { queue.searcher() } else { None };
                if let Some(taker) = searcher.or_else(|| self.idle.sleeper()) {
                    queue.offer(id, taker, &|worker| self.wake(worker));
                }
            }
        }
    }

    /// Has another worker look for what the calling one, which is off duty or the last that searched, leaves
    /// behind.
    fn wake_successor(&self, id: WorkerId) {
        if self.queues.are_shared()
            && self.queues.has_work(id)
            && let Some(sleeper) = self.idle.notify()
        {
            self.wake(sleeper);
        }
    }

    fn push_from_outside(&self, ready: Ready, hint: Hint) {
        let Queues::Shared(queue) = &self.queues else {
            unreachable!("who is no worker has no token of an actor with a home")
        };
        queue.push(Origin::External, ready, hint);
        if let Some(sleeper) = self.idle.notify() {
            self.wake(sleeper);
        }
    }

    /// Lets an actor live on another worker; where nobody has a home, it is ready here.
    fn migrate(&self, id: WorkerId, ready: Ready, to: usize) {
        match &self.queues {
            Queues::Shared(queue) => queue.push(Origin::Worker(id), ready, Hint::Back),
            Queues::PerCore(queue) => {
                queue.begin_move(id, vec![ready], to, &|worker| self.wake(worker));
            }
        }
    }

    /// Lets the calling worker look for work, if it waits in tokio. It is not asleep to others any more, if it was:
    /// they rely on those who are to send nothing. `true` if it did wait.
    fn wake_if_waiting(&self, id: WorkerId) -> bool {
        let waits = front::place() == Place::Waits;
        if waits {
            // It may go on with tokio's tasks for long: nobody is to count on its answer.
            self.queues.set_searching(id, false);
            self.queues.wake_up(id);
            self.wake(id.index());
        }
        waits
    }

    pub(crate) fn wake(&self, worker: usize) {
        if worker == self.wakers.len() {
            return self.watch.wake_timekeeper();
        }
        // A worker without a waker has not begun to run, and will look for work when it does.
        if let Some(waker) = self.wakers[worker].get() {
            waker.wake_by_ref();
        }
    }

    /// Says that the calling thread can be woken from now on. Who ended the workers too early to see that
    /// is seen by them.
    pub(crate) fn begin(&self) {
        // AcqRel: the rendezvous with `end`.
        self.ending.fetch_or(false, Ordering::AcqRel);
    }

    /// Ends every worker once it is done with its slice.
    pub(crate) fn end(&self) {
        // AcqRel: the rendezvous with `begin`; pairs with the Acquire in `poll`.
        self.ending.swap(true, Ordering::AcqRel);
        for worker in 0..=self.wakers.len() {
            self.wake(worker);
        }
    }
}

/// What a worker keeps of what all share. It counts its references to that alone: where each slice counted those that all
/// count, a hop between two workers that spin took an eighth longer.
struct Own {
    shared: Arc<Shared>,
    core: Arc<Core>,
}

/// The root future of a worker's runtime.
pub(crate) struct Worker {
    id: WorkerId,
    own: Arc<Own>,
    limits: Limits,
    batch: Batch,
    searching: bool,
    sleeping: bool,
    alarms: Vec<Alarm>,
    /// None where somebody else moves time.
    alarm_clock: Option<AlarmClock>,
    /// When its last slice began.
    began: Time,
    naps: Naps,
    jam: Jam,
    visits: Visits,
    /// Pauses between two looks for work; measured when it looks first.
    pauses: Option<u32>,
    /// Messages that it had handled when it looked at the clock last.
    handled: u64,
    /// When its last slice ended with work left; never, once the next one has begun.
    over_at: Time,
    /// Looks at the clock in a row that found messages to take long.
    slow_looks: u32,
    average: Average,
}

impl Worker {
    /// # Safety
    /// Whenever the worker is used, the calling thread is worker `index` of the system that `shared` and `core` are of,
    /// alone.
    pub(crate) unsafe fn new(
        index: usize,
        shared: Arc<Shared>,
        core: Arc<Core>,
        limits: Limits,
        alarm_clock: Option<AlarmClock>,
    ) -> Self {
        Self {
            // SAFETY: the caller's promise.
            id: unsafe { WorkerId::new(index) },
            own: Arc::new(Own { shared, core }),
            limits,
            batch: Batch::new(),
            searching: false,
            sleeping: false,
            // Room for a few, so that the first to go off allocate nothing.
            alarms: Vec::with_capacity(16),
            alarm_clock,
            began: Time(0),
            naps: Naps::new(limits.may_look),
            jam: Jam::default(),
            visits: Visits::default(),
            pauses: None,
            handled: 0,
            over_at: Time::NEVER,
            slow_looks: 0,
            average: Average::default(),
        }
    }

    fn number(&self) -> u32 {
        u32::try_from(self.id.index()).unwrap_or(u32::MAX)
    }

    /// Lets those alarms go off that are due; returns the time, which it notes.
    fn fire_alarms(&mut self) -> Time {
        let now = self.own.core.clock.now();
        current::set_now(now);
        let mut alarms = std::mem::take(&mut self.alarms);
        self.own.core.fire_alarms(self.number(), now, &mut alarms);
        self.alarms = alarms;
        now
    }

    /// Runs actors for one slice.
    fn slice(&mut self) -> Slice {
        let mut now = self.fire_alarms();
        self.began = now;
        self.look_at_duty(now);
        let own = self.own.clone();
        let (core, shared) = (&*own.core, &*own.shared);
        if let Some(host) = self.visits.begin(now) {
            shared.queues.gather(self.id, host, &|worker| shared.wake(worker));
        }
        let source = shared.queues.source(self.id);
        let end = now.after(self.limits.slice);
        let doing = core.watch.doing(self.id.index());
        let share = Share::growing(self.limits.batch);
        let look = pace::first_look(&self.limits);
        let until = now.after(self.average.turn(&self.limits));
        let mut turn = Turn { share, look, until, clock: &core.clock, doing };
        current::set_turn_end(until);
        let (mut turns, mut looked, mut look) = (0_u32, 0_u32, 1_u32);
        while let Some(ready) = self.next(source) {
            self.run(ready, &turn, Nobody);
            turns += 1;
            if turns == look {
                let before = std::mem::replace(&mut now, core.clock.now());
                current::set_now(now);
                pace::learn(now.since(before), turns - looked);
                self.average.add(now.since(before), turns - looked, &self.limits);
                self.learn(before, now);
                turn.look = pace::first_look(&self.limits);
                (looked, look) = (turns, turns + turns.min(TURNS_PER_CLOCK));
                turn.until = now.after(self.average.turn(&self.limits));
                current::set_turn_end(turn.until);
                if self.own.shared.has_backlog(self.id) {
                    self.own.shared.call_helper(self.id);
                }
                if now >= end {
                    self.over_at = now;
                    return Slice::Over;
                }
            }
        }
        self.note();
        if turns > 0 { Slice::Emptied } else { Slice::Idle }
    }

    #[inline(always)]
    fn run(&self, ready: Ready, turn: &Turn<'_>, witness: impl Witness) {
        match ready.run_before(turn, witness) {
            Outcome::Rested => {}
            Outcome::Yielded(ready) => self.own.shared.queues.give_way(self.id, ready),
            Outcome::Moves(ready, to) => self.own.shared.migrate(self.id, ready, to),
        }
    }

    /// The next actor to run, from this worker's batch or its queue, which is `source`.
    #[inline]
    fn next(&mut self, source: Source<'_>) -> Option<Ready> {
        let shared = &self.own.shared;
        let ready = source.next(self.id, &mut self.batch, &|worker| shared.wake(worker))?;
        if self.searching {
            self.end_search();
        }
        Some(ready)
    }

    /// The worker has searched, and found something, or leaves its thread to others.
    #[cold]
    fn end_search(&mut self) {
        self.searching = false;
        self.say_whether_it_searches();
        if self.own.shared.idle.found() {
            self.own.shared.wake_successor(self.id);
        }
    }

    /// Says what was handled until now, before a slice or after it.
    fn note(&mut self) {
        if let Some(duty) = &self.own.shared.duty {
            self.handled = current::handled();
            duty.note(self.id.index(), self.handled);
        }
    }

    /// Has it judged whether as many workers as now are to be on duty.
    fn look_at_duty(&mut self, now: Time) {
        self.note();
        let Some(duty) = &self.own.shared.duty else { return };
        // What waited while tokio had the thread has waited for long.
        let tokio_took = now.since(std::mem::replace(&mut self.over_at, Time::NEVER));
        if nanos(tokio_took) >= self.own.shared.alone {
            duty.want(&self.own.shared.idle);
        }
        duty.look(now, &self.own.shared.idle);
    }

    /// Notes what was handled since the last look at the clock.
    #[inline]
    fn learn(&mut self, before: Time, now: Time) {
        let Some(duty) = &self.own.shared.duty else { return };
        let handled = current::handled();
        let count = handled.wrapping_sub(std::mem::replace(&mut self.handled, handled)).max(1);
        let is_slow = !cfg!(shuttle) && nanos(now.since(before)) / count >= self.own.shared.alone;
        self.slow_looks = if is_slow { self.slow_looks + 1 } else { 0 };
        duty.note(self.id.index(), handled);
        if self.slow_looks == SLOW_LOOKS {
            self.slow_looks = 0;
            duty.spread(now, &self.own.shared.idle);
        }
    }

    /// Leaves its thread to tokio, and what there is to run to the workers on duty, if it is off duty: `true`.
    fn goes_off_duty(&mut self, cx: &mut Context<'_>) -> bool {
        if !self.retires() {
            return false;
        }
        front::set_place(Place::OffDuty);
        self.fire_alarms();
        if !self.sets_alarm(cx) {
            cx.waker().wake_by_ref();
        }
        true
    }

    /// Falls asleep whatever there is to do, if it is off duty, and hands that over.
    fn retires(&mut self) -> bool {
        let shared = &self.own.shared;
        if !shared.idle.retire(self.id.index(), self.searching) {
            return false;
        }
        (self.searching, self.sleeping) = (false, true);
        (self.over_at, self.slow_looks) = (Time::NEVER, 0);
        shared.queues.hand_over(self.id, &mut self.batch);
        planted!("off-duty-keeps-work": shared.wake_successor(self.id) => ());
        true
    }

    /// Announces that tokio has the thread, which may sleep, and looks once more; `false` when there is
    /// work after all.
    fn fall_asleep(&mut self, cx: &mut Context<'_>) -> bool {
        self.own.shared.idle.leave(self.id.index());
        self.naps.sleep();
        (self.searching, self.sleeping) = (false, true);
        let may_sleep = self.own.shared.queues.may_sleep(self.id);
        if planted!("worker-no-second-look": !may_sleep => false) {
            return false;
        }
        self.sets_alarm(cx)
    }

    /// Sees to it that the next alarm ends the worker's sleep; `false` when it has to go off now.
    fn sets_alarm(&mut self, cx: &mut Context<'_>) -> bool {
        match self.own.core.next_alarm(self.number()) {
            Some(Time::NEVER) | None => true,
            Some(next) => match &mut self.alarm_clock {
                Some(alarm_clock) => alarm_clock.set(next, &self.own.core.clock, cx),
                // Whoever moves time wakes the worker.
                None => true,
            },
        }
    }

    fn wake_up(&mut self) {
        if std::mem::take(&mut self.sleeping) {
            self.searching = self.own.shared.idle.wake(self.id.index());
            self.say_whether_it_searches();
            self.own.shared.queues.wake_up(self.id);
            self.visits.arrive(self.own.shared.queues.visit(self.id));
        }
    }
}

impl Future for Worker {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let this = self.get_mut();
        front::set_place(Place::Slice);
        this.wake_up();
        // Acquire: pairs with the AcqRel in `end`.
        if this.own.shared.ending.load(Ordering::Acquire) {
            return Poll::Ready(());
        }
        if this.goes_off_duty(cx) {
            current::end_slice();
            return Poll::Pending;
        }
        match this.work(cx) {
            Next::Sleep if this.fall_asleep(cx) => front::set_place(Place::Waits),
            // It looks for work when it is woken, too, though it does not count as asleep.
            Next::Paused => front::set_place(Place::Waits),
            Next::Again | Next::Sleep => {
                this.wake_up();
                cx.waker().wake_by_ref();
            }
        }
        current::end_slice();
        Poll::Pending
    }
}
