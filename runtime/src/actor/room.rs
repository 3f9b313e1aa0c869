//! Sending to a mailbox that counts what waits: its bound, the overload of its actor, the system's budget.

use super::admission::Sender;
use super::body;
use super::control::{drop_evicted, drop_replaced};
use super::dispatch::{drop_payload, weight};
use super::error::TellError;
use super::tell::{offer, push_node, refuse_closed, run_soon};
use super::traits::Message;
use crate::event::DeadLetterReason;
use crate::mailbox::{Admission, Bound, Claim, Full, RoomFrom, Slide};
use crate::queue::list::List;
use crate::queue::node::{Kind, Lane, Node};
use crate::task::cell::{CellRef, Header};
use crate::task::current;
use crate::task::held::Held;
use std::ptr::NonNull;
use std::task::Waker;

/// What a message that was not sent is to its sender; it is counted.
pub(super) fn refuse<P>(cell: &CellRef, admission: Admission, message: P) -> TellError<P> {
    let rejected_full = &cell.core.events.counters.rejected_full;
    match admission {
        Admission::Closed => refuse_closed(cell, message),
        Admission::SystemFull => {
            rejected_full.add_one();
            TellError::SystemFull(message)
        }
        // Who is held back waits, and who is admitted is not refused.
        Admission::Full | Admission::Held | Admission::Admitted => {
            rejected_full.add_one();
            TellError::Full(message)
        }
    }
}

/// How an awaited message goes in now, if it does: `is_question`, whatever the overload.
#[inline(always)]
pub(super) fn claim(cell: &CellRef, bound: &Bound, is_question: bool, waker: &Waker) -> Claim {
    match bound.level() {
        None => Claim::AT_ONCE,
        Some(_) => claim_of_sender(cell, is_question, waker),
    }
}

#[inline(never)]
fn claim_of_sender(cell: &CellRef, is_question: bool, waker: &Waker) -> Claim {
    Sender::of(waker, &cell.core).claim(is_question)
}

/// Sends to a mailbox that counts, if the message may go in now; whether that it may not matters is the
/// caller's to say and to count.
pub(super) fn try_bounded<P: Send + 'static>(
    cell: &CellRef,
    bound: &Bound,
    kind: &'static Kind,
    message: P,
    bytes: usize,
    claim: Claim,
) -> Result<(), (Admission, P)> {
    if bound.has_window() {
        return match bound.enter(cell, bytes, claim) {
            Admission::Admitted => slide_in(cell, bound, kind, message, bytes, RoomFrom::Rest),
            refused => Err((refused, message)),
        };
    }
    let mut admission = bound.try_admit(bytes);
    if admission == Admission::Admitted {
        admission = bound.enter(cell, bytes, claim);
        if admission != Admission::Admitted {
            bound.release(bytes);
        }
    }
    match admission {
        Admission::Admitted => push_admitted(cell, bound, kind, message, bytes),
        refused => Err((refused, message)),
    }
}

/// A message in a place of its own. What a function is handed by address must lie in memory; so the sender
/// would write it there first for the mailboxes that do not count, too.
pub(super) struct Apart<M>(pub(super) M);

/// Sends at once, or not at all, to a mailbox that was not found free.
#[inline(never)]
pub(super) fn try_send_bounded<M: Message>(
    cell: &CellRef,
    kind: &'static Kind,
    Apart(message): Apart<M>,
) -> Result<(), TellError<M>> {
    let Some(bound) = body::bound(cell) else { return Err(refuse_closed(cell, message)) };
    let bytes = bound.weigh(|| weight(&message));
    try_bounded(cell, bound, kind, message, bytes, Claim::AT_ONCE)
        .map_err(|(refused, message)| refuse(cell, refused, message))
}

/// Sends a message whose room is taken, and which is counted.
#[inline]
pub(super) fn push_admitted<P: Send + 'static>(
    cell: &CellRef,
    bound: &Bound,
    kind: &'static Kind,
    message: P,
    bytes: usize,
) -> Result<(), (Admission, P)> {
    if bound.has_window() {
        return slide_in(cell, bound, kind, message, bytes, RoomFrom::Wait);
    }
    offer(cell, kind, message, run_soon).map_err(|message| {
        bound.leave(cell, bytes);
        bound.release(bytes);
        (Admission::Closed, message)
    })
}

/// Sends a message of `bytes`, which is counted, through the window.
fn slide_in<P: Send + 'static>(
    cell: &CellRef,
    bound: &Bound,
    kind: &'static Kind,
    message: P,
    bytes: usize,
    room: RoomFrom,
) -> Result<(), (Admission, P)> {
    if cell.inbox.is_closed() {
        bound.leave(cell, bytes);
        if room == RoomFrom::Wait {
            bound.release(bytes);
        }
        return Err((Admission::Closed, message));
    }
    let node = Node::new(kind, message);
    let mut pushed_out = List::new();
    let slide = bound.slide_in(node, bytes, room, &mut pushed_out);
    while let Some(oldest) = pushed_out.pop_front() {
        drop_oldest(cell, oldest);
    }
    let refused = match slide {
        Slide::In => return Ok(()),
        Slide::InWithTicket => {
            push_node(cell, Node::new(&TICKET, ()), run_soon);
            return Ok(());
        }
        Slide::Full => Admission::Full,
        Slide::Closed => Admission::Closed,
    };
    bound.leave(cell, bytes);
    // SAFETY: the window did not take the node.
    Err((refused, unsafe { Node::into_payload(node) }))
}

