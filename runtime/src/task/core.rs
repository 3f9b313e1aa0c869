//! What the cells of one system share.

mod alarms;

pub(crate) use alarms::{Alarm, AlarmKey};

use super::budget::Budget;
use super::cargo::Cargo;
use super::cell::{CellRef, Header, Reach};
use super::home::{Home, Homes};
use super::ids::Ids;
use super::looks::{Looking, Looks};
use super::names::Names;
use super::random::Random;
use super::roots::Roots;
use super::run::{Outcome, Turn};
use super::share::Share;
use super::shared::Shared;
use super::told::Told;
use super::waits::Waits;
use super::watch::Watch;
use super::{Hint, Ready, current};
use crate::event::{Counts, DeadLetterReason, Events, Lives};
use crate::queue::node::{Lane, Node};
use crate::sync::{Arc, AtomicBool, AtomicUsize, CachePadded, Ordering, planted};
use crate::time::{Alarms, Clock, Time};
use std::fmt;
use std::ptr::NonNull;
use std::task::Waker;
use std::time::Duration;

/// The scheduler, as a cell sees it.
pub(crate) trait Schedule: Send + Sync {
    /// Queues `ready`; `at` is the calling thread's worker, if it is one of this system's. With
    /// `pause` the running handler is about to wait or is done, so that this worker is soon free.
    fn schedule(&self, at: Option<u32>, ready: Ready, hint: Hint, pause: bool);
    /// Brings `cargo` to where its actor lives; `at` as in `schedule`.
    fn carry(&self, at: Option<u32>, cargo: Cargo);
    /// Whether the way from the calling thread to where the actor lives is full; `at` as in `schedule`.
    fn is_congested(&self, at: Option<u32>, to: &CellRef) -> bool;
    /// As `carry`, for one user message, which often joins others on their way.
    ///
    /// # Errors
    /// The node, if it is a user's, and the mailbox was closed before it was on its way for sure.
    ///
    /// # Safety
    /// The caller owns `node`, whose kind fits the actor, and gives it away.
    unsafe fn carry_mail(
        &self,
        at: Option<u32>,
        to: &CellRef,
        node: NonNull<Node>,
    ) -> Result<(), NonNull<Node>>;
    /// Lets the actor, which is ready on the calling worker, live on worker `to` from now on.
    fn migrate(&self, at: Option<u32>, ready: Ready, to: usize);
    /// Whether a question is best answered inside the turn of its asker, on the calling worker: turns are
    /// short here, or no other worker could take it over at once.
    fn answers_inside(&self) -> bool;
    /// If every worker sleeps and nothing is on its way between them: a number that changes when one wakes.
    fn all_asleep_since(&self) -> Option<u64>;
    /// How often a worker's sleep has ended.
    fn sleeps_ended(&self) -> u64;
    /// Wakes `waker` when every worker sleeps the next time.
    fn tell_when_all_asleep(&self, waker: &Waker);
    /// Ends the sleep of `worker`, or of the timekeeper, who has a new timer to look at; `at` as in
    /// `schedule`.
    fn wake_sleeper(&self, at: Option<u32>, worker: u32);
    /// Ends the workers, each after its slice.
    fn end(&self);
}

/// Messages in a turn inside another one: the question, and then rest if there is no more.
const NESTED_BATCH: u32 = 2;

/// Limits and defaults that cells ask for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// How long an `ask` waits unless told otherwise.
    pub(crate) ask_timeout: Duration,
    /// How long a plain thread looks for an answer before it sleeps.
    pub(crate) looking: Looking,
    /// How long a handler may run at a time before that is reported; zero: for ever.
    pub(crate) handler_budget: Duration,
    /// Messages that wait for an actor when it is overloaded, unless it declares a number.
    pub(crate) overload: Option<usize>,
}

