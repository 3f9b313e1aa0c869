//! What stands in for an actor of another node, as the layers above make use of it.
//!
//! A proxy is an actor of this system, so everything that works on references works on it. What it cannot do
//! for the actor that it stands for is refused: it is not ended by others, and its death concerns this node alone.

use super::address::Ref;
use super::context::{Context, WatchId, tell_no_more, tell_of_end};
use super::control::{Order, send};
use super::dispatch::drop_payload;
use super::extras::{Detour, Down};
use super::tell::{push_node, run_soon};
use super::traits::{Actor, Protocol};
use crate::event::ExitReason;
use crate::queue::node::{Kind, Lane, Node};
use crate::task::cell::Header;
use crate::task::held::Held;
use std::any::TypeId;
use std::ptr::NonNull;

impl<P: Protocol> Ref<P> {
    /// Ends an actor that never restarts, for `reason`, and has the actors told by way of `detour` that watch it, if there is
    /// one. Nothing happens if it is ending.
    pub(crate) fn end_with(&self, reason: ExitReason, detour: Option<Detour>) {
        if let Some(detour) = detour {
            send(self.cell(), Order::Detour(detour));
        }
        send(self.cell(), Order::Fail { incarnation: 0, reason });
    }

    /// Drops `value` when the actor has handled all mail that was accepted before, or has ended, but perhaps not what
    /// others have sent and is on its way between workers. No bound holds it back.
    pub(crate) fn drop_behind<T: Send + 'static>(&self, value: T) {
        push_node(self.cell(), Node::new(DropBehind::<T>::KIND, value), run_soon);
    }

    /// The same, whoever has sent that mail: as slow as a round through all workers.
    pub(crate) fn drop_behind_all<T: Send + 'static>(&self, value: T) {
        let node = Node::new(BehindAll::<T>::KIND, value);
        // SAFETY: the node is new, and what it does fits every cell.
        unsafe { self.cell().push_behind(node) };
    }

    /// Whether anything may have to be handled before a value that [`drop_behind`](Self::drop_behind) is given now, or
    /// [`drop_behind_all`](Self::drop_behind_all) where it is `from_any`. If not, the calling thread sees what was done for it.
    pub(crate) fn may_have_mail(&self, from_any: bool) -> bool {
        self.cell().may_have_mail(from_any)
    }

    /// Calls `tell` when the actor has ended for good, or at once if it has.
    pub(crate) fn when_ended(&self, tell: impl FnOnce(Down) + Send + 'static) -> WatchId {
        tell_of_end(self.cell(), Box::new(tell))
    }

    /// Drops what [`when_ended`](Self::when_ended) was given, unless that was called.
    pub(crate) fn unwatch_end(&self, watch: WatchId) {
        tell_no_more(self.cell(), watch);
    }
}

impl<A: Actor> Context<A> {
    /// Whether the next message that the actor is handed, unless it ends, is an `M` that waits already.
    pub(crate) fn gets_next<M: 'static>(&mut self) -> bool {
        let next = self.held().front();
        next.is_some_and(|kind| kind.lane == Lane::User && (kind.type_id)() == TypeId::of::<M>())
    }
}

struct DropBehind<T>(T);

impl<T: Send + 'static> DropBehind<T> {
    const KIND: &'static Kind = &Kind {
        // It is no user's message: nobody misses it.
        lane: Lane::Signal,
        // SAFETY: the kind is for payloads of this type.
        deliver: |_, node| unsafe { drop_payload::<T>(node) },
        discard: drop_payload::<T>,
        answers: false,
        weigh: None,
        block: Node::block::<T>(),
        name: std::any::type_name::<T>,
        type_id: TypeId::of::<()>,
    };
}

/// Comes when all mail has, and joins it.
struct BehindAll<T>(T);

impl<T: Send + 'static> BehindAll<T> {
    const KIND: &'static Kind = &Kind {
        lane: Lane::Control,
        deliver: Self::deliver,
        // SAFETY: the kind is for payloads of this type.
        discard: |node| drop(unsafe { Node::into_payload::<T>(node) }),
        answers: false,
        weigh: None,
        block: Node::NO_BLOCK,
        name: std::any::type_name::<T>,
        type_id: TypeId::of::<()>,
    };

    /// # Safety
    /// `to` is a cell whose token the caller holds, and the caller owns `node`, which is of this kind.
    unsafe fn deliver(to: NonNull<()>, node: NonNull<Node>) {
        // SAFETY: the caller's promise.
        let value = unsafe { Node::into_payload::<T>(node) };
        // SAFETY: as above; the runner uses its own value again when this is over.
        let held = unsafe { Held::new(to.cast::<Header>()) };
        push_node(held.cell(), Node::new(DropBehind::<T>::KIND, value), run_soon);
    }
}
