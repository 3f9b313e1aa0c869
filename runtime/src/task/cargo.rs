//! What is carried to the worker that an actor lives on.
//!
//! A cargo owns what it carries and a reference to its actor. Delivered, it does what the sender would
//! have done there; dropped, it is reported and discarded like mail of an actor that has ended.

use super::Ready;
use super::cell::{CellRef, discard, recycle};
use super::held::Held;
use crate::queue::inbox::Push;
use crate::queue::list::List;
use crate::queue::node::{Lane, Node};
use std::ptr::{self, NonNull};

/// Something for one actor.
#[derive(Debug)]
pub(crate) struct Cargo {
    to: CellRef,
    load: Load,
}

#[derive(Debug)]
enum Load {
    /// User mail, in order.
    Mail(List),
    /// For the urgent lane.
    Urgent(NonNull<Node>),
    /// For the urgent lane, behind all user mail that was sent before it, whoever sent that.
    Behind(NonNull<Node>),
    /// The waiting handler can go on.
    Wake,
    /// The token of an actor that is ready to run there.
    Token,
    /// Nothing any more.
    Delivered,
}

// SAFETY: the payload of every node is `Send`, and a token may be passed to any thread.
unsafe impl Send for Cargo {}

/// Whether `node` is a user's message to a mailbox that has been closed.
///
/// # Safety
/// It is live.
pub(crate) unsafe fn is_late(to: &CellRef, node: NonNull<Node>) -> bool {
    // SAFETY: the caller's promise.
    unsafe { Node::kind(node) }.lane == Lane::User && to.inbox.is_closed()
}

impl Cargo {
    /// A user message.
    ///
    /// # Safety
    /// The caller owns `node`, whose kind fits the actor, and gives it away.
    pub(crate) unsafe fn mail(to: CellRef, node: NonNull<Node>) -> Self {
        let mut mail = List::new();
        // SAFETY: the caller's promise.
        unsafe { mail.push_back(node) };
        Self { to, load: Load::Mail(mail) }
    }

    /// A node for the urgent lane.
    ///
    /// # Safety
    /// As [`Cargo::mail`].
    pub(crate) unsafe fn urgent(to: CellRef, node: NonNull<Node>) -> Self {
        Self { to, load: Load::Urgent(node) }
    }

    /// A node for the urgent lane, to be delivered when all user mail has been that was sent before.
    ///
    /// # Safety
    /// As [`Cargo::mail`].
    pub(crate) unsafe fn behind(to: CellRef, node: NonNull<Node>) -> Self {
        Self { to, load: Load::Behind(node) }
    }

    /// Whether it is a user's message to a mailbox that has been closed.
    pub(crate) fn is_late(&self) -> bool {
        let Load::Mail(mail) = &self.load else { return false };
        // SAFETY: the list owns its nodes.
        mail.front().is_some_and(|node| unsafe { is_late(&self.to, node) })
    }

    /// The oldest message in it, which is the only one.
    pub(crate) fn into_message(mut self) -> Option<NonNull<Node>> {
        let Load::Mail(mail) = &mut self.load else { return None };
        mail.pop_front()
    }

    /// Whether it is to be delivered behind all earlier mail.
    pub(crate) fn is_behind(&self) -> bool {
        matches!(self.load, Load::Behind(_))
    }

    /// Word that the waiting handler can go on.
    pub(crate) fn wake(to: CellRef) -> Self {
        Self { to, load: Load::Wake }
    }

    /// The token of an actor.
    pub(crate) fn token(ready: Ready) -> Self {
        // SAFETY: whoever holds a token knows that the cell is live.
        Self { to: unsafe { CellRef::to(ready.into_header()) }, load: Load::Token }
    }

    /// Whom it is for.
    pub(crate) fn to(&self) -> &CellRef {
        &self.to
    }

    /// Puts one more user message behind this one, if it is user mail for that same actor: saves a
    /// reference and a place in the ring. `false`: nothing was taken.
    ///
    /// # Safety
    /// As [`Cargo::mail`], if the answer is `true`.
    pub(crate) unsafe fn add_mail(&mut self, to: &CellRef, node: NonNull<Node>) -> bool {
        let Load::Mail(mail) = &mut self.load else { return false };
        if self.to != *to {
            return false;
        }
        // SAFETY: the caller's promise.
        unsafe { mail.push_back(node) };
        true
    }

    /// Hands it over; the actor's token if that woke it.
    ///
    /// # Safety
    /// The calling thread is the only one that touches the actor's inbox.
    pub(crate) unsafe fn deliver(mut self) -> Option<Ready> {
        match std::mem::replace(&mut self.load, Load::Delivered) {
            // SAFETY: the caller's promise.
            Load::Mail(mail) => unsafe { self.deliver_mail(mail) },
            Load::Urgent(node) | Load::Behind(node) => {
                // SAFETY: the cargo owns its node.
                match unsafe { self.to.inbox.push_urgent(node) } {
                    Push::Queued => None,
                    Push::Woke => Some(self.ready()),
                    Push::Dead => {
                        self.to.inbox.empty_urgent().into_oldest_first(discard);
                        None
                    }
                }
            }
            Load::Wake => self.to.inbox.wake().then(|| self.ready()),
            Load::Token => Some(self.ready()),
            Load::Delivered => None,
        }
    }

    /// # Safety
    /// As [`Cargo::deliver`].
    unsafe fn deliver_mail(&self, mut mail: List) -> Option<Ready> {
        let mut ready = None;
        while let Some(node) = mail.pop_front() {
            // SAFETY: the list gave the node away.
            unsafe { Node::set_next(node, ptr::null_mut()) };
            // SAFETY: as above; its kind fits, and the caller's promise.
            match unsafe { self.to.inbox.push_home(node) } {
                Push::Queued => {}
                Push::Woke => ready = Some(self.ready()),
                // SAFETY: `Dead` says that this thread took the token of an actor that has ended.
                Push::Dead => unsafe { Held::new(self.to.as_ptr()) }.bury(),
            }
        }
        ready
    }

    /// The token that this thread has just taken, or was brought.
    fn ready(&self) -> Ready {
        // SAFETY: as said.
        unsafe { Ready::new(self.to.as_ptr()) }
    }
}

impl Drop for Cargo {
    fn drop(&mut self) {
        match &mut self.load {
            Load::Mail(mail) => {
                while let Some(node) = mail.pop_front() {
                    self.to.core.undelivered(&self.to, node);
                    discard(node);
                    recycle(node);
                }
            }
            Load::Urgent(node) | Load::Behind(node) => discard(*node),
            // The actor is never run again: its system has ended.
            Load::Token | Load::Wake | Load::Delivered => {}
        }
    }
}
