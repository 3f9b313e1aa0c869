//! Who runs next: the [`ReadyQueue`] seam, its implementations, and the workers that empty it.
//!
//! ```text
//! Core::schedule -> Shared::schedule -> ReadyQueue::push -> Idle::notify -> (a worker wakes)
//! worker: ReadyQueue::pop -> Ready::run -> Yielded? ReadyQueue::push at the back
//! ```

mod idle;
mod signal;
#[cfg_attr(loom, allow(dead_code, reason = "who uses it is no model"))]
mod slot;

#[cfg(not(loom))]
mod auto;
#[cfg(not(loom))]
mod climb;
#[cfg(not(loom))]
mod conformance;
#[cfg(not(loom))]
mod cores;
#[cfg(not(loom))]
mod driver;
#[cfg(not(loom))]
mod duty;
#[cfg(not(loom))]
mod guarded;
#[cfg(not(loom))]
mod lane;
#[cfg(not(loom))]
mod lock_free;
#[cfg(not(loom))]
mod locked;
#[cfg(not(loom))]
mod look;
#[cfg(not(loom))]
mod per_core;
#[cfg(not(loom))]
mod pool;
#[cfg(not(loom))]
mod pulse;
#[cfg(not(loom))]
mod queues;
#[cfg(not(loom))]
mod ready_queue;
#[cfg(not(loom))]
mod stealing;
#[cfg(not(loom))]
mod timekeeper;
#[cfg(not(loom))]
mod topology;
#[cfg(not(any(loom, shuttle)))]
mod unsteady;
#[cfg(not(loom))]
mod worker;

#[cfg(not(loom))]
mod face {
    pub use super::conformance::ready_queue_conforms;
    pub use super::ready_queue::{Batch, Origin, ReadyQueue, WorkerId};

    pub(crate) use super::auto::{Choice, choose};
    pub(crate) use super::cores::Cores;
    pub(crate) use super::guarded::Guarded;
    pub(crate) use super::lock_free::LockFreeQueue;
    pub(crate) use super::locked::LockedQueue;
    pub(crate) use super::look::{outsiders_may_look, shares_core};
    pub(crate) use super::per_core::PerCore;
    pub(crate) use super::pool::{Pool, WorkerOptions};
    pub(crate) use super::queues::Queues;
    pub(crate) use super::signal::WORKERS_MAX as PER_CORE_WORKERS_MAX;
    pub(crate) use super::stealing::StealingQueue;
    pub(crate) use super::worker::Limits as WorkerLimits;
    #[cfg(not(shuttle))]
    pub(crate) use super::worker::{ByHand, Manner, Took};
}
#[cfg(all(test, not(any(loom, shuttle))))]
pub(crate) use conformance::ready_queue_of_one_thread_conforms;
#[cfg(not(loom))]
pub use face::{Batch, Origin, ReadyQueue, WorkerId, ready_queue_conforms};
#[cfg(not(any(loom, shuttle)))]
pub(crate) use face::{ByHand, Manner, Took};
#[cfg(not(loom))]
pub(crate) use face::{
    Choice, Cores, Guarded, LockFreeQueue, LockedQueue, PER_CORE_WORKERS_MAX, PerCore, Pool,
    Queues, StealingQueue, WorkerLimits, WorkerOptions, choose, outsiders_may_look, shares_core,
};
#[cfg(all(test, not(loom)))]
mod tests;
