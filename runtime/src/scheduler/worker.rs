//! One worker: a thread with a tokio runtime whose root future is the scheduling loop.
//!
//! The loop runs actors in slices. Between slices tokio polls its sockets, timers and tasks; when
//! there is nothing to run, the root future waits and tokio sleeps in epoll, so whatever ends that
//! sleep (a socket, a timer, another thread) ends the worker's.

#[cfg(not(shuttle))]
mod by_hand;
mod pace;
#[cfg(not(shuttle))]
pub(crate) use by_hand::{ByHand, Manner, Took};
pub(crate) use pace::Limits;

use super::driver::AlarmClock;
use super::idle::Idle;
use super::look;
use super::queues::Queues;
use super::{Batch, Origin, WorkerId};
use crate::queue::node::Node;
use crate::sync::{Arc, AtomicBool, Ordering, planted, thread, thread_local};
use crate::task::cargo::{self, Cargo};
use crate::task::cell::CellRef;
use crate::task::core::{Alarm, Core, Schedule};
use crate::task::current;
use crate::task::run::{Nobody, Outcome, Turn, Witness};
use crate::task::share::Share;
use crate::task::{Hint, Ready};
use crate::time::{Clock, Time};
use pace::Slice;
use std::cell::Cell;
use std::future::Future;
use std::pin::Pin;
use std::ptr::NonNull;
use std::sync::OnceLock;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

/// Turns between two looks at the clock at most; a slice begins with fewer.
const TURNS_PER_CLOCK: u32 = 32;
/// Pushes in one handler between two looks at whether a helper is worth waking.
const PUSHES_PER_LOOK: u32 = 32;

/// What all workers of a system share.
pub(crate) struct Shared {
    pub(crate) queues: Queues,
    /// Apart: tokio keeps it as well, and what else is here keeps tokio.
    pub(crate) idle: Arc<Idle>,
    /// What wakes each worker's root future.
    pub(crate) wakers: Box<[OnceLock<Waker>]>,
    /// The thread that looks after the timers of those who are no workers.
    pub(crate) timekeeper: OnceLock<thread::Thread>,
    pub(crate) ending: AtomicBool,
    pub(crate) clock: Clock,
    /// What waits for a worker takes so long, in nanoseconds, before it wakes another one to help. Waking
    /// costs more than many short turns, and taking an actor to another core slows those that talk to
    /// it; so a helper is called for a backlog, not for each actor (decision 0010).
    pub(crate) alone: u64,
}

thread_local! {
    /// Whether this thread is a worker that waits in tokio: a push on its own thread must wake it.
    static WAITS: Cell<bool> = const { Cell::new(false) };
}

