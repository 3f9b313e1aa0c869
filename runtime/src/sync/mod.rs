//! The only door to atomics, cells, locks and threads.
//!
//! Every other module takes its concurrency primitives from here, so that the same code runs on the
//! standard library in production, on loom (`--cfg loom`, every interleaving of a small model) and on
//! shuttle (`--cfg shuttle`, many random interleavings of a large one).
//!
//! Invariants:
//! 1. No other module names `std::sync::atomic`, `std::sync::Arc`, `std::sync::Mutex` or `std::thread`.
//! 2. References are counted by read-modify-writes alone ([`Arc`]): the standard `Arc` ends in a fence,
//!    which ThreadSanitizer cannot see.
//! 3. There is no fence in the crate: a rendezvous is a read-modify-write on one word.

mod arc;
#[cfg(not(loom))]
mod buggify;
mod fault;
#[cfg(miri)]
mod miri;
mod pad;
pub(crate) mod panic;
mod patience;
#[cfg(all(test, not(any(loom, shuttle))))]
mod rounds;
mod unique;
#[cfg(any(not(loom), test))]
mod wake;
#[cfg(not(any(loom, shuttle)))]
mod wake_list;

#[cfg(loom)]
#[path = "loom.rs"]
mod door;
#[cfg(all(shuttle, not(loom)))]
#[path = "shuttle.rs"]
mod door;
#[cfg(not(any(loom, shuttle)))]
#[path = "std.rs"]
mod door;

pub(crate) use arc::Arc;
#[cfg(not(loom))]
pub(crate) use buggify::{Buggified, Buggifier, Rare, buggify};
pub(crate) use door::spin_loop;
pub(crate) use door::thread;
#[cfg(not(loom))]
pub(crate) use door::thread_local;
pub(crate) use door::{
    AtomicBool, AtomicPtr, AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Mutex, MutexGuard,
    UnsafeCell,
};
#[cfg(all(shuttle, not(loom)))]
pub(crate) use door::{ticks, unparker};
pub(crate) use fault::{is_chosen, planted};
pub(crate) use pad::CachePadded;
pub(crate) use patience::Patience;
#[cfg(all(test, not(any(loom, shuttle))))]
pub(crate) use rounds::rounds;
pub(crate) use std::sync::atomic::Ordering;
pub(crate) use thread::yield_now;
pub(crate) use unique::unique;
#[cfg(not(loom))]
pub(crate) use wake::waker_of_this_thread;
#[cfg(any(not(loom), test))]
pub(crate) use wake::{Wake, waker};
#[cfg(not(any(loom, shuttle)))]
pub(crate) use wake_list::WakeList;
