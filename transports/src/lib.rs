//! Carries greenroom's messages between nodes: encrypted, over UDP.
//!
//! | module | what it does |
//! |---|---|
//! | [`link`] | the reliability engine, without I/O |
//! | [`secure`] | handshakes, keys and sealed packets, without I/O |
//! | [`udp`] | both on a socket, under tokio |

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
