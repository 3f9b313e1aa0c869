//! Overload: receivers that hold their senders back, and a system with a budget for all mail.

#![allow(clippy::unwrap_used, reason = "what goes wrong in a test may panic")]

#[path = "../support/mod.rs"]
mod support;

mod budget;
mod circles;
mod gate;
mod holding;
mod producers;
