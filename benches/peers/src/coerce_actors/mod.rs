//! coerce: `notify` and `send` between actors that no registry tracks; every mailbox is unbounded.

use coerce::actor::scheduler::ActorType;
use coerce::actor::system::ActorSystem;
use coerce::actor::{Actor, LocalActorRef};

/// What is answered to a message; nothing, if nothing is said.
macro_rules! message {
    ($message:ident) => {
        message!($message -> ());
    };
    ($message:ident -> $answer:ty) => {
        impl coerce::actor::message::Message for $message {
            type Result = $answer;
        }
    };
}

mod ask;
mod big;
mod chameneos;
mod counting;
mod create;
mod fan_in;
mod ping_pong;
mod skynet;
mod thread_ring;
mod throughput;

use crate::{Program, task};

/// Starts an actor, and waits until it has started.
async fn start<A: Actor>(system: &ActorSystem, actor: A) -> LocalActorRef<A> {
    let started = system.new_actor("actor", actor, ActorType::Anonymous).await;
    started.expect("the actor starts")
}

pub(crate) fn programs() -> Vec<Program> {
    let peers = [("coerce", 2), ("coerce-1", 1)];
    peers.into_iter().flat_map(|(peer, workers)| of(peer, workers)).collect()
}

fn of(peer: &'static str, workers: usize) -> [Program; 13] {
    [
        task("counting", peer, workers, counting::run),
        task("ask", peer, workers, ask::run),
        task("ping_pong", peer, workers, ping_pong::run),
        task("fork_join_create", peer, workers, create::fork_join_create),
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
