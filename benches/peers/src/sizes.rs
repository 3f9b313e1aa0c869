//! How large the programs are, the same for everybody.

/// Actors that pass the token of `thread_ring` on.
pub const RING: u64 = 100;
/// Producers of `fan_in`.
pub const PRODUCERS: u64 = 4;
/// Receivers of `fork_join_throughput`.
pub const FORKS: u64 = 60;
/// Actors of `big`.
pub const PEERS: u64 = 120;
/// Creatures of `chameneos`.
pub const CREATURES: u64 = 100;
/// Children of a node of `skynet`.
pub const CHILDREN: u64 = 10;
/// Threads of `sends_outside`.
pub const THREADS: u64 = 2;

/// The part of `n` that falls to the one with this number of so many, the first ones taking what does
/// not divide.
#[must_use]
pub const fn share(n: u64, parts: u64, index: u64) -> u64 {
    n / parts + if index < n % parts { 1 } else { 0 }
}
