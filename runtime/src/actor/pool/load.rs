//! How much a worker of a pool has before it.
//!
//! Behind a message the pool sends a marker through the same lane, which is no message of anybody's and
//! needs no room. Whatever becomes of the message, its marker comes after it and is counted down: when
//! the worker takes it out, or when the worker has ended and what it had is discarded.

use crate::actor::dispatch::drop_payload;
use crate::actor::tell::{push_node, run_soon};
use crate::queue::node::{Kind, Lane, Node};
use crate::sync::{Arc, AtomicUsize, Ordering};
use crate::task::cell::CellRef;
use std::any::TypeId;
use std::ptr::NonNull;

/// Messages that a worker was sent and has not handled.
pub(super) struct Load(Arc<AtomicUsize>);

/// Counts one less when it is dropped.
struct Marker(Arc<AtomicUsize>);

impl Drop for Marker {
    fn drop(&mut self) {
        // Relaxed: it orders nothing, it only counts.
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

static KIND: Kind = Kind {
    // It is no user's message: nobody misses it.
    lane: Lane::Signal,
    deliver: arrive,
    discard: drop_payload::<Marker>,
    weigh: None,
    block: Node::block::<Marker>(),
    name: || "marker",
    type_id: TypeId::of::<()>,
    answers: false,
};

/// # Safety
/// The caller owns `marker`, which is of `KIND`.
unsafe fn arrive(_to: NonNull<()>, marker: NonNull<Node>) {
    // SAFETY: the caller's promise.
    unsafe { drop_payload::<Marker>(marker) };
}

impl Load {
    pub(super) fn new() -> Self {
        Self(Arc::new(AtomicUsize::new(0)))
    }

    /// How many there are.
    pub(super) fn count(&self) -> usize {
        // Relaxed: as above.
        self.0.load(Ordering::Relaxed)
    }

    /// Counts the message that was just sent to `worker`, until it is handled.
    pub(super) fn add(&self, worker: &CellRef) {
        // Relaxed: as above.
        self.0.fetch_add(1, Ordering::Relaxed);
        push_node(worker, Node::new(&KIND, Marker(self.0.clone())), run_soon);
    }
}
