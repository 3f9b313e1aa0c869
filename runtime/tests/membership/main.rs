//! Who is found to be in a cluster, and who is not any more.
#![allow(clippy::unwrap_used, reason = "what goes wrong in a test may panic")]

#[path = "../support/mod.rs"]
mod support;

mod cluster;
mod hostile;
mod joining;
mod worlds;
