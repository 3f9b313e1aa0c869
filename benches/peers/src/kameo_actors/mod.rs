//! kameo: one message type per handler, bounded and unbounded mailboxes.

/// An actor that is its own argument, which is what `#[derive(Actor)]` would write.
macro_rules! plain_actor {
    ($actor:ty $(, $generic:ident: $bound:ident)?) => {
        impl$(<$generic: $bound>)? kameo::Actor for $actor {
            type Args = Self;
            type Error = std::convert::Infallible;

            async fn on_start(
                state: Self,
                _me: kameo::actor::ActorRef<Self>,
            ) -> Result<Self, Self::Error> {
                Ok(state)
            }
        }
    };
}

mod ask;
mod big;
mod chameneos;
mod counting;
mod create;
mod fan_in;
mod mailboxes;
mod ping_pong;
mod savina;
mod skynet;
mod thread_ring;
mod throughput;

use crate::{Program, task};
use mailboxes::{Bounded, Mailbox, Unbounded};

pub(crate) fn programs() -> Vec<Program> {
    let both = [
        both::<Unbounded>("kameo", 2),
        both::<Bounded>("kameo-bounded", 2),
        both::<Unbounded>("kameo-1", 1),
        both::<Bounded>("kameo-1-bounded", 1),
    ];
    let unbounded = [unbounded("kameo", 2), unbounded("kameo-1", 1)];
    let savina = [savina::of("kameo", 2), savina::of("kameo-1", 1)];
    let unbounded = unbounded.into_iter().flatten().chain(savina.into_iter().flatten());
    both.into_iter().flatten().chain(unbounded).collect()
}

/// The programs that every kind of mailbox suits.
fn both<B: Mailbox>(peer: &'static str, workers: usize) -> [Program; 4] {
    [
        task("counting", peer, workers, counting::run::<B>),
        task("ask", peer, workers, ask::run::<B>),
        task("ping_pong", peer, workers, ping_pong::run::<B>),
        task("fork_join_create", peer, workers, create::fork_join_create::<B>),
    ]
}

/// The programs in which actors that wait for room could wait for each other, or whose senders
/// cannot wait.
fn unbounded(peer: &'static str, workers: usize) -> [Program; 9] {
    [
        task("fork_join_throughput", peer, workers, throughput::run),
        task("fan_in", peer, workers, fan_in::fan_in),
        task("thread_ring", peer, workers, thread_ring::run),
        task("big", peer, workers, big::run),
        task("chameneos", peer, workers, chameneos::run),
        task("skynet", peer, workers, skynet::run),
        task("ask_outside", peer, workers, ask::from_outside),
        task("sends_outside", peer, workers, fan_in::sends_outside),
        task("idle_million", peer, workers, create::idle_million),
    ]
}
