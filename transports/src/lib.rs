//! Carries greenroom's messages between nodes: encrypted, over UDP or RDMA.
//!
//! | module | what it does |
//! |---|---|
//! | `config` | a node's settings from a TOML file, with the feature of that name |
//! | [`link`] | the reliability engine that all carriers share, without I/O: order, credit, loss, life and death |
//! | [`rdma`] | queue pairs of an RDMA device, or of a simulated one |
//! | [`secure`] | handshakes, keys and sealed packets, without I/O |
//! | [`station`] | both together, without I/O: the links of one node |
//! | [`udp`] | a station on a socket: what [`greenroom::net::Node`] is given |
//!
//! | feature | what it adds |
//! |---|---|
//! | `pq`, by default | handshakes that a quantum computer does not undo: ML-KEM-768 beside X25519 |
//! | `cli`, by default | the command `greenroom`: makes keys, and looks for what is wrong; includes `config` |
//! | `config` | a node's settings from a TOML file |
//! | `ring` | the cipher in assembly, faster for small packets; needs a C compiler |
//! | `rdma` | devices by libibverbs, which is loaded when a program asks for them; Linux on 64 bits |
//!
//! A carrier moves packets and seals them; the engine makes messages of them that arrive once, in order, and no
//! faster than the receiver takes them.
//!
//! Most of what a small packet costs is its cipher: the feature `ring` takes it from a library in assembly, and
//! `--cfg poly1305_backend="soft"` in `RUSTFLAGS` makes that in pure Rust cheaper.

#![cfg_attr(not(feature = "rdma"), forbid(unsafe_code))]
#![cfg_attr(feature = "rdma", deny(unsafe_code))]

// What tests inside of the crate name as those outside do.
#[cfg(test)]
extern crate self as greenroom_transports;

#[cfg(feature = "config")]
pub mod config;
mod fault;
#[cfg(any(test, fuzzing))]
pub mod fuzz;
pub mod link;
pub mod rdma;
pub mod secure;
pub mod station;
pub mod udp;
mod wake;

pub(crate) use fault::planted;

/// The book, so that every snippet in it compiles and runs.
#[cfg(doctest)]
mod documents {
    #[doc = include_str!("../../book/src/tour/network.md")]
    mod network {}
}