/// The thread of a worker has slept, and tokio has something for it.
pub(crate) fn stir(idle: &Idle, clock: &Clock, worker: usize) {
    idle.stir(worker);
    current::set_now(clock.now());
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
    /// than others before it keeps its worker from looking.
    pub(super) fn call_helper_of_anyone(&self) {
        if let Queues::Shared(queue) = &self.queues
            && self.idle.could_help()
            && !queue.is_empty()
            && let Some(sleeper) = self.idle.notify_helper()
        {
            self.wake(sleeper);
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

    /// Lets a worker that sleeps help the calling one, which has more to run than it should.
    fn call_helper(&self, id: WorkerId) {
        match &self.queues {
            Queues::Shared(_) => {
                if let Some(sleeper) = self.idle.notify_helper() {
                    self.wake(sleeper);
                }
            }
            Queues::PerCore(queue) => {
                if let Some(sleeper) = self.idle.sleeper() {
                    queue.share(id, sleeper, &|worker| self.wake(worker));
                }
            }
        }
    }

    /// Has another worker look for what the calling one, the last that searched, leaves behind.
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

    /// Lets the calling worker look for work, if it waits in tokio. It is not asleep to others any more:
    /// they rely on those who are to send nothing. `true` if it did wait.
    fn wake_if_waiting(&self, id: WorkerId) -> bool {
        let waits = WAITS.with(Cell::get);
        if waits {
            self.queues.wake_up(id);
            self.wake(id.index());
        }
        waits
    }

    pub(crate) fn wake(&self, worker: usize) {
        if worker == self.wakers.len() {
            return self.wake_timekeeper();
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

    fn wake_timekeeper(&self) {
        // Before it has begun it has nothing to wake from.
        if let Some(thread) = self.timekeeper.get() {
            thread.unpark();
        }
    }
}

/// The scheduler, as cells see it.
pub(crate) struct Front(pub(crate) Arc<Shared>);

impl Schedule for Front {
    fn schedule(&self, at: Option<u32>, ready: Ready, hint: Hint, pause: bool) {
        let shared = &self.0;
        let Some(worker) = at else { return shared.push_from_outside(ready, hint) };
        let index = worker as usize;
        // SAFETY: `at` names the calling thread, as `current::enter` was told by the worker itself.
        let id = unsafe { WorkerId::new(index) };
        shared.queues.push(id, ready, hint);
        if WAITS.with(Cell::get) {
            shared.wake(index);
        }
        if !pause
            && shared.queues.are_shared()
            && shared.idle.could_help()
            && shared.has_backlog_after_push(id)
        {
            shared.call_helper(id);
        }
    }

    fn carry(&self, at: Option<u32>, cargo: Cargo) {
        let shared = &self.0;
        let Queues::PerCore(queue) = &shared.queues else { unreachable!("nobody has a home") };
        let wake = |worker| shared.wake(worker);
        let Some(worker) = at else {
            return queue.carry_from_outside(cargo, &wake).expect("this is no message");
        };
        // SAFETY: as in `schedule`.
        let id = unsafe { WorkerId::new(worker as usize) };
        shared.wake_if_waiting(id);
        queue.carry(id, cargo, &wake);
    }

    fn is_congested(&self, at: Option<u32>, to: &CellRef) -> bool {
        let (Queues::PerCore(queue), Some(worker)) = (&self.0.queues, at) else { return false };
        // SAFETY: as in `schedule`.
        queue.is_congested(unsafe { WorkerId::new(worker as usize) }, to)
    }

    unsafe fn carry_mail(
        &self,
        at: Option<u32>,
        to: &CellRef,
        node: NonNull<Node>,
    ) -> Result<(), NonNull<Node>> {
        let Queues::PerCore(queue) = &self.0.queues else { unreachable!("nobody has a home") };
        let wake = |worker| self.0.wake(worker);
        let Some(worker) = at else {
            // SAFETY: the caller's promise.
            return queue.carry_from_outside(unsafe { Cargo::mail(to.clone(), node) }, &wake);
        };
        // SAFETY: as in `schedule`.
        let id = unsafe { WorkerId::new(worker as usize) };
        // The fence before an order to drain does not wait for a worker that does.
        // SAFETY: the caller owns the node.
        let is_late = self.0.wake_if_waiting(id) && unsafe { cargo::is_late(to, node) };
        if planted!("sleeper-accepts-late": is_late => false) {
            return Err(node);
        }
        // SAFETY: the caller's promise.
        unsafe { queue.carry_mail(id, to, node, &wake) };
        Ok(())
    }

    fn migrate(&self, at: Option<u32>, ready: Ready, to: usize) {
        let worker = at.expect("only workers run actors");
        // SAFETY: as in `schedule`.
        let id = unsafe { WorkerId::new(worker as usize) };
        self.0.wake_if_waiting(id);
        self.0.migrate(id, ready, to);
    }

    fn answers_inside(&self) -> bool {
        // In a task of tokio, the calling worker itself is as good as another.
        matches!(self.0.queues, Queues::PerCore(_))
            || !WAITS.with(Cell::get)
                && (current::turn_cost() < self.0.alone || self.0.idle.is_all_awake())
    }

    fn all_asleep_since(&self) -> Option<u64> {
        self.0.idle.all_asleep_since().filter(|_| self.0.queues.is_at_rest())
    }

    fn tell_when_all_asleep(&self, waker: Waker) {
        self.0.idle.tell_when_all_asleep(waker);
    }

    fn wake_sleeper(&self, at: Option<u32>, worker: u32) {
        // The calling worker looks at its timers before it sleeps, unless it waits in tokio already.
        if at.is_none() || WAITS.with(Cell::get) {
            self.0.wake(worker as usize);
        }
    }

    fn end(&self) {
        self.0.end();
    }
}

/// The root future of a worker's runtime.
pub(crate) struct Worker {
    id: WorkerId,
    shared: Arc<Shared>,
    core: Arc<Core>,
    limits: Limits,
    batch: Batch,
    searching: bool,
    sleeping: bool,
    alarms: Vec<Alarm>,
    /// None where somebody else moves time.
    alarm_clock: Option<AlarmClock>,
    /// Since when it has had nothing to run.
    bored_since: Option<Time>,
    /// Pauses between two looks for work; measured when it looks first.
    pauses: Option<u32>,
}

impl Worker {
    /// # Safety
    /// Whenever the worker is used, the calling thread is worker `index`, alone.
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
            shared,
            core,
            limits,
            batch: Batch::new(),
            searching: false,
            sleeping: false,
            // Room for a few, so that the first to go off allocate nothing.
            alarms: Vec::with_capacity(16),
            alarm_clock,
            bored_since: None,
            pauses: None,
        }
    }

    fn number(&self) -> u32 {
        u32::try_from(self.id.index()).unwrap_or(u32::MAX)
    }

    /// Runs actors for one slice.
    fn slice(&mut self) -> Slice {
        let mut now = self.core.clock.now();
        current::set_now(now);
        let mut alarms = std::mem::take(&mut self.alarms);
        self.core.fire_alarms(self.number(), now, &mut alarms);
        self.alarms = alarms;
        let core = self.core.clone();
        let end = now.after(self.limits.slice);
        let doing = core.watch.doing(self.id.index());
        let share = Share::growing(self.limits.batch);
        let look = pace::first_look(&self.limits);
        let mut turn = Turn { share, look, until: end, clock: &core.clock, doing };
        current::set_turn_end(end);
        let (mut turns, mut looked, mut look) = (0_u32, 0_u32, 1_u32);
        while let Some(ready) = self.next() {
            self.run(ready, &turn, Nobody);
            turns += 1;
            if turns == look {
                let before = std::mem::replace(&mut now, core.clock.now());
                current::set_now(now);
                pace::learn(now.since(before), turns - looked);
                turn.look = pace::first_look(&self.limits);
                (looked, look) = (turns, turns + turns.min(TURNS_PER_CLOCK));
                turn.until = now.after(self.limits.slice);
                current::set_turn_end(turn.until);
                if self.shared.has_backlog(self.id) {
                    self.shared.call_helper(self.id);
                }
                if now >= end {
                    return Slice::Over;
                }
            }
        }
        if turns > 0 { Slice::Emptied } else { Slice::Idle }
    }

    #[inline(always)]
    fn run(&self, ready: Ready, turn: &Turn<'_>, witness: impl Witness) {
        match ready.run_before(turn, witness) {
            Outcome::Rested => {}
            Outcome::Yielded(ready) => self.shared.queues.push(self.id, ready, Hint::Back),
            Outcome::Moves(ready, to) => self.shared.migrate(self.id, ready, to),
        }
    }

    /// The next actor to run, from this worker's batch or its queue.
    fn next(&mut self) -> Option<Ready> {
        let shared = &self.shared;
        let ready = shared.queues.next(self.id, &mut self.batch, &|worker| shared.wake(worker))?;
        if std::mem::take(&mut self.searching) && self.shared.idle.found() {
            self.shared.wake_successor(self.id);
        }
        Some(ready)
    }

    /// Looks for work for a while; `true` when it is too early to sleep.
    fn search(&mut self) -> bool {
        if !std::mem::replace(&mut self.searching, true) {
            self.shared.idle.search();
        }
        if self.shared.queues.has_work(self.id) {
            return true;
        }
        if self.limits.spin.is_zero() {
            return false;
        }
        let now = self.core.clock.now();
        let began = *self.bored_since.get_or_insert(now);
        if now >= began.after(self.limits.spin) {
            return false;
        }
        // One slice at a time: tokio has sockets and timers to look at in between.
        let pauses = *self.pauses.get_or_insert_with(|| look::pauses(&self.core.clock));
        let until = now.after(self.limits.slice).min(began.after(self.limits.spin));
        while self.core.clock.now() < until {
            look::pause(pauses);
            if self.shared.queues.has_work(self.id) {
                break;
            }
        }
        true
    }

    /// Announces that tokio has the thread, which may sleep, and looks once more; `false` when there is
    /// work after all.
    fn fall_asleep(&mut self, cx: &mut Context<'_>) -> bool {
        self.shared.idle.leave(self.id.index());
        self.searching = false;
        self.sleeping = true;
        let may_sleep = self.shared.queues.may_sleep(self.id);
        if planted!("worker-no-second-look": !may_sleep => false) {
            return false;
        }
        match self.core.next_alarm(self.number()) {
            Some(Time::NEVER) | None => true,
            Some(next) => match &mut self.alarm_clock {
                Some(alarm_clock) => alarm_clock.set(next, &self.core.clock, cx),
                // Whoever moves time wakes the worker.
                None => true,
            },
        }
    }

    fn wake_up(&mut self) {
        if std::mem::take(&mut self.sleeping) {
            self.searching = self.shared.idle.wake(self.id.index());
            self.shared.queues.wake_up(self.id);
            self.be_watched();
        }
    }

    /// Lets the timekeeper look at what this worker does from now on.
    fn be_watched(&self) {
        if self.core.watch.begin() {
            self.shared.wake_timekeeper();
        }
    }
}

impl Future for Worker {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let this = self.get_mut();
        WAITS.with(|waits| waits.set(false));
        this.wake_up();
        // Acquire: pairs with the AcqRel in `end`.
        if this.shared.ending.load(Ordering::Acquire) {
            return Poll::Ready(());
        }
        this.shared.queues.begin_slice(this.id);
        let slice = this.slice();
        current::close_home();
        if slice != Slice::Idle {
            this.bored_since = None;
        }
        // Nothing is left after a slice that did not last its time: another one would be a look at tokio's sockets
        // for nothing before those in the kernel are waited for. But a worker that spins would keep them waiting.
        let spins = !this.limits.spin.is_zero();
        let busy = slice == Slice::Over || slice == Slice::Emptied && spins || this.search();
        if busy || !this.fall_asleep(cx) {
            this.wake_up();
            cx.waker().wake_by_ref();
        } else {
            WAITS.with(|waits| waits.set(true));
        }
        current::end_slice();
        Poll::Pending
    }
}
