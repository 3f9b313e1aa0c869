//! Building a system.

use super::config::{BATCH, BuildError, Config, Idle, Maker, STACK_BYTES, WAITING, WORKERS, check};
use super::handle::System;
use crate::event::Events;
#[cfg(not(shuttle))]
use crate::scheduler::ByHand;
use crate::scheduler::{
    Choice, Cores, Guarded, LockFreeQueue, LockedQueue, PER_CORE_WORKERS_MAX, PerCore, Pool,
    Queues, ReadyQueue, StealingQueue, WorkerLimits, WorkerOptions, choose, outsiders_may_look,
    shares_core,
};
#[cfg(not(shuttle))]
use crate::sync::WakeList;
use crate::sync::{Arc, thread};
use crate::task::budget::Budget;
use crate::task::core::{Core, Limits};
use crate::task::home::Homes;
use crate::task::looks::Looking;
use crate::task::random::Random;
use crate::task::watch::Watch;
use crate::time::Clock;
use std::num::NonZeroUsize;
use std::time::Duration;

/// The least budget of a handler: it is how often a thread looks at the workers.
const HANDLER_BUDGET_MIN: Duration = Duration::from_millis(1);

/// Which ready queue the workers share.
#[derive(Debug)]
pub struct Scheduler(Kind);

#[derive(Debug)]
enum Kind {
    Auto,
    Locked,
    LockFree,
    Stealing,
    PerCore,
    Custom(Maker),
}

impl Scheduler {
    /// What took least in `greenroom-benches` with as many workers: per-core for one. For more, stealing among as many of them as are faster than fewer: that is tried
    /// out while the program runs, a few milliseconds at a time. The others sleep, or see to sockets and timers,
    /// until messages take long, those that work get stuck, or more is there to do. Sockets and timers stay with
    /// the worker on which they were made, which is the first one more often than under
    /// [`Scheduler::stealing`].
    #[must_use]
    pub const fn auto() -> Self {
        Self(Kind::Auto)
    }

    /// One queue behind one lock: the simplest, to see whether the clever one is to blame.
    #[must_use]
    pub const fn locked() -> Self {
        Self(Kind::Locked)
    }

    /// One queue without a lock, claimed from in batches: for work that is to be taken in the order in which it became ready.
    #[must_use]
    pub const fn lock_free() -> Self {
        Self(Kind::LockFree)
    }

    /// A queue per worker; idle workers steal from busy ones.
    #[must_use]
    pub const fn stealing() -> Self {
        Self(Kind::Stealing)
    }

    /// Every actor lives on one worker, the one that made it, and is only ever run there: mail between
    /// neighbours takes no atomic operation, mail to another worker goes through a ring. A busy worker
    /// hands ready actors to an idle one, and one that is woken for next to nothing, again and again, lets
    /// them live where their mail comes from; nobody steals. For one worker, or actors that talk mostly to
    /// neighbours and little to outside; at most 62 workers.
    #[must_use]
    pub const fn per_core() -> Self {
        Self(Kind::PerCore)
    }

    /// A queue of your own: `make` is called once, with the number of workers. Check it with
    /// [`testing::ready_queue_conforms`](crate::testing::ready_queue_conforms).
    ///
    /// After a panic in it ([`Event::QueuePanicked`](crate::Event::QueuePanicked)) the system goes on with a queue of its
    /// own for all that becomes ready.
    pub fn custom<Q: ReadyQueue>(make: impl FnOnce(usize) -> Q + Send + 'static) -> Self {
        Self(Kind::Custom(Maker(Box::new(|workers, events| {
            Box::new(Guarded::new(Box::new(make(workers)), workers, events.clone()))
        }))))
    }

    /// A queue of the runtime's own, whose panics are for those who wrote it.
    #[cfg(not(shuttle))]
    pub(crate) fn trusted<Q: ReadyQueue>(make: impl FnOnce() -> Q + Send + 'static) -> Self {
        Self(Kind::Custom(Maker(Box::new(|_, _| Box::new(make())))))
    }

    fn named(name: &str) -> Result<Self, BuildError> {
        match name {
            "auto" => Ok(Self::auto()),
            "locked" => Ok(Self::locked()),
            "lock_free" => Ok(Self::lock_free()),
            "stealing" => Ok(Self::stealing()),
            "per_core" => Ok(Self::per_core()),
            _ => Err(BuildError::Config(format!(
                "there is no scheduler {name:?}; take \"auto\", \"locked\", \"lock_free\", \
                 \"stealing\" or \"per_core\""
            ))),
        }
    }

