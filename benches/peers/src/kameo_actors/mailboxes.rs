//! Bounded and unbounded mailboxes, for the programs that are written once for both.

use kameo::Actor;
use kameo::actor::{ActorRef, Spawn};
use kameo::mailbox;
use kameo::message::Message;
use std::future::Future;

/// A kind of mailbox, and the way of sending that suits it.
pub(super) trait Mailbox: Send + Sync + 'static {
    fn spawn<A: Actor<Args = A>>(actor: A) -> ActorRef<A>;
    fn tell<A, M>(to: &ActorRef<A>, message: M) -> impl Future<Output = bool> + Send
    where
        A: Actor + Message<M>,
        M: Send + 'static;
}

pub(super) struct Unbounded;

impl Mailbox for Unbounded {
    fn spawn<A: Actor<Args = A>>(actor: A) -> ActorRef<A> {
        A::spawn_with_mailbox(actor, mailbox::unbounded())
    }

    #[inline]
    async fn tell<A, M>(to: &ActorRef<A>, message: M) -> bool
    where
        A: Actor + Message<M>,
        M: Send + 'static,
    {
        to.tell(message).try_send().is_ok()
    }
}

pub(super) struct Bounded;

impl Mailbox for Bounded {
    fn spawn<A: Actor<Args = A>>(actor: A) -> ActorRef<A> {
        A::spawn(actor)
    }

    #[inline]
    async fn tell<A, M>(to: &ActorRef<A>, message: M) -> bool
    where
        A: Actor + Message<M>,
        M: Send + 'static,
    {
        to.tell(message).send().await.is_ok()
    }
}
