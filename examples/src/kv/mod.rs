//! `kv`: a key-value server that speaks the Redis protocol, hosted by actors.
//!
//! ```text
//!             accept                       one message per turn and shard
//! Listener ----------> Connection (each client) <===================> ShardActor (each part of the keys)
//!                          |  ^
//!                subscribe |  | messages
//!                 publish  v  |
//!                         Broker
//! ```
//!
//! | to read about | see |
//! |---|---|
//! | requests and replies on the wire | `resp` |
//! | the commands and where each runs | `command`, `own` |
//! | the data | `store` |
//! | one read's worth of commands | `turn`, `job`, `stitch`, `aside`, `merge` |
//! | a client without its socket | `conversation`, `session`, `watching` |
//! | what outlives the process | `keeper`, `store::log` |
//! | what clients make the server hold | `budget`, `names` |
//! | how much data there may be | `room` |
//! | the actors | `connection`, `backend`, `shard_actor`, `broker`, `listener` |
//! | which node and shard a key lies on | `layout` |
//! | other nodes | `cluster`, `job::parcel` |
//! | setting up and ending | `server`, `options` |
//!
//! Where `kv` differs from a single Redis, and what limits it has: `examples/kv/README.md`.

#![deny(clippy::wildcard_enum_match_arm)]

mod aside;
mod backend;
mod broker;
mod budget;
mod client;
mod client_command;
mod clock;
mod cluster;
mod command;
mod config;
mod connection;
mod conversation;
mod demo;
#[cfg(any(test, fuzzing))]
pub mod fuzz;
mod info;
mod job;
mod keeper;
mod layout;
mod listen;
mod listener;
mod merge;
mod names;
mod options;
mod own;
mod resp;
mod room;
mod server;
mod session;
mod shard_actor;
mod shared;
mod stats;
mod stitch;
mod store;
#[cfg(test)]
mod tests;
mod transaction;
mod turn;
mod watching;

pub use cluster::NodeError;
pub use keeper::DirError;
pub use options::{Options, run};
pub use server::{Queue, SHARDS_MAX, Server, Settings, StartError};
pub use shared::Limits;
