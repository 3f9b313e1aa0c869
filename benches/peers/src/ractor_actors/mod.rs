//! ractor: `cast` and `call` between actors with an unbounded mailbox each.

mod ask;
mod big;
mod chameneos;
mod counting;
mod create;
mod fan_in;
mod ping_pong;
mod savina;
mod skynet;
mod thread_ring;
mod throughput;

use crate::{Program, task};
use ractor::ActorProcessingErr;

type Done = Result<(), ActorProcessingErr>;

pub(crate) fn programs() -> Vec<Program> {
    [("ractor", 2), ("ractor-1", 1)]
        .into_iter()
        .flat_map(|(peer, workers)| of(peer, workers).into_iter().chain(savina::of(peer, workers)))
        .collect()
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
