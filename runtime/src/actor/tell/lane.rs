//! Putting what is sent into the lane of its receiver, wherever that lives.

use crate::actor::error::TellError;
use crate::queue::inbox::Push;
use crate::queue::node::{Kind, Lane, Node};
use crate::task::Ready;
use crate::task::cell::{CellRef, Header, Reach};
use crate::task::held::Held;
use std::any::TypeId;
use std::marker::PhantomData;
use std::ptr::NonNull;

/// Puts a message into the lane of a mailbox that was found free.
///
/// # Errors
/// The message, when the actor has ended or is draining.
#[inline(always)]
pub(in crate::actor) fn push<P: Send>(
    cell: &CellRef,
    kind: &'static Kind,
    message: P,
    run: impl Fn(&CellRef, Ready),
) -> Result<(), P> {
    offer(cell, kind, message, run).inspect_err(|_| note_refusal(cell))
}

/// As [`push`], for who counts what is refused.
#[inline(always)]
pub(in crate::actor) fn offer<P: Send>(
    cell: &CellRef,
    kind: &'static Kind,
    message: P,
    run: impl Fn(&CellRef, Ready),
) -> Result<(), P> {
    let carry = |node| {
        // SAFETY: the node is new, and its kind was made for this cell's actor.
        unsafe { cell.core.carry_mail(cell, node) }
    };
    offer_or(cell, kind, message, run, carry)
}

/// As [`offer`]; `carry` has the node brought to an actor that lives elsewhere, or gives it back.
#[inline(always)]
pub(super) fn offer_or<P: Send>(
    cell: &CellRef,
    kind: &'static Kind,
    message: P,
    run: impl Fn(&CellRef, Ready),
    carry: impl FnOnce(NonNull<Node>) -> Result<(), NonNull<Node>>,
) -> Result<(), P> {
    let header: &Header = cell;
    let node = Node::new(kind, message);
    let push = match header.reach() {
        Reach::Shared => {
            // SAFETY: the node was made of a `P`, and is the caller's again.
            let withdrawn = |node| unsafe { Node::hollow::<P>(node, Hollow::<P>::KIND) };
            // SAFETY: the node is new, and its kind was made for this cell's actor.
            match unsafe { header.inbox.push_in_time(node, withdrawn) } {
                Ok(push) => push,
                Err((push, message)) => return Err(settle_late(cell, push, run, message)),
            }
        }
        // SAFETY: as above; the actor lives on this thread, and so ends between what this thread does.
        Reach::Home => unsafe { header.inbox.push_home(node) },
        // SAFETY: the node was made of a `P`.
        Reach::Away => return unsafe { bring(node, carry) },
    };
    if push != Push::Queued {
        settle(cell, push, run);
    }
    Ok(())
}

/// Has a node brought to where its receiver lives; apart, so that the way to neighbours keeps no registers for it.
///
/// # Safety
/// The node was made of a `P`, and is whole when it is given back.
#[inline(never)]
unsafe fn bring<P>(
    node: NonNull<Node>,
    carry: impl FnOnce(NonNull<Node>) -> Result<(), NonNull<Node>>,
) -> Result<(), P> {
    // SAFETY: the caller's promise.
    carry(node).map_err(|node| unsafe { Node::into_payload(node) })
}

/// What is left in the lane of a message that came too late for an actor that was ending.
struct Hollow<P>(PhantomData<P>);

impl<P> Hollow<P> {
    const KIND: &'static Kind = &Kind {
        // It is no user's message: its sender has it.
        lane: Lane::Signal,
        deliver: |_, _| {},
        discard: |_| {},
        weigh: None,
        block: Node::block::<P>(),
        name: || "withdrawn",
        type_id: TypeId::of::<Withdrawn>,
        answers: false,
    };
}

/// The type by which hollow nodes are known.
struct Withdrawn;

/// Whether a node of that kind is what is left of a message that its sender has.
pub(in crate::actor) fn is_withdrawn(kind: &Kind) -> bool {
    (kind.type_id)() == TypeId::of::<Withdrawn>()
}

/// Puts a node of the runtime's own into the user lane, also of a closed mailbox, and sees that the actor runs.
pub(in crate::actor) fn push_node(
    cell: &CellRef,
    node: NonNull<Node>,
    run: impl Fn(&CellRef, Ready),
) {
    let header: &Header = cell;
    let push = match header.reach() {
        // SAFETY: the node is new, and its kind was made for this cell's actor.
        Reach::Shared => unsafe { header.inbox.push(node) },
        // SAFETY: as above; the actor lives on this thread.
        Reach::Home => unsafe { header.inbox.push_home(node) },
        Reach::Away => {
            // SAFETY: as for `Shared`.
            let carried = unsafe { cell.core.carry_mail(cell, node) };
            return carried.expect("only a user's message is refused");
        }
    };
    if push != Push::Queued {
        settle(cell, push, run);
    }
}

/// As [`settle`], for a push whose message was withdrawn.
#[cold]
fn settle_late<P>(cell: &CellRef, push: Push, run: impl Fn(&CellRef, Ready), message: P) -> P {
    if push != Push::Queued {
        settle(cell, push, run);
    }
    message
}

/// Does what the taker of a token has to do: lets the actor run, or, if it has ended, buries what was
/// sent.
#[inline(never)]
fn settle(cell: &CellRef, push: Push, run: impl Fn(&CellRef, Ready)) {
    if push == Push::Woke {
        // SAFETY: `Woke` says that this thread took the token.
        run(cell, unsafe { Ready::new(cell.as_ptr()) });
    } else {
        // SAFETY: `Dead` says that this thread took the token of an actor that has ended.
        unsafe { Held::new(cell.as_ptr()) }.bury();
    }
}

#[cold]
fn note_refusal(cell: &CellRef) {
    cell.core.events.counters.rejected_closed.add_one();
}

pub(in crate::actor) fn refuse_closed<P>(cell: &CellRef, message: P) -> TellError<P> {
    note_refusal(cell);
    TellError::Closed(message)
}