/// What the cells of one system share.
pub(crate) struct Core {
    scheduler: Box<dyn Schedule>,
    pub(crate) clock: Clock,
    pub(crate) events: Arc<Events>,
    pub(crate) limits: Limits,
    /// Those of plain threads for answers.
    pub(crate) looks: CachePadded<Looks>,
    /// What may wait in all mailboxes together, if that is limited.
    pub(crate) budget: Option<Budget>,
    /// Whether there is an actor that can be overloaded, or was.
    pub(super) slows: AtomicBool,
    pub(crate) random: CachePadded<Random>,
    pub(crate) names: Names,
    /// Groups and topics by name.
    pub(crate) shared: Shared,
    pub(crate) roots: Roots,
    /// Where actors can live, if they live anywhere in particular.
    pub(crate) homes: Homes,
    /// tokio keeps it as well, which the rest of this keeps.
    pub(crate) watch: Arc<Watch>,
    pub(crate) waits: Waits,
    alarms: Box<[CachePadded<Alarms<Alarm>>]>,
    ids: Ids,
    /// Tasks of actors, and calls that block for them, that have not been dropped.
    pub(super) tasks: AtomicUsize,
    /// Whether nobody runs them any more: whoever had them run drops them when the actors have ended.
    tasks_rest: AtomicBool,
    /// Workers that have not ended.
    workers: AtomicUsize,
    /// Told when the last worker has ended.
    workers_gone: Told,
}

impl fmt::Debug for Core {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Core").finish_non_exhaustive()
    }
}

impl Core {
    pub(crate) fn new(
        scheduler: Box<dyn Schedule>,
        clock: Clock,
        limits: Limits,
        random: Random,
        watch: Arc<Watch>,
        homes: Homes,
        events: Arc<Events>,
    ) -> Self {
        let workers = watch.workers();
        Self {
            scheduler,
            homes,
            watch,
            waits: Waits::default(),
            clock,
            events,
            looks: CachePadded(Looks::new(limits.looking)),
            limits,
            budget: None,
            slows: AtomicBool::new(false),
            random: CachePadded(random),
            names: Names::new(),
            shared: Shared::new(),
            roots: Roots::new(),
            // One more for those who are no workers; the timekeeper looks after it.
            alarms: (0..=workers).map(|_| CachePadded(Alarms::new())).collect(),
            ids: Ids::new(workers),
            tasks: AtomicUsize::new(0),
            tasks_rest: AtomicBool::new(false),
            workers: AtomicUsize::new(workers),
            workers_gone: Told::default(),
        }
    }

    /// With a budget for its mail.
    pub(crate) fn with_budget(self, budget: Option<Budget>) -> Self {
        Self { budget, ..self }
    }

    /// A number that nothing in the system had before, above all that were taken by this.
    pub(crate) fn next_id(&self) -> u64 {
        self.ids.next()
    }

    /// A number that nothing in the system had before, above or below others.
    pub(crate) fn any_id(&self) -> u64 {
        current::worker_of(self).map_or_else(|| self.ids.next(), |worker| self.ids.next_on(worker))
    }

    /// Where an actor lives that is made for worker `index`.
    pub(crate) fn home_on(&self, index: usize) -> Home {
        u32::try_from(index).ok().and_then(|index| self.homes.of(index)).unwrap_or(Home::ANY)
    }

    /// Where an actor that is made now lives: with its maker, and on the first worker if that is none.
    /// Idle workers are handed what a busy one has too much of.
    pub(crate) fn home_of_new(&self) -> Home {
        self.home_on(current::worker_of(self).unwrap_or(0) as usize)
    }

    /// How many workers there are.
    pub(crate) fn workers(&self) -> usize {
        self.alarms.len() - 1
    }

    /// Brings `cargo` to where its actor lives.
    #[cold]
    pub(crate) fn carry(&self, cargo: Cargo) {
        self.scheduler.carry(current::worker_of(self), cargo);
    }

    /// Brings a message to where its actor lives.
    ///
    /// # Errors
    /// The node, if it is a user's that comes too late.
    ///
    /// # Safety
    /// The caller owns `node`, whose kind fits the actor, and gives it away.
    pub(crate) unsafe fn carry_mail(
        &self,
        to: &CellRef,
        node: NonNull<Node>,
    ) -> Result<(), NonNull<Node>> {
        // SAFETY: the caller's promise.
        unsafe { self.scheduler.carry_mail(current::worker_of(self), to, node) }
    }