    fn make(self, workers: usize, cores: &Cores, events: &Arc<Events>) -> Queues {
        match self.0 {
            Kind::Auto => match choose(workers) {
                Choice::Locked => Self::locked(),
                Choice::LockFree => Self::lock_free(),
                Choice::Stealing => Self::stealing(),
                Choice::PerCore => Self::per_core(),
            }
            .make(workers, cores, events),
            Kind::Locked => Queues::Shared(Box::new(LockedQueue::new(workers))),
            Kind::LockFree => Queues::Shared(Box::new(LockFreeQueue::new(workers))),
            Kind::Stealing => Queues::Shared(Box::new(StealingQueue::new(workers))),
            Kind::PerCore => Queues::PerCore(PerCore::new(workers, cores)),
            Kind::Custom(maker) => Queues::Shared(maker.0(workers, events)),
        }
    }
}

/// Settings of a system to be built; see [`System::builder`].
#[derive(Debug)]
#[must_use = "a builder does nothing before `build`"]
pub struct Builder {
    scheduler: Scheduler,
    workers: WorkerOptions,
    limits: Limits,
    budget_messages: Option<usize>,
    budget_bytes: Option<usize>,
    seed: Option<u64>,
}

impl Builder {
    pub(super) fn new() -> Self {
        Self::of(thread::available_parallelism().map_or(1, usize::from))
    }

    /// With so many workers, unless told otherwise: nobody asks how many cores there are, which reads half a dozen files.
    pub(crate) fn of(count: usize) -> Self {
        let limits = WorkerLimits {
            batch: 64,
            slice: Duration::from_micros(50),
            spin: Duration::ZERO,
            shares_core: false,
            may_look: false,
        };
        let workers = WorkerOptions {
            count,
            climbs: false,
            name: "greenroom".to_owned(),
            pinned: false,
            stack_bytes: 8 << 20,
            limits,
        };
        Self {
            scheduler: Scheduler::auto(),
            workers,
            limits: Limits {
                ask_timeout: Duration::from_secs(5),
                looking: Looking::For(Duration::ZERO),
                handler_budget: Duration::from_millis(100),
                overload: None,
            },
            budget_messages: None,
            budget_bytes: None,
            seed: None,
        }
    }

