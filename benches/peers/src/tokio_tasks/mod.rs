//! Plain tokio tasks with `mpsc` mailboxes and `oneshot` replies.

mod ask;
mod channel;
mod counting;
mod fork_join_create;
mod ping_pong;
mod savina;
mod thread_ring;

use crate::{Program, on_tokio};
use channel::{Bounded, Channel, Many, Unbounded};
use std::future::Future;
use std::time::{Duration, Instant};

/// Runs `work` in a task of its own, as the driver would otherwise be a part of it.
async fn timed(work: impl Future<Output = ()> + Send + 'static) -> Duration {
    let clock = Instant::now();
    tokio::spawn(work).await.expect("the program does not panic");
    clock.elapsed()
}

/// Which peer, with how many workers.
type Who = (&'static str, usize);

fn program<F>(name: &'static str, (peer, workers): Who, run: impl Fn(u64) -> F + 'static) -> Program
where
    F: Future<Output = Duration> + Send + 'static,
{
    Program::new(name, peer, workers, move |n| on_tokio(workers, run(n)))
}

/// The programs that every kind of mailbox suits.
fn of<C: Channel>(who: Who) -> Vec<Program> {
    vec![
        program("counting", who, counting::run::<C>),
        program("ask", who, ask::run::<C>),
        program("ping_pong", who, ping_pong::run::<C>),
        program("fork_join_create", who, fork_join_create::run::<C>),
    ]
}

/// The programs that need mailboxes without a bound.
fn unbounded(who: Who) -> Vec<Program> {
    vec![program("thread_ring", who, thread_ring::run)]
}

/// The programs in which one receiver has many messages.
fn many(who: Who) -> Vec<Program> {
    vec![program("counting", who, counting::run::<Many>)]
}

pub(crate) fn programs() -> Vec<Program> {
    [
        of::<Unbounded>(("tokio", 2)),
        of::<Bounded>(("tokio-bounded", 2)),
        of::<Unbounded>(("tokio-4", 4)),
        of::<Unbounded>(("tokio-1", 1)),
        of::<Bounded>(("tokio-1-bounded", 1)),
        unbounded(("tokio", 2)),
        unbounded(("tokio-1", 1)),
        savina::of(("tokio", 2)),
        savina::of(("tokio-1", 1)),
        many(("tokio-many", 2)),
        many(("tokio-1-many", 1)),
    ]
    .into_iter()
    .flatten()
    .collect()
}
