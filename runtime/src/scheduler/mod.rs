//! Who runs next: the [`ReadyQueue`] seam, its implementations, and the workers that empty it.
//!
//! ```text
//! Core::schedule -> Shared::schedule -> ReadyQueue::push -> Idle::notify -> (a worker wakes)
//! worker: ReadyQueue::pop -> Ready::run -> Yielded? ReadyQueue::push at the back
//! ```

mod conformance;
mod idle;
mod locked;
mod ready_queue;
mod stealing;

mod pool;
mod worker;

pub use conformance::ready_queue_conforms;
pub use ready_queue::{Batch, Origin, ReadyQueue, WorkerId};

pub(crate) use locked::LockedQueue;
pub(crate) use pool::{Pool, WorkerOptions};
pub(crate) use stealing::StealingQueue;
pub(crate) use worker::Limits as WorkerLimits;