    /// As [`Core::carry_mail`], for a sender that can wait.
    ///
    /// # Errors
    /// The node, while the way to the actor is full; and as there.
    ///
    /// # Safety
    /// As [`Core::carry_mail`].
    pub(crate) unsafe fn carry_mail_when_clear(
        &self,
        to: &CellRef,
        node: NonNull<Node>,
    ) -> Result<(), NonNull<Node>> {
        let at = current::worker_of(self);
        if self.scheduler.is_congested(at, to) {
            return Err(node);
        }
        // SAFETY: the caller's promise.
        unsafe { self.scheduler.carry_mail(at, to, node) }
    }

    /// Sees that a new actor runs, wherever it lives.
    pub(crate) fn schedule_new(&self, ready: Ready) {
        // SAFETY: the maker of a cell holds its token.
        let ready = match unsafe { ready.header() }.reach() {
            Reach::Away => return self.carry(Cargo::token(ready)),
            Reach::Home => current::push_home(ready).err(),
            Reach::Shared => Some(ready),
        };
        if let Some(ready) = ready {
            self.schedule(ready, Hint::Back);
        }
    }

    /// Sees that `ready` runs. Never blocks for long, callable from any thread.
    #[inline]
    pub(crate) fn schedule(&self, ready: Ready, hint: Hint) {
        self.scheduler.schedule(current::worker_of(self), ready, hint, false);
    }

    /// As [`Core::schedule`], where the running handler is about to wait for `ready` or has just
    /// answered it: no other worker needs to be woken for it.
    pub(crate) fn schedule_in_pause(&self, ready: Ready) {
        self.scheduler.schedule(current::worker_of(self), ready, Hint::Next, true);
    }

    /// Sees that `ready` runs: at once, inside the running turn, if this is a worker on which that is
    /// [best](Schedule::answers_inside). For a caller that waits for what `ready` will do.
    pub(crate) fn run_or_schedule(&self, ready: Ready) {
        let mut ready = Some(ready);
        if let Some(worker) = current::worker_of(self)
            && self.scheduler.answers_inside()
        {
            let doing = self.watch.doing(worker as usize);
            let (share, until) = (Share::fixed(NESTED_BATCH), Time(0));
            let turn = Turn { share, look: NESTED_BATCH, until, clock: &self.clock, doing };
            current::nest(|| {
                let Some(ready) = ready.take() else { return };
                let done = doing.interrupt();
                match ready.run(&turn) {
                    Outcome::Rested => {}
                    Outcome::Yielded(ready) => self.schedule(ready, Hint::Back),
                    Outcome::Moves(ready, to) => {
                        self.scheduler.migrate(current::worker_of(self), ready, to);
                    }
                }
                doing.resume(&done);
            });
        }
        if let Some(ready) = ready {
            self.schedule_in_pause(ready);
        }
    }

    /// Reports a message that its actor did not live to handle. The node stays the caller's.
    pub(crate) fn undelivered(&self, header: &Header, node: NonNull<Node>) {
        // SAFETY: the caller owns the node.
        let kind = unsafe { Node::kind(node) };
        if kind.lane == Lane::User {
            self.events.dead_letter(header.actor_id(), (kind.name)(), DeadLetterReason::Stopped);
        }
        if self.budget.is_some()
            && let Some(weigh) = kind.weigh
        {
            // SAFETY: the caller owns the node, whose kind this is.
            let bytes = unsafe { weigh(node) };
            planted!("budget-kept-by-the-dead": self.leave_budget(bytes) => ());
        }
    }

    /// All that was counted.
    pub(crate) fn counts(&self) -> Counts {
        let mut counts = self.events.counts();
        counts.wakings += self.scheduler.sleeps_ended();
        counts
    }

    /// If every worker sleeps and nothing is on its way between them: a number that changes when one wakes.
    pub(crate) fn all_asleep_since(&self) -> Option<u64> {
        self.scheduler.all_asleep_since()
    }

