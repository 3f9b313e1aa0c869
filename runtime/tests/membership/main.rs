//! Who is found to be in a cluster, and who is not any more. ThreadSanitizer goes without worlds of one thread.
#![allow(clippy::unwrap_used, reason = "what goes wrong in a test may panic")]

#[path = "../support/mod.rs"]
mod support;

#[cfg(not(sanitized = "thread"))]
mod cluster;
mod hostile;
mod joining;
#[cfg(not(sanitized = "thread"))]
mod worlds;
