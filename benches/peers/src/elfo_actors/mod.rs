//! elfo: groups of actors that know each other's addresses; sends that do not wait for room.
//!
//! A system runs a fixed topology of groups, and a group's router starts an actor for each key that
//! a message names. The first actor of the system is the program: it starts nothing by itself, looks
//! up the addresses of the others once, as routing every message would cost more, and then measures.

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
use elfo::config::AnyConfig;
use elfo::messages::UpdateConfig;
use elfo::routers::{MapRouter, Outcome, Router};
use elfo::{ActorGroup, Addr, Blueprint, Context, Local, Topology, message, msg};
use std::time::Duration;

/// Nobody listens to what actors could tell about themselves.
const CONFIG: &str = r#"
    system.dumping.disabled = true
    system.logging.max_level = "Off"
    system.telemetry.per_actor_group = false
"#;

/// An actor of a [`group`] answers where it is.
#[message(ret = Local<Addr>)]
struct Locate;

/// A group of `count` actors, which start when they are located.
fn group(count: u64) -> ActorGroup<impl Router<(), Key = u64>, ()> {
    ActorGroup::new().router(MapRouter::new(move |envelope| {
        msg!(match envelope {
            Locate => Outcome::Multicast((0..count).collect()),
            _ => Outcome::Default,
        })
    }))
}

/// Starts all the actors of a [`group`].
async fn locate(cx: &Context, group: Addr) -> Vec<Addr> {
    let located = cx.request_to(group, Locate).all().resolve().await;
    located.into_iter().map(|located| *located.expect("the actor starts")).collect()
}

/// Starts the only actor of a [`group`] of one.
async fn locate_one(cx: &Context, group: Addr) -> Addr {
    locate(cx, group).await[0]
}

/// Runs a program in a system with these groups.
fn run<const N: usize, F>(
    groups: [Blueprint; N],
    program: impl FnOnce(Context, [Addr; N]) -> F,
) -> impl Future<Output = Duration>
where
    F: Future<Output = Duration>,
{
    let topology = Topology::empty();
    let mut number = 0;
    let addresses = groups.map(|blueprint| {
        let group = topology.local(format!("group-{number}"));
        number += 1;
        let address = group.addr();
        group.mount(blueprint);
        address
    });
    let config: AnyConfig = toml::from_str(CONFIG).expect("the settings are well formed");
    async move {
        let started = elfo::_priv::do_start(topology, false, |cx, _| async move {
            for address in addresses {
                let update = UpdateConfig::new(config.clone());
                let updated = cx.request_to(address, update).resolve().await;
                updated.expect("the group is there").expect("the settings suit it");
            }
            program(cx, addresses).await
        });
        started.await.expect("the system starts")
    }
}

pub(crate) fn programs() -> Vec<Program> {
    let peers = [("elfo", 2), ("elfo-1", 1)];
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
