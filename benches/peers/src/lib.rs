//! The same small programs in other actor libraries, and in plain tokio tasks.
//!
//! | program | what happens | one operation |
//! |---|---|---|
//! | `counting` | one actor sends numbers to another, then asks it for their count | a message |
//! | `ask` | one actor asks another, one question after the other | a question and its answer |
//! | `ping_pong` | two actors bounce a ball | a round trip |
//! | `thread_ring` | a hundred actors in a ring pass a token on | a hop |
//! | `fork_join_create` | actors are started, each handles one message, stops and is dropped | an actor |
//!
//! Beside these there are the programs of the [`savina`] suite.
//!
//! Every program is written as the library's own documents show it, with the settings that they
//! name as the fastest. A program measures its own time: set-up and teardown lie outside. What
//! allocates is up to the binary; nothing here sets a global allocator.
//!
//! | peer | settings |
//! |---|---|
//! | `tokio` | tasks with unbounded `mpsc`, 2 workers |
//! | `tokio-bounded` | the same, channels of 1024 |
//! | `tokio-many` | `tokio`, whose receiver takes up to 64 messages at a time |
//! | `tokio-1`, `tokio-1-bounded`, `tokio-1-many` | the same on a `current_thread` runtime |
//! | `tokio-4` | `tokio` with 4 workers |
//! | `ractor`, `ractor-1` | no span propagation; `spawn_instant`; 2 workers and `current_thread` |
//! | `kameo`, `kameo-1` | unbounded mailboxes, no tracing |
//! | `kameo-bounded`, `kameo-1-bounded` | the default mailboxes of 64 |
//! | `actix`, `actix-2` | one arbiter, and two with the actors spread over them; `do_send` |

#![forbid(unsafe_code)]

mod actix_actors;
mod countdown;
mod kameo_actors;
mod ractor_actors;
pub mod savina;
pub mod shape;
pub mod sizes;
mod tokio_tasks;

pub use countdown::{Countdown, Ticket};
use std::fmt;
use std::future::Future;
use std::time::Duration;

/// A program as one peer runs it.
pub struct Program {
    /// What it does: the first column above.
    pub name: &'static str,
    /// Which library, with which settings.
    pub peer: &'static str,
    /// How many threads it keeps busy: with fewer cores its figures say nothing.
    pub cores: usize,
    /// Runs that many operations and returns how long they took.
    pub run: Box<dyn Fn(u64) -> Duration>,
}

impl Program {
    /// Names a function as a program.
    #[must_use]
    pub fn new(
        name: &'static str,
        peer: &'static str,
        cores: usize,
        run: impl Fn(u64) -> Duration + 'static,
    ) -> Self {
        Self { name, peer, cores, run: Box::new(run) }
    }
}

impl fmt::Debug for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.name, self.peer)
    }
}

/// Every program of every peer.
#[must_use]
pub fn programs() -> Vec<Program> {
    [
        tokio_tasks::programs(),
        ractor_actors::programs(),
        kameo_actors::programs(),
        actix_actors::programs(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// A program that is a task of tokio.
fn task<F>(
    name: &'static str,
    peer: &'static str,
    workers: usize,
    program: impl Fn(u64) -> F + 'static,
) -> Program
where
    F: Future<Output = Duration> + Send + 'static,
{
    Program::new(name, peer, workers, move |n| on_tokio(workers, program(n)))
}

/// Runs `program` as a task of a fresh runtime, whose teardown is nobody's time. One worker is a
/// `current_thread` runtime.
fn on_tokio<F>(workers: usize, program: F) -> Duration
where
    F: Future<Output = Duration> + Send + 'static,
{
    let mut builder = match workers {
        1 => tokio::runtime::Builder::new_current_thread(),
        _ => tokio::runtime::Builder::new_multi_thread(),
    };
    let runtime = builder.worker_threads(workers).enable_all().build().expect("a runtime starts");
    runtime.block_on(async { tokio::spawn(program).await.expect("the program does not panic") })
}
