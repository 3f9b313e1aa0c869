//! What a journal promises: durable before seen, recovered exactly, fenced, and stopped when it cannot
//! write.

#![allow(clippy::disallowed_methods, reason = "a child process is killed by the clock")]

#[path = "../support/mod.rs"]
mod support;

mod creation;
mod evolution;
mod failing;
mod fencing;
mod kill;
mod large;
mod ledger;
#[cfg(feature = "postgres")]
mod postgres;
mod recovery;
mod stores;
mod together;
mod unencodable;
#[cfg(not(sanitized = "thread"))]
mod worlds;