/// Reports and drops a message that the window has let go, to make room.
fn drop_oldest(cell: &CellRef, oldest: NonNull<Node>) {
    // SAFETY: the window gave the node away.
    report_dropped(cell, unsafe { Node::kind(oldest) }, DeadLetterReason::DroppedOldest);
    drop_evicted(cell, oldest);
}

/// As [`try_bounded`], and the oldest messages make room, also in the system's budget.
fn push_oldest_out<M: Message>(
    cell: &CellRef,
    bound: &Bound,
    kind: &'static Kind,
    message: M,
) -> Result<(), (Admission, M)> {
    let bytes = bound.weigh(|| weight(&message));
    match bound.enter(cell, bytes, Claim::AT_ONCE) {
        Admission::Admitted => slide_in(cell, bound, kind, message, bytes, RoomFrom::Oldest),
        Admission::SystemFull if !is_too_large(cell, bound, bytes) => {
            replace_oldest(cell, bound, kind, message, bytes)
        }
        refused => Err((refused, message)),
    }
}

/// Sends a message of `bytes` that has the room of the oldest, and their part of the system's budget.
fn replace_oldest<M: Message>(
    cell: &CellRef,
    bound: &Bound,
    kind: &'static Kind,
    message: M,
    bytes: usize,
) -> Result<(), (Admission, M)> {
    let node = Node::new(kind, message);
    let mut replaced = List::new();
    let slide = bound.replace_oldest(cell, node, bytes, &mut replaced);
    while let Some(oldest) = replaced.pop_front() {
        // SAFETY: the window gave the node away.
        report_dropped(cell, unsafe { Node::kind(oldest) }, DeadLetterReason::DroppedOldest);
        drop_replaced(oldest);
    }
    let refused = match slide {
        Slide::In | Slide::InWithTicket => return Ok(()),
        Slide::Full => Admission::SystemFull,
        Slide::Closed => Admission::Closed,
    };
    // SAFETY: the window did not take the node.
    Err((refused, unsafe { Node::into_payload(node) }))
}

/// Whether a message of so many bytes could not go in, whatever makes room.
fn is_too_large(cell: &CellRef, bound: &Bound, bytes: usize) -> bool {
    let budget = cell.core.budget.as_ref();
    bound.is_too_large(bytes) || budget.is_some_and(|budget| budget.is_too_large(bytes))
}

/// Sends by the declared policy to a mailbox that was not found free.
#[cold]
pub(super) fn tell_bounded<M: Message>(
    cell: &CellRef,
    kind: &'static Kind,
    Apart(message): Apart<M>,
) -> Result<(), TellError<M>> {
    let Some(bound) = body::bound(cell) else { return Err(refuse_closed(cell, message)) };
    let sent = if bound.has_window() {
        push_oldest_out(cell, bound, kind, message)
    } else {
        let bytes = bound.weigh(|| weight(&message));
        try_bounded(cell, bound, kind, message, bytes, Claim::AT_ONCE)
    };
    match sent {
        Err((Admission::Full | Admission::SystemFull, _))
            if bound.when_full() == Full::DropNewest =>
        {
            report_dropped(cell, kind, DeadLetterReason::DroppedNewest);
            Ok(())
        }
        sent => sent.map_err(|(refused, message)| refuse(cell, refused, message)),
    }
}

fn report_dropped(cell: &Header, kind: &'static Kind, reason: DeadLetterReason) {
    cell.core.events.dead_letter(cell.actor_id(), (kind.name)(), reason);
}

/// Stands in the lane for whatever is oldest in the window.
pub(super) static TICKET: Kind = Kind {
    // It is no user's message: nobody misses it.
    lane: Lane::Signal,
    deliver: redeem,
    discard: drop_payload::<()>,
    weigh: None,
    block: Node::block::<()>(),
    name: || "ticket",
    type_id: std::any::TypeId::of::<()>,
    answers: false,
};

/// # Safety
/// `to` is a cell whose token the caller holds.
unsafe fn redeem(to: NonNull<()>, _ticket: NonNull<Node>) {
    // SAFETY: the caller holds the token, so the cell is live.
    let cell = unsafe { CellRef::to(to.cast::<Header>()) };
    let Some((node, more)) = body::bound(&cell).and_then(Bound::slide_out) else { return };
    if more {
        push_node(&cell, Node::new(&TICKET, ()), run_soon);
    }
    // SAFETY: the window gave the node away; it was made for this cell.
    let kind = unsafe { Node::kind(node) };
    let _block = Redeemed { cell: &cell, node, kind };
    // SAFETY: as above.
    unsafe { (kind.deliver)(to, node) };
    // SAFETY: as above: this is still the run that holds the token.
    if let Some(pending) = &mut unsafe { Held::new(to.cast::<Header>()) }.owner().pending {
        pending.belongs_to(Some(kind), current::deadline());
    }
}

/// Gives the block of a delivered node back, and reports the message if its handler panics.
struct Redeemed<'a> {
    cell: &'a Header,
    node: NonNull<Node>,
    kind: &'static Kind,
}

impl Drop for Redeemed<'_> {
    fn drop(&mut self) {
        if crate::sync::thread::panicking() {
            self.cell.report_crashed(self.kind);
        }
        // SAFETY: the node is in no lane, and its payload was moved out.
        unsafe { Node::recycle(self.node) };
    }
}
