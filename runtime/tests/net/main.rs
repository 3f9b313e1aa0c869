//! Actors that are reached from other nodes.
#![allow(clippy::unwrap_used, reason = "what goes wrong in a test may panic")]
#![allow(clippy::needless_pass_by_value, reason = "closures are written where they are passed")]

#[path = "../support/mod.rs"]
mod support;

mod breaks;
mod calls;
mod frame;
mod hostile;
mod lock;
mod manifest;
mod spec;
mod stage;
mod versions;
mod worlds;
