//! The same small programs in other actor libraries, and in plain tokio tasks.
//!
//! | program | what happens | one operation |
//! |---|---|---|
//! | `counting` | one actor sends numbers to another, then asks it for their count | a message |
//! | `ask` | one actor asks another, one question after the other | a question and its answer |
//! | `ping_pong` | two actors bounce a ball | a round trip |
//! | `thread_ring` | a hundred actors in a ring pass a token on | a hop |
//! | `fork_join_create` | actors are started, each handles one message, stops and is dropped | an actor |
//! | `fork_join_throughput` | one sender gives 60 actors numbers in turn, whose sines they compute | a message |
//! | `fan_in` | four actors send numbers to one | a message |
//! | `big` | 120 actors ping each other at random and answer pings meanwhile | a ping and its pong |
//! | `chameneos` | a hundred creatures meet in pairs at a mall and change their colours | a meeting |
//! | `skynet` | a tree of actors grows, ten children to a node, and adds up its leaves' numbers | a leaf |
//! | `ask_outside` | a plain thread asks an actor, one question after the other | a question and its answer |
//! | `sends_outside` | two plain threads send numbers to one actor | a message |
//! | `idle_million` | actors are started and stay; on stderr, what each of them takes | an actor |
//!
//! Beside these there are the programs of the [`savina`] suite, for everybody but coerce and elfo: the README of the benches
//! says why.
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
//! | `tokio-join` | `tokio`, whose nodes of `skynet` wait for the tasks of their children |
//! | `tokio-1`, `tokio-1-bounded`, `tokio-1-many`, `tokio-1-join` | the same on a `current_thread` runtime |
//! | `tokio-4` | `tokio` with 4 workers |
//! | `coerce`, `coerce-1` | actors that no registry tracks, with `notify`; 2 workers and `current_thread` |
//! | `elfo`, `elfo-1` | sends that do not wait, to addresses looked up before; no dumps, no telemetry |
//! | `ractor`, `ractor-1` | no span propagation; `spawn_instant`; 2 workers and `current_thread` |
//! | `kameo`, `kameo-1` | unbounded mailboxes, no tracing |
//! | `kameo-bounded`, `kameo-1-bounded` | the default mailboxes of 64 |
//! | `actix`, `actix-2` | one arbiter, and two with the actors spread over them; `do_send` |
//! | `xtra`, `xtra-1` | unbounded mailboxes, `detach` where nobody waits for an answer, no instrumentation |
//! | `xtra-bounded`, `xtra-1-bounded` | the same, mailboxes of 1024 |
//!
//! A sender that waits for room in another's mailbox can wait for ever where actors send to each other
//! in circles, so a peer with bounded mailboxes has no more than the first programs; xtra, whose mailboxes
//! are the faster the less they hold, has `fan_in` and `fork_join_throughput`, too.

#![forbid(unsafe_code)]

mod actix_actors;
mod coerce_actors;
mod countdown;
mod elfo_actors;
mod kameo_actors;
mod ractor_actors;
pub mod savina;
pub mod shape;
pub mod sizes;
mod tokio_tasks;
pub mod wire;
mod xtra_actors;

pub use countdown::{Countdown, Ticket, Tickets};
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
        elfo_actors::programs(),
        ractor_actors::programs(),
        kameo_actors::programs(),
        actix_actors::programs(),
        coerce_actors::programs(),
        xtra_actors::programs(),
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
