//! References to actors.

use super::ask::{Ask, Asked, Plain};
use super::body;
use super::control::{End, Order, send, send_end};
use super::dispatch::{self, Dispatch};
use super::error::MigrateError;
use super::reply::Reply;
use super::tell::Tell;
use super::traits::{Behavior, ByMacro, Calls, Message, Protocol, Receive};
use super::until_end::UntilEnd;
use crate::event::ActorId;
use crate::mailbox::{Bound, Pressure};
use crate::task::cell::CellRef;
use crate::task::home::Home;
use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;

/// The narrowest reference: to any actor that receives `M`, whatever its type.
///
/// Cloning counts a reference. Sending to an actor that has ended gives the message back.
pub struct Recipient<M: Message> {
    cell: CellRef,
    dispatch: &'static Dispatch,
    receives: PhantomData<fn(M)>,
}

impl<M: Message> Recipient<M> {
    pub(crate) fn new(cell: CellRef, dispatch: &'static Dispatch) -> Self {
        Self { cell, dispatch, receives: PhantomData }
    }

    pub(crate) fn cell(&self) -> &CellRef {
        &self.cell
    }

    /// Tells the actor `message`; see [`Tell`] for the four ways to send it.
    #[inline]
    pub fn tell(&self, message: M) -> Tell<'_, M> {
        Tell::new(&self.cell, self.dispatch, message)
    }

    /// Asks the actor `message` and waits for its reply when awaited.
    #[inline]
    pub fn ask(&self, message: M) -> Ask<'_, Asked<M>, M::Reply> {
        Ask::new(&self.cell, &self.dispatch.ask, |reply| Asked { message, reply })
    }

    /// Asks by a message that carries the reply itself.
    #[inline]
    pub fn call<R: Send + 'static>(&self, message: impl FnOnce(Reply<R>) -> M) -> Ask<'_, M, R> {
        Ask::<M, R, Plain>::new(&self.cell, &self.dispatch.tell, message)
    }

    /// As [`Recipient::call`], where the handler of the message answers when it returns.
    #[doc(hidden)]
    #[inline]
    pub fn question<R: Send + 'static>(
        &self,
        message: impl FnOnce(Reply<R>) -> M,
    ) -> Ask<'_, M, R> {
        Ask::<M, R, Plain>::new(&self.cell, &self.dispatch.call, message)
    }

    /// Which actor it is.
    #[must_use]
    pub fn id(&self) -> ActorId {
        self.cell.actor_id()
    }

    /// How much mail waits for the actor; `None` where nobody counts: it neither
    /// [can be overloaded](crate::Mailbox::overload), nor has its system a
    /// [budget](crate::Builder::budget_messages).
    #[must_use]
    pub fn pressure(&self) -> Option<Pressure> {
        let level = body::bound(&self.cell).and_then(Bound::level)?;
        Some(level.read().into())
    }
}

impl<M: Message> Clone for Recipient<M> {
    fn clone(&self) -> Self {
        Self::new(self.cell.clone(), self.dispatch)
    }
}

impl<M: Message> fmt::Debug for Recipient<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Recipient({})", self.id())
    }
}

impl<M: Message> PartialEq for Recipient<M> {
    /// Whether both lead to the same actor.
    fn eq(&self, other: &Self) -> bool {
        self.cell == other.cell
    }
}

impl<M: Message> Eq for Recipient<M> {}

/// A reference to an actor that speaks `P`: the actor's own type, or a protocol made by
/// `#[handlers(api = …)]`.
///
/// It dereferences to the generated calls, so `book.quote(101)` is a method call here too. It stays
/// valid when the actor restarts; when the actor has ended, messages come back. Cloning counts a
/// reference; dropping the last one does not end the actor.
pub struct Ref<P: Protocol> {
    calls: P::Calls,
}

impl<P: Protocol> Ref<P> {
    pub(crate) fn from_recipient(recipient: Recipient<P::Message>) -> Self {
        Self { calls: P::Calls::from_recipient(recipient) }
    }

    pub(crate) fn cell(&self) -> &CellRef {
        self.calls.recipient().cell()
    }

    /// The address to which the protocol's messages go.
    pub(crate) fn recipient_of(&self) -> &Recipient<P::Message> {
        self.calls.recipient()
    }

    /// Which actor it is.
    #[must_use]
    pub fn id(&self) -> ActorId {
        self.cell().actor_id()
    }

    /// How much mail waits for the actor; see [`Recipient::pressure`].
    #[must_use]
    pub fn pressure(&self) -> Option<Pressure> {
        self.calls.recipient().pressure()
    }

    /// Ends the actor after the message it is handling; the rest of its mail becomes dead letters.
    /// Returns at once; `false` if it had ended before, or lives on another node, which ends its own.
    pub fn stop(&self) -> bool {
        self.end(End::Stop)
    }

    /// Ends the actor after the mail it has accepted; new mail is refused from now on. Returns at
    /// once; `false` if it had ended before, or lives on another node.
    ///
    /// A message whose sending overlaps this call is handled, or comes back to its sender as `Closed`.
    /// If the actor fails meanwhile, it starts again for the rest of its mail at once, as often as its own
    /// restart policy allows, or else, for a supervised one, its supervisor's. It ends if that start fails.
    ///
    /// Where each actor lives on one worker ([`Scheduler::per_core`](crate::Scheduler::per_core)) the mailbox is closed at
    /// once, but what is in it is the actor's last only when every worker has delivered what was on its way, which one
    /// that is in the middle of a handler has not. So a handler that drains an actor, and blocks its worker until that
    /// has ended, waits for ever; awaiting it is fine.
    pub fn drain(&self) -> bool {
        self.end(End::Drain)
    }

