//! The stash: messages that their actor has put aside, to have them again in order.
//!
//! ```text
//! mail -> handler -> waiting --- unstash, or the end of the incarnation ---> due -> handler
//! ```
//!
//! Invariants:
//! 1. Whatever waits came before whatever is due, and that before all mail: while something is due no mail
//!    is taken ([`attention`]), and what comes back goes before what is still due.
//! 2. At most [`Stashes::STASH_MAX`] messages wait or are due. They have left the mailbox, so none of its room. One
//!    more may be due, behind them: mail whose turn had come ([`put_first`]).
//! 3. Each node is one of [`again`], whose block goes with its payload.

use super::body::control;
use super::context::Context;
use super::dispatch::again;
use super::error::StashError;
use super::traits::{Actor, Behavior, ByMacro, Message, Receive};
use super::{attention, interleave};
use crate::event::DeadLetterReason;
use crate::queue::list::List;
use crate::queue::node::Node;
use crate::sync::panic::quietly;
use crate::sync::planted;
use crate::task::cell::Advance;
use crate::task::held::Held;
use crate::task::life::Life;
use std::ptr::NonNull;

/// An actor that puts messages aside; `#[actor(stash = 100)]` makes it one.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no stash",
    note = "write `#[actor(stash = 100)]` on it: how many messages it may put aside"
)]
pub trait Stashes: Actor {
    /// How many messages may be stashed at a time, beside those in the mailbox. What was brought back counts until its
    /// turn comes.
    const STASH_MAX: usize;
}

/// What `#[handlers]` writes for an actor that has a `#[stash(..)]`.
pub trait PutsAside<M: Message>: Stashes {
    /// Whether the message is put aside.
    fn puts_aside(&self, message: &M) -> bool;
    /// Refuses the message, and tells who asks.
    fn refuse(message: M);
}

/// The messages of one actor.
#[derive(Debug)]
pub(super) struct Stash {
    waiting: List,
    count: usize,
    due: List,
    /// How many of those that are due had been put aside.
    due_count: usize,
}

impl Default for Stash {
    fn default() -> Self {
        Self { waiting: List::new(), count: 0, due: List::new(), due_count: 0 }
    }
}

impl Stash {
    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty() && self.due.is_empty()
    }

    /// Lets everything that waits be due; how many.
    fn unstash(&mut self) -> usize {
        if planted!("stash-out-of-order": true => false) {
            self.waiting.append(&mut self.due);
            std::mem::swap(&mut self.waiting, &mut self.due);
        } else {
            self.due.append(&mut self.waiting);
        }
        self.due_count += self.count;
        std::mem::take(&mut self.count)
    }

    /// Whether no more may be put aside.
    fn is_full(&self, count_max: usize) -> bool {
        let due = planted!("stash-due-uncounted": self.due_count => 0);
        self.count + due >= count_max
    }

    fn take_due(&mut self) -> Option<NonNull<Node>> {
        let node = self.due.pop_front()?;
        // What does not count is the last one.
        self.due_count = self.due_count.saturating_sub(1);
        Some(node)
    }

    fn pop(&mut self) -> Option<NonNull<Node>> {
        self.take_due().or_else(|| self.waiting.pop_front())
    }
}

impl Drop for Stash {
    fn drop(&mut self) {
        while let Some(node) = self.pop() {
            discard(node);
        }
    }
}

impl<A: Behavior> Context<A> {
    /// Puts `message` aside until [`Context::unstash`]. It is a message that this actor could be told: for
    /// handlers that say when by an attribute there is `#[stash(while = ..)]`, which also takes questions.
    ///
    /// A stashed message takes no room in the mailbox. It is kept across restarts; a new incarnation gets
    /// it before newer mail. When the actor ends it is a dead letter. In the handler of a message that was told
    /// with a deadline it has the same one. What becomes of the handler after this does not matter to it.
    ///
    /// # Errors
    /// [`StashError::Full`], with the message, when [`Stashes::STASH_MAX`] are stashed, or were and wait for their
    /// turn.
    ///
    /// # Examples
    /// ```
    /// use greenroom::{Actor, Context, Handle, Message, StashError, System, handlers};
    ///
    /// #[derive(Message)]
    /// struct Order(u32);
    ///
    /// /// Takes orders, and cooks them when it opens.
    /// #[derive(Actor)]
    /// #[actor(stash = 2)]
    /// struct Kitchen {
    ///     is_open: bool,
    ///     cooked: Vec<u32>,
    /// }
    ///
    /// #[handlers]
    /// impl Kitchen {
    ///     #[tell]
    ///     fn open(&mut self, cx: &mut Context<Self>) {
    ///         self.is_open = true;
    ///         cx.unstash();
    ///     }
    ///     #[ask]
    ///     fn cooked(&self) -> Vec<u32> {
    ///         self.cooked.clone()
    ///     }
    /// }
    ///
    /// impl Handle<Order> for Kitchen {
    ///     fn handle(&mut self, order: Order, cx: &mut Context<Self>) {
    ///         if self.is_open {
    ///             self.cooked.push(order.0);
    ///         } else if let Err(StashError::Full(_order)) = cx.stash(order) {
    ///             // Too many: this one is lost, and it is for this handler to say so.
    ///         }
    ///     }
    /// }
    ///
    /// #[greenroom::main]
    /// async fn main(system: System) -> Result<(), Box<dyn std::error::Error>> {
    ///     let kitchen = Kitchen { is_open: false, cooked: Vec::new() };
    ///     let kitchen = system.spawn::<Kitchen>(kitchen).await?;
    ///     for order in 1..=3 {
    ///         kitchen.tell(Order(order)).await?;
    ///     }
    ///     kitchen.open().await?;
    ///     kitchen.tell(Order(4)).await?;
    ///     assert_eq!(kitchen.cooked().await?, [1, 2, 4]);
    ///     Ok(())
    /// }
    /// ```
    pub fn stash<M: Message, Via: 'static>(&mut self, message: M) -> Result<(), StashError<M>>
    where
        A: Stashes + Receive<M, Via>,
    {
        let mut held = self.held();
        let stash = &mut control(&mut held).extras().stash;
        if planted!("stash-unbounded": stash.is_full(A::STASH_MAX) => false) {
            return Err(StashError::Full(message));
        }
        let node = again::<A, M, Via>(message);
        // SAFETY: the node is new.
        unsafe { stash.waiting.push_back(node) };
        stash.count += 1;
        Ok(())
    }

