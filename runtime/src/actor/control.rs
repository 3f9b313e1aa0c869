//! Orders to the runtime itself, sent to a cell through its urgent lane.

use super::body::control_of;
use super::extras::{Down, Watcher};
use super::life;
use crate::event::{DeadLetterReason, ExitReason};
use crate::queue::node::{Kind, Lane, Node};
use crate::task::cell::{CellRef, Header};
use crate::task::core::{Letter, unlink};
use std::ptr::NonNull;

/// How an actor is to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// After the running message; the rest becomes dead letters.
    Stop,
    /// After all accepted mail.
    Drain,
    /// At the next await.
    Kill,
}

/// What a control node carries.
#[derive(Debug)]
pub(super) enum Order {
    /// Somebody asks for the end.
    End(End),
    /// A child has ended; its own reference comes along.
    ChildEnded(CellRef),
    /// Somebody wants to know of the end.
    Watch(Watcher),
    /// And no longer.
    Unwatch(u64),
    /// The wait before a restart is over.
    EndBackoff,
    /// Something that the actor depends on failed, and so it fails.
    Fail(ExitReason),
}

static KIND: Kind =
    Kind { lane: Lane::Control, deliver, discard, recycle: |_| {}, name: || "control" };

/// # Safety
/// `to` is a cell whose token the caller holds, and the caller owns `node`, which is of `KIND`.
unsafe fn deliver(to: NonNull<()>, node: NonNull<Node>) {
    // SAFETY: the caller's promise.
    let order = unsafe { Node::into_payload::<Order>(node) };
    // SAFETY: as above.
    let cell = unsafe { to.cast::<Header>().as_ref() };
    match order {
        Order::End(end) => life::end_requested(cell, end),
        // SAFETY: as above.
        Order::ChildEnded(child) => unsafe { forget_child(cell, child) },
        Order::Watch(watcher) => {
            // SAFETY: as above.
            unsafe { control_of(cell, |control| control.extras().watchers.push(watcher)) };
        }
        Order::Unwatch(id) => {
            // SAFETY: as above.
            unsafe {
                control_of(cell, |control| {
                    control.extras().watchers.retain(|watcher| watcher.id != id)
                })
            };
        }
        Order::EndBackoff => life::end_backoff(cell),
        Order::Fail(reason) => life::fail_with(cell, reason, true),
    }
}

/// # Safety
/// The caller owns `node`, which is of `KIND`.
unsafe fn discard(node: NonNull<Node>) {
    // SAFETY: the caller's promise.
    if let Order::Watch(watcher) = unsafe { Node::into_payload::<Order>(node) } {
        (watcher.tell)(Down { actor: watcher.target, reason: ExitReason::NoActor });
    }
}

/// # Safety
/// The caller holds the token of `cell`, the child's parent.
unsafe fn forget_child(cell: &Header, child: CellRef) {
    // SAFETY: the list is the token holder's, and the child is in it until now.
    unsafe { control_of(cell, |control| unlink(&mut control.children, child.as_ptr())) };
    drop(child);
}

/// The children of a cell.
///
/// # Safety
/// The caller holds the cell's token.
pub(super) unsafe fn children(cell: &Header) -> Vec<CellRef> {
    let mut cells = Vec::new();
    // SAFETY: the caller's promise.
    let mut next = unsafe { control_of(cell, |control| control.children) };
    while let Some(child) = next {
        // SAFETY: a linked child has not been forgotten, so it is live.
        cells.push(unsafe { CellRef::to(child) });
        // SAFETY: as above; its links are guarded by the parent's token.
        next = unsafe { child.as_ref().links.with(|links| (*links).next) };
    }
    cells
}

/// Sends an order; `false` if the actor had ended.
pub(super) fn send(to: &CellRef, order: Order) -> bool {
    let node = Node::new(&KIND, order);
    // SAFETY: the node is new, and controls fit every cell.
    unsafe { to.push_urgent(node) }
}

/// Asks an actor to end.
pub(crate) fn send_end(to: &CellRef, end: End) -> bool {
    // From here on senders are refused; the order itself may take a turn to arrive.
    to.inbox.close();
    send(to, Order::End(end))
}

/// An order to be sent later.
pub(super) fn letter(to: CellRef, order: Order) -> Letter {
    let node = Node::new(&KIND, order);
    // SAFETY: the node is new, and controls fit every cell.
    unsafe { Letter::new(to, node) }
}

/// Discards a message that its window has let go.
pub(super) fn discard_evicted(cell: &Header, node: NonNull<Node>) {
    // SAFETY: the window gave the node away.
    let kind = unsafe { Node::kind(node) };
    cell.core.events.dead_letter(cell.actor_id(), (kind.name)(), DeadLetterReason::Stopped);
    drop_evicted(node);
}

/// Drops a message that its window has let go, and its block.
pub(super) fn drop_evicted(node: NonNull<Node>) {
    // SAFETY: the window gave the node away; it is in no lane.
    let kind = unsafe { Node::kind(node) };
    // SAFETY: as above.
    crate::task::run::quietly(|| unsafe { (kind.discard)(node) });
    // SAFETY: as above; the payload is gone.
    unsafe { (kind.recycle)(node) };
}
