//! Messages and mailboxes as a simulated world sees them, which looks on while its actors run.

use super::ask::Asked;
use super::body;
use super::census::visit_all;
use super::room::TICKET;
use super::tell::Dated;
use super::traits::Message;
use crate::mailbox::Bound;
use crate::queue::node::{Lane, Node};
use crate::task::cell::{CellRef, Header};
use crate::task::core::Core;
use crate::task::held::Held;
use std::ptr::{self, NonNull};

/// A message that an actor is about to handle.
pub(crate) struct Sight<'a> {
    to: &'a CellRef,
    node: NonNull<Node>,
    /// Whether it was queued in the lane of user mail.
    is_queued: bool,
}

impl<'a> Sight<'a> {
    /// The message that `node` stands for.
    ///
    /// # Safety
    /// The caller holds the token of `to` and owns `node`, which is about to be delivered to it, and does
    /// neither use nor give away either while there is a `Sight`.
    pub(crate) unsafe fn of(to: &'a CellRef, node: NonNull<Node>) -> Self {
        // SAFETY: the caller's promise; the value lives for this call only.
        let is_queued = unsafe { Held::new(to.as_ptr()) }.owner().outlet.tail() == node;
        // SAFETY: the caller's promise.
        let is_ticket = ptr::eq(unsafe { Node::kind(node) }, &raw const TICKET);
        let oldest = if is_ticket { body::bound(to).and_then(Bound::oldest) } else { None };
        Self { to, node: oldest.unwrap_or(node), is_queued }
    }

    /// Who is about to handle it.
    pub(crate) fn receiver(&self) -> &'a CellRef {
        self.to
    }

    /// Whether the receiver took it out of its lane of user mail.
    pub(crate) fn is_queued(&self) -> bool {
        self.is_queued
    }

    /// Whether it was told or asked; otherwise it is a timer, a result or a `Down`.
    pub(crate) fn is_mail(&self) -> bool {
        // SAFETY: the promise of `of`.
        unsafe { Node::kind(self.node) }.lane == Lane::User
    }

    /// The message's type.
    pub(crate) fn name(&self) -> &'static str {
        // SAFETY: the promise of `of`.
        (unsafe { Node::kind(self.node) }.name)()
    }

    /// Whether its receiver drops the oldest message: what is handed out then is not what has its place in the lane.
    pub(crate) fn is_in_window(&self) -> bool {
        body::bound(self.to).is_some_and(Bound::has_window)
    }

    /// The message, told or asked, if it is an `M`.
    pub(crate) fn message<M: Message>(&self) -> Option<&M> {
        // SAFETY: the promise of `of`; nobody has taken the payload yet.
        let told = unsafe { Node::payload::<M>(self.node) };
        // SAFETY: as above.
        let asked = || unsafe { Node::payload::<Asked<M>>(self.node) }.map(|asked| &asked.message);
        // SAFETY: as above.
        let dated = || unsafe { Node::payload::<Dated<M>>(self.node) }.map(|dated| &dated.message);
        told.or_else(asked).or_else(dated)
    }
}

/// Calls `each` for every actor that has not ended, with how much waits in its lane of user mail.
///
/// # Safety
/// Nobody else runs an actor of the system meanwhile.
pub(crate) unsafe fn look_into_lanes(core: &Core, mut each: impl FnMut(&Header, usize)) {
    let mut visit = |cell: &CellRef, _depth: usize| {
        // SAFETY: the token may be anybody's, but by the caller's promise nobody else uses it.
        let tail = unsafe { Held::new(cell.as_ptr()) }.owner().outlet.tail();
        // SAFETY: the tail ends the lane, which nobody uses, by the same promise.
        each(cell, unsafe { Node::behind(tail) });
    };
    // SAFETY: the caller's promise.
    unsafe { visit_all(core, &mut visit) };
}