    /// Brings back everything that is stashed, in order, before all mail that has not been handled yet. It
    /// may be put aside again. Returns how many messages that is. O(1).
    pub fn unstash(&mut self) -> usize
    where
        A: Stashes,
    {
        bring_back(&mut self.held())
    }

    /// How many messages are stashed, without those that were brought back.
    #[must_use]
    pub fn stashed(&mut self) -> usize
    where
        A: Stashes,
    {
        control(&mut self.held()).extras.as_ref().map_or(0, |extras| extras.stash.count)
    }
}

/// Brings back everything that is stashed; how many messages that is.
pub(super) fn bring_back(held: &mut Held) -> usize {
    let Some(extras) = &mut control(held).extras else { return 0 };
    let count = extras.stash.unstash();
    attend(held);
    count
}

/// Puts `message` aside if its actor says so; otherwise it is to be handled now. One that finds no room is
/// refused.
pub fn put_aside<A, M>(actor: &A, message: M, context: &mut Context<A>) -> Option<M>
where
    A: Behavior + PutsAside<M> + Receive<M, ByMacro>,
    M: Message,
{
    if !actor.puts_aside(&message) {
        return Some(message);
    }
    if let Err(StashError::Full(message)) = context.stash(message) {
        A::refuse(message);
        let cell = context.header();
        let name = std::any::type_name::<M>();
        cell.core.events.dead_letter(cell.actor_id(), name, DeadLetterReason::StashFull);
    }
    None
}

/// Has the actor asked before each message as long as something is due.
fn attend(held: &mut Held) {
    let due = has_due(held);
    attention::set(held, attention::DUE, due);
}

/// Has `node`, which is one of [`again`] and has just been its actor's next message, be that once more.
pub(super) fn put_first(held: &mut Held, node: NonNull<Node>) {
    let stash = &mut control(held).extras().stash;
    // Mail is taken only when nothing is due: beside others this one had been put aside.
    stash.due_count += usize::from(!stash.due.is_empty());
    let mut first = List::new();
    // SAFETY: the node is the caller's.
    unsafe { first.push_back(node) };
    first.append(&mut stash.due);
    stash.due = first;
    attend(held);
}

/// Whether messages come before the actor's mail.
pub(super) fn has_due(held: &mut Held) -> bool {
    control(held).extras.as_ref().is_some_and(|extras| !extras.stash.due.is_empty())
}

/// Whether no message is put aside or comes before the actor's mail.
pub(super) fn is_empty(held: &mut Held) -> bool {
    control(held).extras.as_ref().is_none_or(|extras| extras.stash.is_empty())
}

/// What is to be handled next: signals, then what is due, then mail; no message while the mailbox is held. A message
/// that goes before a signal is one that is due, if there are any.
pub(super) fn next(held: &mut Held) -> Advance {
    let has_signals = !held.owner().signals.is_empty();
    if interleave::is_crowded(held) {
        return if has_signals { Advance::Signal } else { Advance::Wait };
    }
    let was_called = held.owner().life.lately & Life::CALLED != 0;
    let overtaken = planted!("stash-overtaken": false => held.has_mail());
    let waits = has_signals && (!was_called || held.has_prior()) || overtaken;
    let extras = control(held).extras.as_mut().filter(|_| !waits);
    let Some(node) = extras.and_then(|extras| extras.stash.take_due()) else {
        return Advance::Message;
    };
    attend(held);
    Advance::Handle(node)
}

/// The incarnation is over: what is stashed is mail for the next one.
pub(super) fn put_back(held: &mut Held) {
    let Some(extras) = &mut control(held).extras else { return };
    if planted!("stash-dropped-at-restart": false => true) {
        extras.stash = Stash::default();
    }
    if !extras.stash.is_empty() {
        extras.stash.unstash();
        attend(held);
    }
}

/// The actor has ended: what was stashed will not be handled.
pub(super) fn bury(held: &mut Held) {
    while let Some(node) = control(held).extras.as_mut().and_then(|extras| extras.stash.pop()) {
        held.cell().core.undelivered(held.cell(), node);
        discard(node);
    }
}

/// Drops a message that came out of its stash.
fn discard(node: NonNull<Node>) {
    // SAFETY: the stash gave the node away.
    let kind = unsafe { Node::kind(node) };
    // SAFETY: as above; it is given to its own kind, and not used again.
    quietly(|| unsafe { (kind.discard)(node) });
}
