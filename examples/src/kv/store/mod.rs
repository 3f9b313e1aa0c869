//! The data: what one shard holds and every command that works on it. No I/O, no clock, no actors.
//!
//! A [`Shard`] is driven by [`Shard::execute`] with the time set beforehand through [`Shard::set_now`], so every test
//! of it is repeatable.

pub(crate) mod args;
mod db;
pub(crate) mod error;
mod expire;
mod fields;
mod glob;
pub(crate) mod hashes;
pub(crate) mod keys;
pub(crate) mod lists;
mod log;
pub(crate) mod scan;
pub(crate) mod sets;
mod shard;
pub(crate) mod strings;
pub(crate) mod ttl;
mod value;
mod watch;

#[cfg(test)]
mod tests;

pub(crate) use args::Args;
pub(crate) use db::{hash, route, tag};
pub(crate) use error::{Error, up_to_zero};
pub(crate) use glob::matches;
pub(crate) use log::LogError;
pub(crate) use scan::cursor_shard;
pub(crate) use shard::{DATABASES, Place, Shard};
pub(crate) use watch::WatchId;

/// A command's work on a shard: it writes one reply, or returns the error to answer instead.
pub(crate) type Run = fn(&mut Shard, Args<'_>, &mut super::resp::Reply<'_>) -> Result<(), Error>;
