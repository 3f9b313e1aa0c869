//! Carries greenroom's messages between nodes: encrypted, over UDP.
//!
//! | module | what it does |
//! |---|---|
//! | [`link`] | the reliability engine that all carriers share, without I/O: order, credit, loss, life and death |
//! | [`secure`] | handshakes, keys and sealed packets, without I/O |
//! | [`udp`] | both on a socket, under tokio |
//!
//! A carrier moves packets and seals them; the engine makes messages of them that arrive once, in order, and no
//! faster than the receiver takes them.

#![forbid(unsafe_code)]

/// A place in the code that is right, and wrong under `cfg(mutant = "name")`, so that a check can prove
/// that it would notice. The book's table of planted faults names each with its check.
macro_rules! planted {
    ($name:literal: $right:expr => $wrong:expr) => {
        if cfg!(mutant = $name) { $wrong } else { $right }
    };
}
pub(crate) use planted;

pub mod link;
pub mod secure;
pub mod udp;