    /// Sets what the system's random choices follow from, such as the jitter of a back-off and
    /// [`Context::random`](crate::Context::random); by default each system takes a seed of its own from the
    /// operating system.
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = Some(seed);
        self
    }

    /// Sets the number of worker threads; by default one per core.
    pub fn workers(mut self, count: usize) -> Self {
        self.workers.count = count;
        self
    }

    /// Sets the ready queue; by default [`Scheduler::auto`].
    pub fn scheduler(mut self, scheduler: Scheduler) -> Self {
        self.scheduler = scheduler;
        self
    }

    /// Pins each worker to a processor; by default the kernel places them. In the order of their
    /// numbers, workers take the physical cores of one memory node after the other, of those that the
    /// process may use, and second threads of cores only when every core has a worker. The rings of
    /// [`Scheduler::per_core`] are then in memory near their receivers, and take all of it at the start: 6 KiB
    /// from each worker to each, 24 MB for 62 workers.
    pub fn pinned(mut self, pinned: bool) -> Self {
        self.workers.pinned = pinned;
        self
    }

    /// Sets what worker threads are called, before `-0`, `-1`, …; by default `greenroom`.
    pub fn thread_name(mut self, name: impl Into<String>) -> Self {
        self.workers.name = name.into();
        self
    }

    /// Sets the stack of each worker in bytes; by default 8 MiB, at least 64 KiB. What is sent travels by value, so the largest messages
    /// must fit many times, and what handlers call themselves. Asks are answered inside the asker's turn only while
    /// three quarters of it are left.
    pub fn stack_bytes(mut self, bytes: usize) -> Self {
        self.workers.stack_bytes = bytes;
        self
    }

    /// Sets how many messages an actor may handle in one turn; by default 64. Turns are doubled, up to 64 times
    /// as many, while they leave mail and more of it comes; [`slice`](Self::slice) ends them.
    pub fn batch(mut self, messages: u32) -> Self {
        self.workers.limits.batch = messages;
        self
    }

    /// Sets the time after which a turn ends at the next look at the clock, and tokio is polled; by default
    /// 50 µs. Where turns take longer on average, because messages do, a turn ends after three eighths of the average, if
    /// that is longer. A turn looks after 2, 4, 8, … messages, where turns have been short lately only after more. A
    /// worker with work for as long wakes one that sleeps; under [`Scheduler::auto`] messages of that length put
    /// all workers on duty.
    pub fn slice(mut self, slice: Duration) -> Self {
        self.workers.limits.slice = slice;
        self
    }

    /// Sets what a worker does when it has nothing to run; by default [`Idle::Park`], which looks for a moment only where other
    /// nodes are quick. Spinning is ignored where there are more workers than cores. With [`Idle::Spin`] plain threads that ask look as long for their
    /// answers, all of them; otherwise one at a time, for a moment, where that helps ([`Ask::wait`](crate::Ask::wait)).
    pub fn idle(mut self, idle: Idle) -> Self {
        self.workers.limits.spin = match idle {
            Idle::Park => Duration::ZERO,
            Idle::Spin(time) => time,
        };
        self
    }

    /// Sets how long an `ask` waits unless told otherwise; by default 5 s. One of a second or more counts from when the
    /// asker's worker last looked at the clock, which it does after some turns, 32 at most: what handlers have computed
    /// since then, the asker's own and those of other actors, is taken off.
    pub fn ask_timeout(mut self, timeout: Duration) -> Self {
        self.limits.ask_timeout = timeout;
        self
    }

    /// Sets how long a handler may keep its worker without returning or awaiting before
    /// [`Event::Overrun`](crate::Event::Overrun) tells, after one to two such times; by default
    /// 100 ms. Zero: nobody watches. While there is work, a thread looks once per budget, which is 1 ms
    /// at least.
    pub fn handler_budget(mut self, budget: Duration) -> Self {
        self.limits.handler_budget = budget;
        self
    }

    /// Limits the messages that wait in all mailboxes of the system together; by default nobody counts
    /// them. What exceeds the budget is treated as by a full mailbox: awaited sends wait, the others get
    /// [`TellError::SystemFull`](crate::TellError::SystemFull), or what the receiver declares for a full
    /// mailbox happens. An actor for whom mail waits does not wait for the budget, as it would hold a part
    /// of what it waits for. Neither do `#[interleave]` handlers, nor sends that a handler has polled by something with a
    /// waker of its own, such as `FuturesUnordered`. What these awaited sends take beyond the budget is the only excess;
    /// a bounded mailbox limits it. Timers, ends and orders are no part of it.
    pub fn budget_messages(mut self, messages: usize) -> Self {
        self.budget_messages = Some(messages);
        self
    }

    /// As [`budget_messages`](Self::budget_messages), for the bytes of the messages, each counted with its
    /// [`heap_bytes`](crate::Message::heap_bytes). A message larger than the budget is refused.
    pub fn budget_bytes(mut self, bytes: usize) -> Self {
        self.budget_bytes = Some(bytes);
        self
    }

    /// Sets from how many messages that wait an actor is [overloaded](crate::Mailbox::overload) if it
    /// declares no number; by default such an actor never is.
    pub fn overload_messages(mut self, messages: usize) -> Self {
        self.limits.overload = Some(messages);
        self
    }

    /// Takes over the settings that `config` has; the others stay.
    ///
    /// # Errors
    /// [`BuildError::Config`] for an unknown scheduler.
    pub fn config(mut self, config: &Config) -> Result<Self, BuildError> {
        let workers = &mut self.workers;
        workers.count = config.workers.unwrap_or(workers.count);
        workers.pinned = config.pinned.unwrap_or(workers.pinned);
        workers.stack_bytes = config.stack_bytes.unwrap_or(workers.stack_bytes);
        workers.limits.batch = config.batch.unwrap_or(workers.limits.batch);
        if let Some(name) = &config.thread_name {
            workers.name.clone_from(name);
        }
        let micros = |value: Option<u64>, default| value.map_or(default, Duration::from_micros);
        workers.limits.slice = micros(config.slice_us, workers.limits.slice);
        workers.limits.spin = micros(config.spin_us, workers.limits.spin);
        if let Some(timeout) = config.ask_timeout_ms {
            self.limits.ask_timeout = Duration::from_millis(timeout);
        }
        if let Some(budget) = config.handler_budget_ms {
            self.limits.handler_budget = Duration::from_millis(budget);
        }
        self.budget_messages = config.budget_messages.or(self.budget_messages);
        self.budget_bytes = config.budget_bytes.or(self.budget_bytes);
        self.limits.overload = config.overload_messages.or(self.limits.overload);
        if let Some(name) = &config.scheduler {
            self.scheduler = Scheduler::named(name)?;
        }
        Ok(self)
    }

    /// Starts the workers. Needs no tokio runtime, and does not mind one.
    ///
    /// # Errors
    /// [`BuildError::Config`] for a setting out of range, [`BuildError::Worker`] when a thread cannot
    /// be made.
    pub fn build(mut self) -> Result<System, BuildError> {
        let cores = if self.workers.pinned { Cores::of_this_machine() } else { Cores::default() };
        self.fit_to_cores();
        let (pool, core) = self.assemble(Clock::start(), &cores, |queues| queues)?;
        pool.start(&core, &self.workers, &cores)?;
        Ok(System::new(&core))
    }

    /// Has no worker look for work again and again where it would keep another one from its core, nor for room without
    /// giving way, nor a plain thread for an answer. Not in simulated worlds, which are the same on every machine.
    fn fit_to_cores(&mut self) {
        let WorkerOptions { count, limits, .. } = &mut self.workers;
        let parallel = thread::available_parallelism().ok().map(NonZeroUsize::get);
        limits.shares_core = shares_core(*count, parallel);
        if limits.shares_core {
            limits.spin = Duration::ZERO;
        }
        // Under shuttle no time passes.
        let may_look = !cfg!(shuttle) && outsiders_may_look(*count, parallel);
        limits.may_look = may_look;
        self.limits.looking = if may_look && limits.spin.is_zero() {
            Looking::WhereItHelps
        } else {
            Looking::For(limits.spin)
        };
    }

    /// A system whose workers get their turns from the caller, and the time from `clock`. `woken` is told of turns to
    /// come, for worker 0 under the number `first` and so on.
    ///
    /// # Errors
    /// [`BuildError::Config`] for a setting out of range.
    #[cfg(not(shuttle))]
    pub(crate) fn build_by_hand(
        mut self,
        clock: Clock,
        woken: &WakeList,
        first: usize,
    ) -> Result<(System, Arc<Core>, Vec<ByHand>), BuildError> {
        let (pool, core) =
            self.assemble(clock, &Cores::default(), |queues| queues.unsteady(woken))?;
        let workers = pool.by_hand(&core, &self.workers, |index| woken.waker(first + index));
        Ok((System::new(&core), core, workers))
    }

    /// Refuses what is out of range.
    fn check_settings(&self) -> Result<(), BuildError> {
        let workers = &self.workers;
        check("workers", &workers.count, &WORKERS)?;
        check("stack_bytes", &workers.stack_bytes, &STACK_BYTES)?;
        check("batch", &workers.limits.batch, &BATCH)?;
        let waiting = [
            ("budget_messages", self.budget_messages),
            ("budget_bytes", self.budget_bytes),
            ("overload_messages", self.limits.overload),
        ];
        for (name, limit) in waiting {
            limit.map_or(Ok(()), |limit| check(name, &limit, &WAITING))?;
        }
        let refuse = |text: &str| Err(BuildError::Config(text.to_owned()));
        let budget = self.limits.handler_budget;
        if !budget.is_zero() && budget < HANDLER_BUDGET_MIN {
            return refuse("handler_budget must be zero or at least 1 ms");
        }
        if workers.name.contains('\0') {
            return refuse("thread_name must not contain a zero byte");
        }
        if matches!(self.scheduler.0, Kind::PerCore) && workers.count > PER_CORE_WORKERS_MAX {
            return refuse("scheduler \"per_core\" takes at most 62 workers");
        }
        Ok(())
    }

    /// Everything but the threads, which will be on `cores`; `dress` is given the queues.
    fn assemble(
        &mut self,
        clock: Clock,
        cores: &Cores,
        dress: impl FnOnce(Queues) -> Queues,
    ) -> Result<(Pool, Arc<Core>), BuildError> {
        self.check_settings()?;
        let count = self.workers.count;
        let is_auto = matches!(self.scheduler.0, Kind::Auto);
        let scheduler = std::mem::replace(&mut self.scheduler, Scheduler::auto());
        let events = Arc::new(Events::new(count));
        let queues = dress(scheduler.make(count, cores, &events));
        self.workers.climbs = is_auto && queues.are_shared();
        let homes = Homes::new(if queues.are_shared() { 0 } else { count });
        let watch = Arc::new(Watch::new(count, self.limits.handler_budget));
        let pool = Pool::new(queues, &self.workers, clock.clone(), watch.clone());
        let random = Random::new(self.seed);
        let front = Box::new(pool.front());
        let budget = Budget::new(self.budget_messages, self.budget_bytes);
        let core = Core::new(front, clock, self.limits, random, watch, homes, events);
        Ok((pool, Arc::new(core.with_budget(budget))))
    }
}
