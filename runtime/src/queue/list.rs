//! Lists of nodes that one thread owns: no allocation, nothing shared.

use super::node::Node;
use std::ptr::{self, NonNull};

/// A FIFO in one word: the newest node, which links to the oldest, and so round.
#[derive(Debug)]
pub(crate) struct List {
    newest: *mut Node,
}

// SAFETY: a list owns its nodes; whoever owns the list may use them on any thread, because the
// payloads are `Send` (every maker of a node demands it).
unsafe impl Send for List {}

impl List {
    pub(crate) const fn new() -> Self {
        Self { newest: ptr::null_mut() }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.newest.is_null()
    }

    /// Puts `node` at the back.
    ///
    /// # Safety
    /// The caller owns `node` and gives it away.
    pub(crate) unsafe fn push_back(&mut self, node: NonNull<Node>) {
        let oldest = match NonNull::new(self.newest) {
            // SAFETY: the list owns its nodes.
            Some(newest) => unsafe { Node::next(newest) },
            None => node.as_ptr(),
        };
        // SAFETY: the caller owns the node.
        unsafe { Node::set_next(node, oldest) };
        if let Some(newest) = NonNull::new(self.newest) {
            // SAFETY: the list owns its nodes.
            unsafe { Node::set_next(newest, node.as_ptr()) };
        }
        self.newest = node.as_ptr();
    }

    /// Puts all of `newer`, which is then empty, at the back. O(1).
    pub(crate) fn append(&mut self, newer: &mut Self) {
        let theirs = std::mem::replace(&mut newer.newest, ptr::null_mut());
        let Some(their_newest) = NonNull::new(theirs) else { return };
        if let Some(our_newest) = NonNull::new(self.newest) {
            // SAFETY: the lists own their nodes.
            let our_oldest = unsafe { Node::next(our_newest) };
            // SAFETY: as above.
            let their_oldest = unsafe { Node::next(their_newest) };
            // SAFETY: as above.
            unsafe { Node::set_next(our_newest, their_oldest) };
            // SAFETY: as above.
            unsafe { Node::set_next(their_newest, our_oldest) };
        }
        self.newest = theirs;
    }

    /// The oldest node, which stays.
    #[inline(always)]
    pub(crate) fn front(&self) -> Option<NonNull<Node>> {
        let newest = NonNull::new(self.newest)?;
        // SAFETY: the list owns its nodes.
        NonNull::new(unsafe { Node::next(newest) })
    }

    /// Takes the oldest node; the caller then owns it.
    #[inline(always)]
    pub(crate) fn pop_front(&mut self) -> Option<NonNull<Node>> {
        let newest = NonNull::new(self.newest)?;
        let oldest = self.front()?;
        if oldest == newest {
            self.newest = ptr::null_mut();
        } else {
            // SAFETY: as above.
            let second = unsafe { Node::next(oldest) };
            // SAFETY: as above.
            unsafe { Node::set_next(newest, second) };
        }
        Some(oldest)
    }
}

/// Nodes taken from an inbox at once, newest first, as they hang together.
#[derive(Debug)]
pub(crate) struct Chain(*mut Node);

impl Chain {
    pub(crate) const fn new(newest: *mut Node) -> Self {
        Self(newest)
    }

    /// Turns the chain round: the caller gets the nodes oldest first.
    #[inline]
    pub(crate) fn into_oldest_first(self, mut each: impl FnMut(NonNull<Node>)) {
        let mut oldest = ptr::null_mut();
        let mut newest = self.0;
        while let Some(node) = NonNull::new(newest) {
            // SAFETY: the chain owns its nodes; each link is read before it is turned.
            newest = unsafe { Node::next(node) };
            // SAFETY: as above.
            unsafe { Node::set_next(node, oldest) };
            oldest = node.as_ptr();
        }
        while let Some(node) = NonNull::new(oldest) {
            // SAFETY: the link is read before the node is given away.
            oldest = unsafe { Node::next(node) };
            each(node);
        }
    }
}
