//! What the simulator does, and what the runtime does in it, under many seeds. A world has one thread, so
//! ThreadSanitizer has nothing to see here.
#![cfg(not(any(loom, shuttle, sanitized = "thread")))]

#[path = "../support/mod.rs"]
mod support;

mod asks;
mod blame;
mod clocks;
mod crashes;
mod deaths;
mod drains;
mod ends;
mod explore;
mod fabric;
mod fairness;
mod groups;
mod interleave;
mod kept;
mod keyed;
mod messages;
mod names;
mod oracles;
mod packets;
mod pauses;
mod policies;
mod pools;
mod programs;
mod rare;
mod rolling;
mod shutdown;
mod stalls;
mod stash;
mod storms;
mod supervision;
mod threads;
mod twins;
