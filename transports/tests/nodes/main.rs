//! Nodes over encrypted UDP on this machine.
//!
//! One program, since most of what these tests do is wait: they wait at the same time.

#![allow(clippy::unwrap_used, reason = "what fails here is the test")]

mod calls;
#[cfg(feature = "config")]
mod membership;
mod processes;
