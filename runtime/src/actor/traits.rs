//! What an actor is, and how it receives.

use super::address::Recipient;
use super::context::Context;
use super::error::StartError;
use super::options::Options;
use crate::event::ExitReason;
use std::future::{Future, Ready};

/// Something that can be sent to an actor.
///
/// It is moved by value, through a few stack frames of a worker, and so is its answer. Either is 16 KiB at most, which
/// is checked when it compiles: keep what is larger in a `Box` or `Vec`.
///
/// Derive it, with `#[message(reply = Type)]` if it is asked.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a message",
    note = "write `#[derive(greenroom::Message)]` on it, with `#[message(reply = Type)]` if it is asked"
)]
pub trait Message: Send + Sized + 'static {
    /// What an `ask` of it answers.
    type Reply: Send + 'static;

    /// Bytes on the heap that the message owns, for mailboxes bounded by bytes. Must not change
    /// while the message is under way. Derived, it adds up its parts ([`HeapBytes`](super::HeapBytes)), as do the
    /// messages of `#[handlers]`.
    fn heap_bytes(&self) -> usize {
        0
    }
}

/// An actor's settings; derive it.
///
/// An actor is moved by value when it starts, as is what it starts from. Either is 64 KiB at most, which is checked when
/// it compiles: keep what is larger in a `Box` or `Vec`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an actor",
    note = "write `#[derive(greenroom::Actor)]` on it"
)]
pub trait Actor: Send + Sized + 'static {
    /// Mailbox, restart policy and priority.
    const OPTIONS: Options = Options::new();

    /// What a restart starts from: a copy of the arguments, or `None` when there is no restart.
    fn keep_args(args: &<Self as Behavior>::Args) -> Option<<Self as Behavior>::Args>
    where
        Self: Behavior,
    {
        let _ = args;
        None
    }
}

/// A set of calls that an actor answers; `#[handlers]` makes one for the actor, and one more with
/// `api = Name`.
pub trait Protocol: 'static {
    /// One variant per call.
    type Message: Message<Reply = ()>;
    /// One method per call.
    type Calls: Calls<Message = Self::Message>;
}

/// The caller's side of a [`Protocol`]: what a [`Ref`](crate::Ref) dereferences to.
pub trait Calls: Clone + Send + Sync + 'static {
    /// One variant per call.
    type Message: Message<Reply = ()>;
    /// Wraps the address to call.
    fn from_recipient(recipient: Recipient<Self::Message>) -> Self;
    /// The address that is called.
    fn recipient(&self) -> &Recipient<Self::Message>;
}

/// What a handler or hook returns to the runtime: its result, or a future that will have it.
#[derive(Debug)]
pub enum Step<T, F> {
    /// Done at once; no future was built.
    Done(T),
    /// To be polled.
    Later(F),
}

/// How an actor starts and stops; `#[handlers]` writes it.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no handlers",
    note = "write `#[greenroom::handlers]` on an `impl {Self}` block, empty if need be"
)]
pub trait Behavior: Actor + Protocol + Receive<<Self as Protocol>::Message, ByMacro> {
    /// What the start hook takes.
    type Args: Send + 'static;

    /// Makes the actor, at first and at each restart.
    fn start<'a>(
        args: Self::Args,
        cx: &'a mut Context<Self>,
    ) -> Step<Result<Self, StartError>, impl Future<Output = Result<Self, StartError>> + Send + 'a>;

    /// The last thing an incarnation does after it started, also when a handler panicked; a kill
    /// leaves it out.
    fn stop<'a>(
        &'a mut self,
        reason: &'a ExitReason,
        cx: &'a mut Context<Self>,
    ) -> Step<(), impl Future<Output = ()> + Send + 'a> {
        let _ = (reason, cx);
        Step::<(), Ready<()>>::Done(())
    }
}

/// That an actor receives `M`. Write [`Handle`] or [`HandleAsync`] instead of this; `Via` tells which
/// of them, or the macro, it comes from.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not handle `{M}`",
    note = "write `impl greenroom::Handle<{M}> for {Self}`, or add a #[tell] or #[ask] method"
)]
pub trait Receive<M: Message, Via>: Actor {
    /// Whether a question in an `M` is answered when its handler returns, and by nobody else.
    #[doc(hidden)]
    const ANSWERS: bool = false;
    /// Whether an asker that goes cancels the handler.
    #[doc(hidden)]
    const CANCEL: bool = false;

    /// Handles one message.
    fn receive<'a>(
        &'a mut self,
        message: M,
        cx: &'a mut Context<Self>,
    ) -> Step<M::Reply, impl Future<Output = M::Reply> + Send + 'a>;
}

/// Handles `M` at once; written by hand beside `#[handlers]`.
pub trait Handle<M: Message>: Behavior {
    /// Handles one message and returns the reply.
    fn handle(&mut self, message: M, cx: &mut Context<Self>) -> M::Reply;
}

/// Handles `M` in a future that has the actor to itself; written by hand beside `#[handlers]`.
pub trait HandleAsync<M: Message>: Behavior {
    /// Whether an asker that goes cancels the handler, as `#[ask(cancel)]` says it by macro: it is then
    /// dropped at its next await, or does not begin.
    const CANCEL: bool = false;

    /// Handles one message; the output is the reply.
    fn handle<'a>(
        &'a mut self,
        message: M,
        cx: &'a mut Context<Self>,
    ) -> impl Future<Output = M::Reply> + Send + 'a;
}

/// Marks what comes from a hand-written [`Handle`].
#[derive(Debug)]
pub enum BySync {}
/// Marks what comes from a hand-written [`HandleAsync`].
#[derive(Debug)]
pub enum ByAsync {}
/// Marks what comes from `#[handlers]`.
#[derive(Debug)]
pub enum ByMacro {}

impl<A: Handle<M>, M: Message> Receive<M, BySync> for A {
    #[inline(always)]
    fn receive<'a>(
        &'a mut self,
        message: M,
        cx: &'a mut Context<Self>,
    ) -> Step<M::Reply, impl Future<Output = M::Reply> + Send + 'a> {
        Step::<M::Reply, Ready<M::Reply>>::Done(self.handle(message, cx))
    }
}

impl<A: HandleAsync<M>, M: Message> Receive<M, ByAsync> for A {
    const CANCEL: bool = <A as HandleAsync<M>>::CANCEL;

    #[inline(always)]
    fn receive<'a>(
        &'a mut self,
        message: M,
        cx: &'a mut Context<Self>,
    ) -> Step<M::Reply, impl Future<Output = M::Reply> + Send + 'a> {
        Step::Later(self.handle(message, cx))
    }
}
