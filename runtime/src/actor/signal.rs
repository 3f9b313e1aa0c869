//! Calls of an actor's own methods on their way to it: by timers, watches, and what it has begun.
//!
//! A signal travels in the urgent lane, so no bound holds it back, and carries the number of the
//! incarnation that it is for.

use super::body;
use super::dispatch::{drop_payload, wait};
use super::local::LocalCall;
use super::tell::{push_node, run_soon};
use super::traits::{Behavior, Step};
use crate::queue::node::{Kind, Node};
use crate::task::cell::{CellRef, Header};
use std::marker::PhantomData;
use std::ptr::NonNull;

/// A call of `method` on its way.
pub(super) struct Signal<F, V> {
    pub(super) method: F,
    pub(super) value: V,
    pub(super) epoch: u32,
}

/// `kind` is for the actor whose cell `to` is.
pub(super) fn send_signal<F: Send, V: Send>(
    to: &CellRef,
    kind: &'static Kind,
    signal: Signal<F, V>,
) {
    let node = Node::new(kind, signal);
    // SAFETY: the node is new, and its kind was made for an `A`, whose cell this is.
    unsafe { to.push_urgent(node) };
}

/// As [`send_signal`], for a signal that waits behind the mail that the actor has; its kind keeps the block
/// for the lane.
pub(super) fn send_behind<F: Send, V: Send>(
    to: &CellRef,
    kind: &'static Kind,
    signal: Signal<F, V>,
) {
    push_node(to, Node::new(kind, signal), run_soon);
}

/// The kind of a signal: how it is delivered, what it carries, and its lane if that is another.
macro_rules! signal_kind {
    ($deliver:expr, $payload:ty) => {
        signal_kind!($deliver, $payload, $crate::queue::node::Lane::Signal)
    };
    ($deliver:expr, $payload:ty, $lane:expr) => {
        const {
            &$crate::queue::node::Kind {
                lane: $lane,
                deliver: $deliver,
                discard: $crate::actor::signal::discard_signal::<$payload>,
                weigh: None,
                block: Node::NO_BLOCK,
                name: std::any::type_name::<$payload>,
                type_id: std::any::TypeId::of::<()>,
                answers: false,
            }
        }
    };
}

pub(super) use signal_kind;

/// # Safety
/// The caller owns `node`, whose payload is a `T`.
pub(super) unsafe fn discard_signal<T>(node: NonNull<Node>) {
    // SAFETY: the caller's promise; afterwards only the block is left.
    let _block = BlockOf::<T>(node, PhantomData);
    // SAFETY: as above.
    unsafe { drop_payload::<T>(node) };
}

/// Gives a signal's block back, even when its payload's drop panics.
struct BlockOf<T>(NonNull<Node>, PhantomData<T>);

impl<T> Drop for BlockOf<T> {
    fn drop(&mut self) {
        // SAFETY: the node is in no list, and its payload was moved out.
        unsafe { Node::release::<T>(self.0) };
    }
}

/// # Safety
/// The caller holds the token of an `A` that runs, and no handler waits.
pub(super) unsafe fn call<A: Behavior, F: LocalCall<A, T, S>, T, S>(
    header: NonNull<Header>,
    method: F,
    value: T,
) {
    // SAFETY: the caller's promise.
    let actor = unsafe { body::live::<A>(header) };
    // SAFETY: as above.
    let context = unsafe { body::context::<A>(header) };
    match method.call(actor, value, context) {
        Step::Done(()) => {}
        // SAFETY: as above.
        Step::Later(future) => unsafe { wait(header, future) },
    }
}
