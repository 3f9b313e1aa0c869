//! Orders to the runtime itself, sent to a cell through its urgent lane.

use super::body::{self, control};
#[cfg(all(feature = "net", not(shuttle)))]
use super::extras::Detour;
use super::extras::Down;
use super::links::Link;
use super::parent::Parent;
use super::watchers::{TentativeWatch, Watcher};
use super::{family, life, links, revival};
use crate::event::{DeadLetterReason, ExitReason};
use crate::queue::node::{Kind, Lane, Node};
use crate::sync::planted;
use crate::task::cell::{CellRef, Header};
use crate::task::held::Held;
use crate::task::letter::Letter;
use std::any::TypeId;
use std::ptr::NonNull;
use std::time::Duration;

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
    /// Somebody wants to know of the end.
    Watch(Watcher),
    /// Somebody wants to know of the end, if that is still so when this comes.
    WatchIfWanted(Box<TentativeWatch>),
    /// And no longer.
    Unwatch {
        /// Which watch.
        id: u64,
        /// Whose, if an actor watches: numbers are one system's own.
        by: Option<CellRef>,
    },
    /// Those who watch are to be told of the end by that way.
    #[cfg(all(feature = "net", not(shuttle)))]
    Detour(Detour),
    /// The wait before the restart to that incarnation is over.
    EndBackoff { incarnation: u32 },
    /// The actor is to live on that worker.
    Migrate(u16),
    /// Something that the incarnation depends on failed, and so it fails.
    Fail { incarnation: u32, reason: ExitReason },
    /// The supervisor restarts the actor: its incarnation is to end, and the actor to wait.
    Suspend { kill: bool },
    /// The supervisor wants the next incarnation, after the delay.
    Revive(Duration),
    /// An incarnation of a supervised child has ended, and the child waits.
    ChildFailed { child: u64, reason: ExitReason },
    /// A supervised child runs again.
    ChildStarted(u64),
    /// A supervised child has ended for good.
    ChildGone(u64),
    /// A supervised child has had the time that it was given when it was last asked to stop.
    ChildLate { child: u64, stops: u32 },
    /// Somebody shares the actor's fate from now on.
    Link {
        /// The link as this actor knows it.
        link: Link,
        /// This actor.
        asked: CellRef,
    },
    /// And no longer.
    Unlink(Link),
    /// The other end of a link has ended.
    LinkEnded {
        /// The link as this actor knows it.
        link: Link,
        /// Why.
        reason: ExitReason,
    },
}

static KIND: Kind = Kind {
    lane: Lane::Control,
    deliver,
    discard,
    weigh: None,
    block: Node::NO_BLOCK,
    name: || "control",
    type_id: TypeId::of::<()>,
    answers: false,
};

/// # Safety
/// `to` is a cell whose token the caller holds, and the caller owns `node`, which is of `KIND`.
unsafe fn deliver(to: NonNull<()>, node: NonNull<Node>) {
    // SAFETY: the caller's promise.
    let order = unsafe { Node::into_payload::<Order>(node) };
    // SAFETY: as above; the runner uses its own value again when this is over.
    let held = &mut unsafe { Held::new(to.cast::<Header>()) };
    match order {
        Order::End(end) => life::end_requested(held, end),
        Order::Watch(watcher) => control(held).extras().watchers.insert(watcher),
        Order::WatchIfWanted(watch) => {
            let TentativeWatch { watcher, is_wanted } = *watch;
            if is_wanted() {
                control(held).extras().watchers.insert(watcher);
            }
        }
        Order::Unwatch { id, by } => {
            if let Some(extras) = &mut control(held).extras {
                extras.watchers.remove(id, by.as_ref());
            }
        }
        #[cfg(all(feature = "net", not(shuttle)))]
        Order::Detour(detour) => control(held).extras().detour = Some(detour),
        Order::Migrate(worker) => held.owner().move_to = worker + 1,
        Order::EndBackoff { incarnation } => revival::end_backoff(held, incarnation),
        Order::Fail { incarnation, reason } => life::fail_incarnation(held, incarnation, reason),
        Order::Suspend { kill } => revival::suspend(held, kill),
        Order::Revive(delay) => revival::revive(held, delay),
        Order::ChildFailed { child, reason } => family::child_failed(held, child, reason),
        Order::ChildStarted(child) => family::child_started(held, child),
        Order::ChildGone(child) => family::child_gone(held, child),
        Order::ChildLate { child, stops } => family::child_late(held, child, stops),
        Order::Link { link, .. } => links::linked(held, link),
        Order::Unlink(link) => links::unlinked(held, &link),
        Order::LinkEnded { link, reason } => links::ended(held, &link, reason),
    }
}

