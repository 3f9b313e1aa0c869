//! The threads of a system's workers.

use super::WorkerId;
use super::cores::Cores;
use super::driver::{AlarmClock, Driver};
use super::duty::Duty;
use super::idle::Idle;
use super::queues::Queues;
use super::timekeeper::keep_time;
#[cfg(not(shuttle))]
use super::worker::ByHand;
use super::worker::{Front, Limits, Shared, Worker, nanos, stir};
use crate::sync::{Arc, AtomicBool, thread};
use crate::task::core::Core;
use crate::task::current;
use crate::task::watch::Watch;
use crate::time::Clock;
use std::future::{Future, poll_fn};
use std::io;
use std::pin::Pin;
use std::sync::OnceLock;
#[cfg(not(shuttle))]
use std::task::Waker;

/// How a system's workers are to be.
#[derive(Clone, Debug)]
pub(crate) struct WorkerOptions {
    /// How many.
    pub(crate) count: usize,
    /// What their threads are called, before a number.
    pub(crate) name: String,
    /// Whether it is found out how many of them are best on duty.
    pub(crate) climbs: bool,
    /// Whether each is pinned to a core.
    pub(crate) pinned: bool,
    /// Stack of each thread in bytes.
    pub(crate) stack_bytes: usize,
    /// Limits of each.
    pub(crate) limits: Limits,
}

/// A system's workers, before or after their threads run.
pub(crate) struct Pool {
    shared: Arc<Shared>,
}

impl Pool {
    pub(crate) fn new(
        queues: Queues,
        options: &WorkerOptions,
        clock: Clock,
        watch: Arc<Watch>,
    ) -> Self {
        let workers = options.count;
        let idle = Arc::new(Idle::new(workers));
        let shared = Shared {
            queues,
            duty: options.climbs.then(|| Duty::new(workers, &idle)),
            idle,
            wakers: (0..workers).map(|_| OnceLock::new()).collect(),
            watch,
            ending: AtomicBool::new(false),
            clock,
            // shuttle repeats its schedules, and could not if they followed from the time.
            alone: if cfg!(shuttle) { 0 } else { nanos(options.limits.slice) },
        };
        Self { shared: Arc::new(shared) }
    }

    /// What cells schedule themselves with.
    pub(crate) fn front(&self) -> Front {
        Front(self.shared.clone())
    }

    /// The workers themselves, to be given their turns by the caller; `waker` makes the one of each.
    #[cfg(not(shuttle))]
    pub(crate) fn by_hand(
        &self,
        core: &Arc<Core>,
        options: &WorkerOptions,
        waker: impl Fn(usize) -> Waker,
    ) -> Vec<ByHand> {
        let make = |index| ByHand::new(index, &self.shared, core, options.limits, waker(index));
        (0..options.count).map(make).collect()
    }

    /// Starts the threads, each on its core.
    ///
    /// # Errors
    /// When a thread or its runtime cannot be made; those already running end.
    pub(crate) fn start(
        &self,
        core: &Arc<Core>,
        options: &WorkerOptions,
        cores: &Cores,
    ) -> io::Result<()> {
        for index in 0..options.count {
            // tokio keeps these as long as anything keeps tokio, as the wakers in `shared` do.
            let (falls_asleep, wakes) = (self.shared.idle.clone(), self.shared.idle.clone());
            let (watch, clock) = (core.watch.clone(), self.shared.clock.clone());
            let sleeps = self.shared.duty.as_ref().map(Duty::sleeps);
            let (begins, ends) = (sleeps.clone(), sleeps);
            let (bed_time, wake_time) = (clock.clone(), clock);
            let dozes = move || {
                if let Some(sleeps) = &begins {
                    sleeps[index].begin(bed_time.now());
                }
                falls_asleep.doze(index);
            };
            let stirs = move || {
                let now = wake_time.now();
                if let Some(sleeps) = &ends {
                    sleeps[index].end(now);
                }
                stir(&wakes, &watch, now, index);
            };
            let driver = Driver::new(dozes, stirs);
            let driver = driver.inspect_err(|_| self.shared.end())?;
            let cpu = cores.of(index);
            let (shared, core, limits) = (self.shared.clone(), core.clone(), options.limits);
            let stack = options.stack_bytes;
            let work = move || {
                current::enter(&core, u32::try_from(index).unwrap_or(u32::MAX), stack);
                work(index, driver, &shared, &core, limits, cpu);
            };
            thread::Builder::new()
                .name(format!("{}-{index}", options.name))
                .stack_size(options.stack_bytes)
                .spawn(work)
                .inspect_err(|_| self.shared.end())?;
        }
        let (shared, core) = (self.shared.clone(), core.clone());
        thread::Builder::new()
            .name(format!("{}-timer", options.name))
            .stack_size(options.stack_bytes)
            .spawn(move || keep_time(&shared, &core))
            .inspect_err(|_| self.shared.end())?;
        Ok(())
    }
}

/// The life of one worker's thread, which has said which one it is.
fn work(
    index: usize,
    driver: Driver,
    shared: &Arc<Shared>,
    core: &Arc<Core>,
    limits: Limits,
    cpu: Option<core_affinity::CoreId>,
) {
    if let Some(cpu) = cpu {
        core_affinity::set_for_current(cpu);
    }
    driver.run(|| {
        // SAFETY: this thread is the worker, and inside its runtime.
        let mut worker = unsafe {
            Worker::new(index, shared.clone(), core.clone(), limits, Some(AlarmClock::new()))
        };
        poll_fn(move |cx| {
            if shared.wakers[index].get().is_none() {
                shared.wakers[index].get_or_init(|| cx.waker().clone());
                shared.begin();
            }
            Pin::new(&mut worker).poll(cx)
        })
    });
    current::leave(core);
    if let Queues::PerCore(queue) = &shared.queues {
        // SAFETY: this thread is the worker still.
        queue.leave(unsafe { WorkerId::new(index) });
    }
    drop(driver);
    core.worker_ended();
}