    /// Ends the actor now: a handler that waits is dropped at its await, the stop hook does not run.
    /// Returns at once; `false` if it had ended before, or lives on another node.
    pub fn kill(&self) -> bool {
        self.end(End::Kill)
    }

    fn end(&self, end: End) -> bool {
        !self.cell().vtable.distant && send_end(self.cell(), end)
    }

    /// Lets the actor live on worker `worker`, counted from zero, from its next turn on, where each lives
    /// on one ([`Scheduler::per_core`](crate::Scheduler::per_core)). The order of mail is kept; the
    /// actor rests until every worker has delivered what was on its way, which one that is in the
    /// middle of a long handler delays. Returns at once. Unless it is pinned
    /// ([`Spawn::on`](crate::Spawn::on)), workers may let it move again.
    ///
    /// # Errors
    /// [`MigrateError`]; nothing has changed then.
    pub fn migrate(&self, worker: usize) -> Result<(), MigrateError> {
        let workers = self.cell().core.workers();
        if self.cell().vtable.distant {
            return Err(MigrateError::Elsewhere);
        }
        if self.cell().home() == Home::ANY {
            return Err(MigrateError::NoHome);
        }
        let index = u16::try_from(worker).ok().filter(|_| worker < workers);
        let index = index.ok_or(MigrateError::NoSuchWorker { worker, workers })?;
        if self.is_closed() || !send(self.cell(), Order::Migrate(index)) {
            return Err(MigrateError::Ended);
        }
        Ok(())
    }

    /// Whether the actor accepts no more mail: it is ending or has ended.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.cell().inbox.is_closed()
    }

    /// Waits until the actor has ended for good.
    ///
    /// # Cancel safety
    /// Dropped before it is ready, it leaves nothing behind.
    pub async fn ended(&self) {
        UntilEnd::come(self.cell()).await;
    }
}

impl<A: Behavior> Ref<A> {
    pub(crate) fn from_cell(cell: CellRef) -> Self {
        Self {
            calls: A::Calls::from_recipient(dispatch::recipient::<A, A::Message, ByMacro>(cell)),
        }
    }

    /// The cell, which really is an `A`'s: `Calls` may be written by hand, and hand out another's.
    #[inline]
    fn own_cell(&self) -> &CellRef {
        let cell = self.cell();
        let same = (cell.vtable.type_id)() == std::any::TypeId::of::<A>();
        assert!(
            same,
            "the calls of {} lead to another actor, or to another node, where no hand-written message goes",
            std::any::type_name::<A>()
        );
        cell
    }

    /// Tells the actor a message that it handles by a hand-written [`Handle`](crate::Handle).
    ///
    /// # Panics
    /// When the actor lives on another node: hand-written messages do not go there.
    #[inline]
    pub fn tell<M: Message, Via: 'static>(&self, message: M) -> Tell<'_, M>
    where
        A: Receive<M, Via>,
    {
        Tell::new(self.own_cell(), dispatch::dispatch::<A, M, Via>(), message)
    }

    /// Asks the actor a message that it handles by a hand-written [`Handle`](crate::Handle).
    ///
    /// # Panics
    /// When the actor lives on another node: hand-written messages do not go there.
    #[inline]
    pub fn ask<M: Message, Via: 'static>(&self, message: M) -> Ask<'_, Asked<M>, M::Reply>
    where
        A: Receive<M, Via>,
    {
        Ask::new(self.own_cell(), &dispatch::dispatch::<A, M, Via>().ask, |reply| Asked {
            message,
            reply,
        })
    }

    /// The narrow reference for one message.
    ///
    /// # Panics
    /// When the actor lives on another node: hand-written messages do not go there.
    #[must_use]
    pub fn recipient<M: Message, Via: 'static>(&self) -> Recipient<M>
    where
        A: Receive<M, Via>,
    {
        dispatch::recipient::<A, M, Via>(self.own_cell().clone())
    }

    /// The reference for a protocol that does not name the actor's type.
    #[must_use]
    pub fn api<P: Protocol>(&self) -> Ref<P>
    where
        A: Receive<P::Message, ByMacro>,
    {
        let own: &dyn std::any::Any = self.calls.recipient();
        // A reference to another node leads to what speaks the protocol for the actor.
        let recipient = match own.downcast_ref::<Recipient<P::Message>>() {
            Some(own) => own.clone(),
            None => dispatch::recipient::<A, P::Message, ByMacro>(self.own_cell().clone()),
        };
        Ref { calls: P::Calls::from_recipient(recipient) }
    }
}

impl<P: Protocol> Deref for Ref<P> {
    type Target = P::Calls;

    #[inline]
    fn deref(&self) -> &P::Calls {
        &self.calls
    }
}

impl<P: Protocol> Clone for Ref<P> {
    fn clone(&self) -> Self {
        Self { calls: self.calls.clone() }
    }
}

impl<P: Protocol> fmt::Debug for Ref<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Ref({})", self.id())
    }
}

impl<P: Protocol> PartialEq for Ref<P> {
    /// Whether both lead to the same actor.
    fn eq(&self, other: &Self) -> bool {
        self.cell() == other.cell()
    }
}

impl<P: Protocol> Eq for Ref<P> {}
