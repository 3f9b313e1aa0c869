//! The one place that lists greenroom's settings: each scheduler with each number of workers.

use super::{PATIENCE, block_on};
use greenroom::{Builder, Idle, Scheduler, System};
use greenroom_peers::Program;
use std::future::Future;
use std::time::Duration;

/// A scheduler with a number of workers.
#[derive(Debug)]
pub(crate) struct Setting {
    /// The scheduler's name, as the builder has it.
    pub(crate) scheduler: &'static str,
    make: fn() -> Scheduler,
    /// Threads that run actors.
    pub(crate) workers: usize,
    /// What it is called in tables: the scheduler, and the number of workers unless it is 2.
    pub(crate) who: &'static str,
    /// The same, for a program with bounded mailboxes.
    bounded: &'static str,
    /// The same, for a program whose threads look for what comes before they sleep.
    spinning: &'static str,
}

/// What the names of those end with that look for what comes before they sleep.
pub(crate) const SPINNING: &str = "-spinning";

/// How long those look that look before they sleep: longer than any answer takes.
const SPIN: Duration = Duration::from_millis(1);

macro_rules! settings {
    ($($scheduler:ident)+) => {
        /// Every setting, the default one first.
        pub(crate) const SETTINGS: &[Setting] = &[
            $(setting!($scheduler, 2, ""),)+
            $(setting!($scheduler, 1, "-1"),)+
            $(setting!($scheduler, 4, "-4"),)+
        ];
    };
}

macro_rules! setting {
    ($scheduler:ident, $workers:literal, $suffix:literal) => {
        Setting {
            scheduler: stringify!($scheduler),
            make: Scheduler::$scheduler,
            workers: $workers,
            who: concat!(stringify!($scheduler), $suffix),
            bounded: concat!(stringify!($scheduler), $suffix, "-bounded"),
            spinning: concat!(stringify!($scheduler), $suffix, "-spinning"),
        }
    };
}

settings! { auto locked lock_free stealing per_core }

impl Setting {
    /// The setting that tables call `who`.
    pub(crate) fn named(who: &str) -> Option<&'static Self> {
        let who = who.trim_end_matches("-bounded").trim_end_matches(SPINNING);
        SETTINGS.iter().find(|setting| setting.who == who)
    }

    /// The settings of a system.
    pub(crate) fn builder(&self) -> Builder {
        System::builder().workers(self.workers).scheduler((self.make)())
    }

    /// A fresh system.
    pub(crate) fn system(&self) -> System {
        self.builder().build().expect("a system starts")
    }

    /// An actor program with this setting.
    pub(super) fn program<F>(
        &'static self,
        name: &'static str,
        run: impl Fn(System, u64) -> F + 'static,
    ) -> Program
    where
        F: Future<Output = Duration>,
    {
        self.called(self.who, self.workers, Idle::Park, name, run)
    }

    /// An actor program whose mailboxes are bounded.
    pub(super) fn bounded<F>(
        &'static self,
        name: &'static str,
        run: impl Fn(System, u64) -> F + 'static,
    ) -> Program
    where
        F: Future<Output = Duration>,
    {
        self.called(self.bounded, self.workers, Idle::Park, name, run)
    }

    /// An actor program of a plain thread and workers that look for what comes before they sleep, each on a core of
    /// its own.
    pub(super) fn spinning<F>(
        &'static self,
        name: &'static str,
        run: impl Fn(System, u64) -> F + 'static,
    ) -> Program
    where
        F: Future<Output = Duration>,
    {
        self.called(self.spinning, self.workers + 1, Idle::Spin(SPIN), name, run)
    }

    /// The teardown of the system is nobody's time.
    fn called<F>(
        &'static self,
        who: &'static str,
        cores: usize,
        idle: Idle,
        name: &'static str,
        run: impl Fn(System, u64) -> F + 'static,
    ) -> Program
    where
        F: Future<Output = Duration>,
    {
        Program::new(name, who, cores, move |n| {
            let system = self.builder().idle(idle).build().expect("a system starts");
            block_on(async {
                let took = run(system.clone(), n).await;
                system.shutdown(PATIENCE).await.expect("the actors stop");
                took
            })
        })
    }
}
