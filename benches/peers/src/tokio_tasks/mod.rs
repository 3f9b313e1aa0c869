//! Plain tokio tasks with `mpsc` mailboxes and `oneshot` replies.

mod ask;
mod big;
mod chameneos;
mod channel;
mod counting;
mod fan_in;
mod fork_join_create;
mod fork_join_throughput;
mod idle_million;
mod ping_pong;
mod savina;
mod skynet;
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
        program("fork_join_throughput", who, fork_join_throughput::run::<C>),
        program("fan_in", who, fan_in::run::<C>),
    ]
}

/// The programs that need mailboxes without a bound.
fn unbounded(who: Who) -> Vec<Program> {
    vec![
        program("thread_ring", who, thread_ring::run),
        program("big", who, big::run),
        program("chameneos", who, chameneos::run),
        program("skynet", who, skynet::run),
        program("ask_outside", who, ask::from_outside),
        program("sends_outside", who, fan_in::from_outside::<Unbounded>),
        program("idle_million", who, idle_million::run),
    ]
}

/// The programs in which one receiver has many messages.
fn many(who: Who) -> Vec<Program> {
    vec![
        program("counting", who, counting::run::<Many>),
        program("fork_join_throughput", who, fork_join_throughput::run::<Many>),
        program("fan_in", who, fan_in::run::<Many>),
        program("sends_outside", who, fan_in::from_outside::<Many>),
    ]
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
        vec![
            program("skynet", ("tokio-join", 2), skynet::joined),
            program("skynet", ("tokio-1-join", 1), skynet::joined),
        ],
        many(("tokio-many", 2)),
        many(("tokio-1-many", 1)),
    ]
    .into_iter()
    .flatten()
    .collect()
}
