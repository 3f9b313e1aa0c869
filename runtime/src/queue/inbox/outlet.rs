//! The consumer's end of a mailbox.

use super::Inbox;
use crate::queue::node::{Kind, Node};
use std::ptr::NonNull;

/// The consumer's next step.
#[derive(Debug)]
pub(crate) enum Pop {
    /// The oldest message; its payload is to be moved out at once, because its node stays behind as
    /// the lane's end until the next pop.
    Node(NonNull<Node>),
    /// Nothing there.
    Empty,
    /// A sender is between its swap and its link: more is coming.
    Broken,
}

/// The consumer's end: the node whose successor is the oldest message.
#[derive(Debug)]
pub(crate) struct Outlet {
    tail: NonNull<Node>,
}

// SAFETY: an outlet owns the nodes behind its tail, whose payloads are `Send`.
unsafe impl Send for Outlet {}

impl Outlet {
    /// The end of an inbox that is empty but for `stub`.
    pub(super) fn new(stub: NonNull<Node>) -> Self {
        Self { tail: stub }
    }

    /// Takes the oldest message. The node before it, which had stayed behind as the lane's end, is
    /// handed to `recycle`. Token's holder only.
    pub(crate) fn pop(&mut self, inbox: &Inbox, recycle: impl FnOnce(NonNull<Node>)) -> Pop {
        match self.pop_linked(recycle) {
            Some(node) => Pop::Node(node),
            None if inbox.ends_at(self.tail) => Pop::Empty,
            None => Pop::Broken,
        }
    }

    /// As [`Outlet::pop`], for who then tries to give the token back, which tells the other cases apart.
    #[inline(always)]
    pub(crate) fn pop_linked(
        &mut self,
        recycle: impl FnOnce(NonNull<Node>),
    ) -> Option<NonNull<Node>> {
        // SAFETY: the outlet keeps its tail node.
        let node = NonNull::new(unsafe { Node::linked(self.tail) })?;
        recycle(std::mem::replace(&mut self.tail, node));
        Some(node)
    }

    /// What the oldest message is, if it is linked.
    pub(crate) fn front(&self) -> Option<&'static Kind> {
        // SAFETY: the outlet keeps its tail node.
        let node = NonNull::new(unsafe { Node::linked(self.tail) })?;
        // SAFETY: what is linked is the outlet's.
        Some(unsafe { Node::kind(node) })
    }

    /// Whether a sender is between its swap and its link, right behind what the outlet has seen.
    pub(crate) fn is_broken(&self, inbox: &Inbox) -> bool {
        // SAFETY: the outlet keeps its tail node.
        !inbox.ends_at(self.tail) && unsafe { Node::linked(self.tail) }.is_null()
    }

    /// The node that has stayed behind, where the lane ends for the consumer.
    pub(crate) fn tail(&self) -> NonNull<Node> {
        self.tail
    }
}
