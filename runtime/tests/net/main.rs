//! Actors that are reached from other nodes. A world has one thread, so ThreadSanitizer goes without worlds.
#![allow(clippy::unwrap_used, reason = "what goes wrong in a test may panic")]
#![allow(non_ascii_idents, reason = "the derives of zerocopy make such names")]
#![allow(clippy::needless_pass_by_value, reason = "closures are written where they are passed")]

#[path = "../support/mod.rs"]
mod support;

mod alike;
mod arrivals;
mod bounds;
mod breaks;
mod bundles;
mod calls;
#[cfg(not(sanitized = "thread"))]
mod children;
#[cfg(any(feature = "prost", feature = "zerocopy"))]
mod codecs;
mod conformance;
mod downs;
#[cfg(not(sanitized = "thread"))]
mod ends;
mod frame;
mod groups;
mod held;
mod hostile;
mod inside;
mod limit;
mod lock;
mod manifest;
mod narrow;
mod overtaking;
mod panics;
mod references;
mod rendezvous;
#[cfg(not(sanitized = "thread"))]
mod runs;
mod spawns;
mod spec;
mod stage;
mod streams;
mod turns;
mod versions;
#[cfg(not(sanitized = "thread"))]
mod wanderers;
mod whole;
mod windows;
#[cfg(not(sanitized = "thread"))]
mod worlds;
mod wrapped;