/// # Safety
/// The caller owns `node`, which is of `KIND`.
unsafe fn discard(node: NonNull<Node>) {
    // SAFETY: the caller's promise.
    match unsafe { Node::into_payload::<Order>(node) } {
        Order::Watch(watcher) => tell_at_once(watcher),
        Order::WatchIfWanted(watch) => tell_at_once(watch.watcher),
        Order::Link { link, asked } => links::refuse(&link, asked),
        _ => {}
    }
}

/// Whom it is about has ended.
fn tell_at_once(watcher: Watcher) {
    (watcher.tell)(Down { actor: watcher.target, reason: ExitReason::NoActor });
}

/// Takes a child that has ended from its parent, and wakes a parent that waits for its last one.
pub(super) fn leave_parent(parent: Parent, child: &CellRef) {
    let parent = parent.borrow();
    let mut children = body::children(&parent).lock();
    // SAFETY: the child is in it until now.
    unsafe { children.unlink(child.as_ptr()) };
    let last = children.is_empty() && parent.waits_for_children();
    // Without the lock the parent may end at any time.
    let waiting = last.then(|| CellRef::clone(&parent));
    drop(children);
    if let Some(parent) = waiting {
        parent.wake();
    }
}

/// The children of a cell.
pub(super) fn children(held: &Held) -> Vec<CellRef> {
    body::children(held.cell()).lock().all()
}

/// Sends an order; `false` if the actor had ended.
pub(super) fn send(to: &CellRef, order: Order) -> bool {
    let node = Node::new(&KIND, order);
    // SAFETY: the node is new, and controls fit every cell.
    unsafe { to.push_urgent(node) }
}

/// From here on senders are refused.
#[inline]
pub(super) fn close(to: &CellRef) {
    to.inbox.close();
    if let Some(bound) = body::bound(to) {
        bound.close(to);
    }
}

/// Asks an actor to end.
pub(crate) fn send_end(to: &CellRef, end: End) -> bool {
    // The order itself may take a turn to arrive.
    close(to);
    let node = Node::new(&KIND, Order::End(end));
    match end {
        // SAFETY: the node is new, and controls fit every cell.
        End::Drain => unsafe { to.push_behind(node) },
        // SAFETY: as above.
        End::Stop | End::Kill => unsafe { to.push_urgent(node) },
    }
}

/// An order to be sent later.
pub(super) fn letter(to: CellRef, order: Order) -> Letter {
    let node = Node::new(&KIND, order);
    // SAFETY: the node is new, and controls fit every cell.
    unsafe { Letter::new(to, node) }
}

/// Discards a message that its window has let go.
pub(super) fn discard_evicted(cell: &CellRef, node: NonNull<Node>) {
    // SAFETY: the window gave the node away.
    let kind = unsafe { Node::kind(node) };
    cell.core.events.dead_letter(cell.actor_id(), (kind.name)(), DeadLetterReason::Stopped);
    drop_evicted(cell, node);
}

/// Drops a message that its window has let go, and its block; it counts for nothing any more.
pub(super) fn drop_evicted(cell: &CellRef, node: NonNull<Node>) {
    // SAFETY: the window gave the node away; it is in no lane.
    let kind = unsafe { Node::kind(node) };
    if let (Some(bound), Some(weigh)) = (body::bound(cell), kind.weigh) {
        // SAFETY: as above; the node is of this kind, and has its payload.
        let bytes = bound.weigh(|| unsafe { weigh(node) });
        planted!("budget-kept-by-the-oldest": bound.leave(cell, bytes) => ());
    }
    drop_replaced(node);
}

/// Drops a message that its window has let go, and its block; another one counts instead.
pub(super) fn drop_replaced(node: NonNull<Node>) {
    // SAFETY: the window gave the node away; it is in no lane.
    let kind = unsafe { Node::kind(node) };
    // SAFETY: as above.
    crate::sync::panic::quietly(|| unsafe { (kind.discard)(node) });
    // SAFETY: as above; the payload is gone.
    unsafe { Node::recycle(node) };
}
