//! Nodes that wait for their time.

use super::cell::CellRef;
use crate::queue::node::Node;
use std::ptr::NonNull;

/// A signal or control with its address, to be sent later or never.
#[derive(Debug)]
pub(crate) struct Letter {
    to: CellRef,
    node: NonNull<Node>,
}

// SAFETY: the payload of every node is `Send`.
unsafe impl Send for Letter {}

impl Letter {
    /// # Safety
    /// The caller owns `node`, whose kind fits the actor at `to` and travels in an urgent lane.
    pub(crate) unsafe fn new(to: CellRef, node: NonNull<Node>) -> Self {
        Self { to, node }
    }

    /// Sends it; if the actor has ended, the node is dropped.
    pub(crate) fn send(self) {
        let this = std::mem::ManuallyDrop::new(self);
        // SAFETY: `this` is not used again, so the reference is moved out.
        let to = unsafe { std::ptr::read(&raw const this.to) };
        // SAFETY: the maker's promise.
        unsafe { to.push_urgent(this.node) };
    }
}

impl Drop for Letter {
    fn drop(&mut self) {
        // SAFETY: the letter owns its node.
        let kind = unsafe { Node::kind(self.node) };
        // SAFETY: as above.
        unsafe { (kind.discard)(self.node) };
    }
}
