//! Greenroom's side: the programs as ordinary actors, under each scheduler.
//!
//! | who | settings |
//! |---|---|
//! | `stealing`, `locked` | 2 workers, unbounded mailboxes |
//! | `stealing-1`, `locked-1` | the same with 1 worker |
//! | `stealing-4` | 4 workers |
//! | `…-bounded` | `tell` to a mailbox of 1024, whose sender waits for room |

mod ask;
mod counting;
mod fork_join_create;
mod ping_pong;

use greenroom::{Scheduler, System};
use greenroom_peers::Program;
use std::future::Future;
use std::time::Duration;

/// How long a program may take, which no ask may cut short.
const PATIENCE: Duration = Duration::from_secs(600);

/// The ready queue that workers share.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Queue {
    /// `Scheduler::locked()`.
    Locked,
    /// `Scheduler::stealing()`.
    Stealing,
}

impl Queue {
    /// A fresh system with that many workers.
    pub(crate) fn system(self, workers: usize) -> System {
        let scheduler = match self {
            Self::Locked => Scheduler::locked(),
            Self::Stealing => Scheduler::stealing(),
        };
        System::builder().workers(workers).scheduler(scheduler).build().expect("a system starts")
    }
}

/// Every program under every scheduler; the first of each name is the default one.
#[must_use]
pub fn programs() -> Vec<Program> {
    let kinds = [
        ("stealing", "stealing-bounded", Queue::Stealing, 2),
        ("locked", "locked-bounded", Queue::Locked, 2),
        ("stealing-1", "stealing-1-bounded", Queue::Stealing, 1),
        ("locked-1", "locked-1-bounded", Queue::Locked, 1),
        ("stealing-4", "stealing-4-bounded", Queue::Stealing, 4),
    ];
    let programs = kinds.map(|(who, bounded, queue, workers)| {
        [
            Program::new("counting", who, workers, move |n| {
                on_greenroom(queue, workers, |system| counting::unbounded(system, n))
            }),
            Program::new("counting", bounded, workers, move |n| {
                on_greenroom(queue, workers, |system| counting::bounded(system, n))
            }),
            Program::new("ask", who, workers, move |n| {
                on_greenroom(queue, workers, |system| ask::run(system, n))
            }),
            Program::new("ping_pong", who, workers, move |n| {
                on_greenroom(queue, workers, |system| ping_pong::run(system, n))
            }),
            Program::new("fork_join_create", who, workers, move |n| {
                on_greenroom(queue, workers, |system| fork_join_create::run(system, n))
            }),
        ]
    });
    programs.into_iter().flatten().collect()
}

/// Runs `program` on a fresh system, whose teardown is nobody's time.
fn on_greenroom<F>(queue: Queue, workers: usize, program: impl FnOnce(System) -> F) -> Duration
where
    F: Future<Output = Duration>,
{
    let system = queue.system(workers);
    block_on(async {
        let took = program(system.clone()).await;
        system.shutdown(PATIENCE).await.expect("the actors stop");
        took
    })
}

/// Runs a future to its end on this thread.
pub(crate) fn block_on<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    runtime.expect("a runtime starts").block_on(future)
}