    /// Wakes `waker` when every worker sleeps the next time.
    pub(crate) fn tell_when_all_asleep(&self, waker: &Waker) {
        self.scheduler.tell_when_all_asleep(waker);
    }

    /// Adds a child of the system; `false` when it takes no more.
    pub(crate) fn add_root(&self, cell: &CellRef) -> bool {
        let added = self.roots.add(cell);
        if added == Err(true) {
            self.scheduler.end();
        }
        added.is_ok()
    }

    /// Forgets a child of the system that has ended.
    pub(crate) fn root_ended(&self, header: NonNull<Header>) {
        if self.roots.remove(header) {
            self.scheduler.end();
        }
    }

    /// Lets the workers end with the last child, or now.
    pub(crate) fn end_with_last_root(&self) {
        if self.roots.gate.orphan() {
            self.scheduler.end();
        }
    }

    /// Ends the workers, each after its slice.
    pub(crate) fn end_workers(&self) {
        self.scheduler.end();
    }

    /// Says that a worker has ended, and reported what was on its way to it.
    pub(crate) fn worker_ended(&self) {
        // AcqRel: the last one acquires what the others did, and releases it to `workers_gone`; the rendezvous with
        // `needs_no_timekeeper`.
        if self.workers.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.workers_gone.tell();
            // It goes on until now.
            self.watch.wake_timekeeper();
        }
    }

    /// Waits until no child of the system is left.
    pub(crate) async fn roots_gone(&self) {
        self.roots.empty.until(|| self.roots.count() == 0).await;
    }

    /// Whether some worker is left.
    pub(crate) fn has_workers(&self) -> bool {
        // Relaxed: a hint.
        self.workers.load(Ordering::Relaxed) > 0
    }

    /// Waits until no worker is left.
    pub(crate) async fn workers_gone(&self) {
        // Acquire: pairs with the AcqRel in `worker_ended`.
        self.workers_gone.until(|| self.workers.load(Ordering::Acquire) == 0).await;
    }

    /// What is there beside actors and their mail, a line for each kind.
    pub(crate) fn leftovers(&self) -> Vec<String> {
        let mut left = Vec::new();
        let timers = self.alarms.iter().map(|alarms| alarms.count()).sum();
        let names = self.names.count();
        let waits = self.waits.count();
        // Acquire: pairs with the AcqRel in `worker_ended`.
        let workers = self.workers.load(Ordering::Acquire);
        let all =
            [(timers, "timers"), (names, "names"), (waits, "asks that wait"), (workers, "workers")];
        for (count, of) in all {
            if count > 0 {
                left.push(format!("{count} {of}"));
            }
        }
        left
    }

    /// Tasks of actors, and calls that block for them, that have not been dropped.
    pub(crate) fn tasks(&self) -> usize {
        // Acquire: pairs with the Release in the drop of `TaskCount`.
        self.tasks.load(Ordering::Acquire)
    }

    /// Says that nobody runs tasks any more, so that no incarnation is to wait for its own.
    #[cfg(not(shuttle))]
    pub(crate) fn rest_tasks(&self) {
        // Relaxed, here and where it is read: for a world, which has one thread.
        self.tasks_rest.store(true, Ordering::Relaxed);
    }

    /// Whether nobody runs tasks any more.
    pub(crate) fn do_tasks_rest(&self) -> bool {
        self.tasks_rest.load(Ordering::Relaxed)
    }

    /// The clock as of the running slice, or read now by those who run in none.
    pub(crate) fn slice_now(&self) -> Time {
        current::now_of(self).unwrap_or_else(|| self.clock.now())
    }

    /// Where the running worker counts the actors that start and end on it.
    pub(crate) fn lives(&self) -> &Lives {
        let worker = current::worker_of(self).expect("only workers run actors");
        self.events.lives(worker as usize)
    }

    /// The number under which the timekeeper is known.
    pub(crate) fn timekeeper(&self) -> u32 {
        u32::try_from(self.alarms.len() - 1).unwrap_or(u32::MAX)
    }
}
