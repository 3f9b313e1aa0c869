//! actix: synchronous handlers on arbiters, `do_send` to tell and `send` to ask.

mod ask;
mod big;
mod chameneos;
mod counting;
mod fan_in;
mod fork_join_create;
mod fork_join_throughput;
mod idle_million;
mod ping_pong;
mod savina;
mod skynet;
mod thread_ring;

use crate::Program;
use actix::{Actor, Addr, Arbiter, ArbiterHandle, Context, System};
use std::future::Future;
use std::time::Duration;

/// Where the actors live: both threads are the same one if there is but one arbiter.
#[derive(Clone, Debug)]
struct Stage {
    first: ArbiterHandle,
    second: ArbiterHandle,
    is_spread: bool,
}

impl Stage {
    /// The arbiter of the actor with this number: they take turns.
    fn of(&self, index: u64) -> &ArbiterHandle {
        if index.is_multiple_of(2) { &self.first } else { &self.second }
    }

    /// Starts an actor on its arbiter. For callers on the first one, which needs no message for it.
    fn start<A: Actor<Context = Context<A>> + Send>(&self, index: u64, actor: A) -> Addr<A> {
        if self.is_spread && !index.is_multiple_of(2) {
            A::start_in_arbiter(&self.second, |_| actor)
        } else {
            actor.start()
        }
    }
}

/// Runs `program` on a fresh system: on its own arbiter alone, or with a second one.
fn on_actix<F>(arbiters: usize, program: impl FnOnce(Stage) -> F) -> Duration
where
    F: Future<Output = Duration>,
{
    let system = System::new();
    let second = (arbiters > 1).then(|| system.block_on(async { Arbiter::new() }));
    let took = system.block_on(async {
        let first = Arbiter::current();
        let is_spread = second.is_some();
        let second = second.as_ref().map_or_else(|| first.clone(), Arbiter::handle);
        program(Stage { first, second, is_spread }).await
    });
    if let Some(second) = second {
        second.stop();
        // It ended, whether or not it panicked.
        let _ = second.join();
    }
    took
}

/// Gives each message its result, `()` unless it says another one.
macro_rules! messages {
    ($($message:ident $(=> $result:ty)?),* $(,)?) => {
        $(impl actix::Message for $message {
            type Result = messages!(@ $($result)?);
        })*
    };
    (@) => { () };
    (@ $result:ty) => { $result };
}

/// Actors that need no more than a mailbox.
macro_rules! plain_actors {
    ($($actor:ty),* $(,)?) => {
        $(impl actix::Actor for $actor {
            type Context = actix::Context<Self>;
        })*
    };
}

use {messages, plain_actors};

/// Which peer, with how many arbiters.
type Who = (&'static str, usize);

fn program<F: Future<Output = Duration>>(
    name: &'static str,
    (peer, arbiters): Who,
    run: impl Fn(Stage, u64) -> F + 'static,
) -> Program {
    Program::new(name, peer, arbiters, move |n| on_actix(arbiters, |stage| run(stage, n)))
}

fn of(who: Who) -> Vec<Program> {
    vec![
        program("counting", who, counting::run),
        program("ask", who, ask::run),
        program("ping_pong", who, ping_pong::run),
        program("thread_ring", who, thread_ring::run),
        match who.1 {
            1 => program("fork_join_create", who, |_, n| fork_join_create::here(n)),
            _ => program("fork_join_create", who, fork_join_create::on_both),
        },
        program("fork_join_throughput", who, fork_join_throughput::run),
        program("fan_in", who, fan_in::run),
        program("big", who, big::run),
        program("chameneos", who, chameneos::run),
        program("skynet", who, skynet::run),
        program("ask_outside", who, ask::from_outside),
        program("sends_outside", who, fan_in::from_outside),
        program("idle_million", who, idle_million::run),
    ]
}

pub(crate) fn programs() -> Vec<Program> {
    [("actix", 1), ("actix-2", 2)]
        .into_iter()
        .flat_map(|who| [of(who), savina::of(who)])
        .flatten()
        .collect()
}
