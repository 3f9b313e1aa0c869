//! Who looks on while an actor runs.

use super::cell::CellRef;
use crate::queue::node::Node;
use std::ptr::NonNull;

/// See the [module](self).
pub(crate) trait Witness: Copy {
    /// The actor, whose token the caller holds, is about to be handed the message.
    fn sees(self, to: &CellRef, node: NonNull<Node>);
}

/// Nobody looks on: on threads, where it costs nothing.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Nobody;

impl Witness for Nobody {
    #[inline(always)]
    fn sees(self, _to: &CellRef, _node: NonNull<Node>) {}
}
