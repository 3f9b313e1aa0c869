//! What stands in for an actor of another node, as the layers above make use of it.
//!
//! A proxy is an actor of this system, so everything that works on references works on it. What it cannot do
//! for the actor that it stands for is refused: it is not ended by others, and its death concerns this node alone.

use super::address::Ref;
use super::context::tell_of_end;
use super::control::{Order, send};
use super::dispatch::drop_payload;
use super::extras::Down;
use super::phase::{Ending, reason};
use super::tell::{push_node, run_soon};
use super::traits::Protocol;
use crate::event::{ExitReason, Undelivered};
use crate::queue::node::{Kind, Lane, Node};
use crate::queue::oneshot;
use crate::sync::planted;
use crate::task::held::Held;

impl<P: Protocol> Ref<P> {
    /// Ends an actor that never restarts, for `reason`. Nothing happens if it is ending.
    pub(crate) fn end_with(&self, reason: ExitReason) {
        send(self.cell(), Order::Fail { incarnation: 0, reason });
    }

    /// Drops `value` when the actor has handled all mail that was accepted before, or has ended. No bound holds
    /// it back.
    pub(crate) fn drop_behind<T: Send + 'static>(&self, value: T) {
        push_node(self.cell(), Node::new(DropBehind::<T>::KIND, value), run_soon);
    }

    /// Calls `tell` when the actor has ended for good, or at once if it has.
    pub(crate) fn when_ended(&self, tell: impl FnOnce(Down) + Send + 'static) {
        tell_of_end(self.cell(), Box::new(tell));
    }
}

/// Runs `drop_mail`, which drops what an actor has not handled when it ends. Who asks one of another node hears that
/// the question was not sent: because the actor had ended, or else the connection, or this system ends it.
pub(super) fn dropping<R>(held: &mut Held, drop_mail: impl FnOnce(&mut Held) -> R) -> R {
    if planted!("net-waiting-unanswered": !held.cell().vtable.distant => true) {
        return drop_mail(held);
    }
    let has_failed = Ending::of(held) == Ending::Failed;
    let why = match reason(held) {
        ExitReason::NodeDown => Undelivered::NodeDown,
        _ if has_failed => Undelivered::NoSuchActor,
        _ => Undelivered::NodeDown,
    };
    oneshot::dropping_for(why.code(), || drop_mail(held))
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
        block: Some(Node::block::<T>()),
        name: std::any::type_name::<T>,
        type_id: std::any::TypeId::of::<()>,
    };
}
