//! Greenroom's side: the programs as ordinary actors, under each scheduler.
//!
//! | who | settings |
//! |---|---|
//! | `auto`, `locked`, `lock_free`, `stealing`, `per_core` | 2 workers, unbounded mailboxes |
//! | `…-1` | the same with 1 worker |
//! | `…-4` | 4 workers |
//! | `…-bounded` | `counting` to a mailbox of 1024, whose sender waits for room |
//! | `…-spinning` | `ask_outside` of workers that look for what comes before they sleep |

mod ask;
mod ask_outside;
mod big;
mod chameneos;
mod counting;
mod fan_in;
mod fork_join_create;
mod fork_join_throughput;
mod idle_million;
mod ping_pong;
mod savina;
mod sends_outside;
mod settings;
mod skynet;
mod thread_ring;

pub(crate) use ask::apart as ask_apart;
pub(crate) use counting::unbounded as counting;
pub(crate) use fork_join_create::run as fork_join_create;
pub(crate) use ping_pong::apart as ping_pong_apart;
pub(crate) use settings::{SETTINGS, SPINNING, Setting};

use greenroom_peers::Program;
use std::future::Future;
use std::time::Duration;

/// How long a program may take, which no ask may cut short.
const PATIENCE: Duration = Duration::from_secs(600);

/// Every program under every scheduler; the first of each name is the default one.
#[must_use]
pub fn programs() -> Vec<Program> {
    let of = |setting: &'static Setting| {
        [
            setting.program("counting", counting::unbounded),
            setting.bounded("counting", counting::bounded),
            setting.program("ask", ask::run),
            setting.program("ping_pong", ping_pong::run),
            setting.program("thread_ring", thread_ring::run),
            setting.program("fork_join_create", fork_join_create::run),
            setting.program("fork_join_throughput", fork_join_throughput::run),
            setting.program("fan_in", fan_in::run),
            setting.program("big", big::run),
            setting.program("chameneos", chameneos::run),
            setting.program("skynet", skynet::run),
            setting.program("ask_outside", ask_outside::run),
            setting.spinning("ask_outside", ask_outside::run),
            setting.program("sends_outside", sends_outside::run),
            setting.program("idle_million", idle_million::run),
        ]
    };
    let small = SETTINGS.iter().flat_map(of);
    small.chain(SETTINGS.iter().flat_map(savina::programs)).collect()
}

/// Runs a future to its end on this thread.
pub(crate) fn block_on<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    runtime.expect("a runtime starts").block_on(future)
}
