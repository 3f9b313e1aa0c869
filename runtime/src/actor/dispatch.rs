//! From a node back to a typed handler.
//!
//! For each actor and message type there is one constant table of functions. A reference carries the
//! table, so a message finds its handler by one indirect call, and a reference need not name the
//! actor's type.

use super::address::Recipient;
use super::ask::Asked;
use super::body;
use super::context::Context;
use super::handling::Handling;
use super::life::report_bad_drop;
use super::reply::{Reply, report_unhandled, while_asked};
use super::signal::discard_signal;
use super::size::limit_message;
use super::tell::Dated;
use super::traits::{Message, Receive, Step};
use crate::event::{DeadLetterReason, Event};
use crate::mailbox::Bound;
use crate::queue::node::{Kind, Lane, Node};
use crate::sync::panic::quietly;
use crate::sync::planted;
use crate::task::cell::{CellRef, Header};
use crate::task::current;
use crate::task::future::Pending;
use crate::task::held::Held;
use crate::time::Time;
use std::any::TypeId;
use std::fmt;
use std::future::{Future, poll_fn};
use std::marker::PhantomData;
use std::pin::pin;
use std::ptr::NonNull;

/// Calls, in a function of its own.
#[doc(hidden)]
#[inline(never)]
pub fn apart(run: impl FnOnce()) {
    run();
}

/// How an actor receives `M`.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Dispatch {
    /// Told.
    pub(crate) tell: Kind,
    /// Asked, with the reply beside the message.
    pub(crate) ask: Kind,
    /// Asked by a message of the actor's own protocol, which holds the reply.
    pub(crate) call: Kind,
    /// Told, and put aside by its receiver.
    stashed: Kind,
    /// As `stashed`, with a deadline beside the message.
    stashed_in_time: Kind,
    /// Told, with a deadline beside the message.
    pub(crate) dated: Kind,
}

/// The table of one actor and message type.
struct Table<A, M, Via>(PhantomData<(A, M, Via)>);

impl<A: super::Behavior + Receive<M, Via>, M: Message, Via: 'static> Table<A, M, Via> {
    const TELL: Kind = Kind {
        lane: Lane::User,
        deliver: told::<A, M, Via>,
        discard: drop_payload::<M>,
        weigh: Some(weigh_payload::<M>),
        block: Node::block::<M>(),
        name: std::any::type_name::<M>,
        type_id: TypeId::of::<M>,
        answers: false,
    };

    const DISPATCH: Dispatch = Dispatch {
        tell: Self::TELL,
        ask: Kind {
            deliver: asked::<A, M, Via>,
            discard: drop_payload::<Asked<M>>,
            weigh: Some(weigh_payload::<Asked<M>>),
            block: Node::block::<Asked<M>>(),
            type_id: TypeId::of::<Asked<M>>,
            answers: true,
            ..Self::TELL
        },
        stashed: Kind {
            deliver: told_again::<A, M, Via>,
            discard: discard_signal::<M>,
            weigh: None,
            block: Node::NO_BLOCK,
            ..Self::TELL
        },
        stashed_in_time: Kind {
            deliver: told_again_in_time::<A, M, Via>,
            discard: discard_signal::<Dated<M>>,
            weigh: None,
            block: Node::NO_BLOCK,
            type_id: TypeId::of::<Dated<M>>,
            ..Self::TELL
        },
        call: Kind { answers: <A as Receive<M, Via>>::ANSWERS, ..Self::TELL },
        dated: Kind {
            deliver: told_in_time::<A, M, Via>,
            discard: drop_payload::<Dated<M>>,
            weigh: Some(weigh_payload::<Dated<M>>),
            block: Node::block::<Dated<M>>(),
            type_id: TypeId::of::<Dated<M>>,
            ..Self::TELL
        },
    };
}

/// How an `A` receives `M`.
pub(crate) fn dispatch<A: super::Behavior + Receive<M, Via>, M: Message, Via: 'static>()
-> &'static Dispatch {
    const { limit_message::<M>() };
    const { &Table::<A, M, Via>::DISPATCH }
}

/// The address of an `A` for `M`.
pub(crate) fn recipient<A, M, Via>(cell: CellRef) -> Recipient<M>
where
    A: super::Behavior + Receive<M, Via>,
    M: Message,
    Via: 'static,
{
    Recipient::new(cell, dispatch::<A, M, Via>())
}

/// Bytes that a message counts for in a mailbox bounded by bytes.
pub(crate) fn weight<M: Message>(message: &M) -> usize {
    size_of::<M>().saturating_add(message.heap_bytes())
}

/// # Safety
/// The caller owns `node`, whose payload is an `M`.
unsafe fn weigh_payload<M: Message>(node: NonNull<Node>) -> usize {
    // SAFETY: the caller's promise.
    unsafe { Node::with_payload(node, weight::<M>) }
}

/// Takes a message out of its node, and gives its room in the mailbox back.
///
/// # Safety
/// The caller holds the token of `to`, and owns `node`, whose payload is an `M`.
#[inline(always)]
unsafe fn take<M: Message>(to: NonNull<Header>, node: NonNull<Node>) -> M {
    // SAFETY: the caller holds the token, so the cell is live.
    let cell = unsafe { CellRef::lent(to) };
    match body::bound(&cell) {
        // SAFETY: the caller's promise.
        None => unsafe { Node::take_payload(node) },
        // SAFETY: the caller's promise.
        Some(bound) => unsafe { take_counted(&cell, bound, node) },
    }
}

/// # Safety
/// As [`take`].
#[inline(never)]
unsafe fn take_counted<M: Message>(to: &CellRef, bound: &Bound, node: NonNull<Node>) -> M {
    // SAFETY: the caller's promise.
    let message = unsafe { Node::take_payload(node) };
    let bytes = bound.weigh(|| weight(&message));
    // Before its room is another's, so that the count does not pass the bound.
    bound.leave(to, bytes);
    bound.taken_out(bytes);
    message
}

unsafe fn told<A: super::Behavior + Receive<M, Via>, M: Message, Via>(
    to: NonNull<()>,
    node: NonNull<Node>,
) {
    let header = to.cast::<Header>();
    // SAFETY: the caller holds the token, so the cell is live.
    if unsafe { header.as_ref() }.inbox.is_bounded() {
        // SAFETY: the caller's promise.
        return unsafe { told_counted::<A, M, Via>(header, node) };
    }
    // SAFETY: the caller holds the token, the actor runs, and no handler waits.
    let actor = unsafe { body::live::<A>(header) };
    // SAFETY: as above.
    let context = unsafe { body::context::<A>(header) };
    // Where this is inlined, the handler takes the message out of its node field by field. A copy of the whole would
    // be read in larger pieces than the sender has just written, for which the processor waits.
    // SAFETY: the caller owns the node, whose kind this is; it is taken last, so that nothing that can panic has to
    // drop it.
    let step = actor.receive(unsafe { Node::take_payload::<M>(node) }, context);
    // SAFETY: as above.
    unsafe { finish(header, step) };
}

/// As [`told`], for a mailbox with a bound; apart, so that others need not keep registers for it.
#[inline(never)]
unsafe fn told_counted<A: super::Behavior + Receive<M, Via>, M: Message, Via>(
    header: NonNull<Header>,
    node: NonNull<Node>,
) {
    // SAFETY: the caller holds the token and owns the node, whose kind this is.
    let message = unsafe { take::<M>(header, node) };
    // SAFETY: the caller holds the token, the actor runs, and no handler waits.
    unsafe { receive::<A, M, Via>(header, message) };
}

/// As [`told`], for a message whose node its receiver has made, and which takes no room in the mailbox.
unsafe fn told_again<A: super::Behavior + Receive<M, Via>, M: Message, Via>(
    to: NonNull<()>,
    node: NonNull<Node>,
) {
    // SAFETY: the caller holds the token and owns the node, whose kind this is.
    let message = unsafe { Node::into_payload::<M>(node) };
    // SAFETY: the caller holds the token, the actor runs, and no handler waits.
    unsafe { receive::<A, M, Via>(to.cast(), message) };
}

/// As [`told`], for a message with a deadline.
unsafe fn told_in_time<A: super::Behavior + Receive<M, Via>, M: Message, Via>(
    to: NonNull<()>,
    node: NonNull<Node>,
) {
    let header = to.cast::<Header>();
    // SAFETY: the caller holds the token and owns the node, whose kind this is.
    let dated = unsafe { take::<Dated<M>>(header, node) };
    // SAFETY: the caller holds the token, the actor runs, and no handler waits.
    unsafe { receive_in_time::<A, M, Via>(header, dated) };
}

/// As [`told_again`], for a message with a deadline.
unsafe fn told_again_in_time<A: super::Behavior + Receive<M, Via>, M: Message, Via>(
    to: NonNull<()>,
    node: NonNull<Node>,
) {
    // SAFETY: the caller holds the token and owns the node, whose kind this is.
    let dated = unsafe { Node::into_payload::<Dated<M>>(node) };
    // SAFETY: the caller holds the token, the actor runs, and no handler waits.
    unsafe { receive_in_time::<A, M, Via>(to.cast(), dated) };
}

/// As [`receive`], unless the deadline has passed.
///
/// # Safety
/// As of [`receive`].
unsafe fn receive_in_time<A: super::Behavior + Receive<M, Via>, M: Message, Via>(
    header: NonNull<Header>,
    Dated { deadline, message }: Dated<M>,
) {
    if current::begin_until(deadline) {
        // SAFETY: the caller's promise.
        let actor = unsafe { body::live::<A>(header) };
        // SAFETY: as above.
        let context = unsafe { body::context::<A>(header) };
        let told = ToldUntil::begin(deadline);
        if let Step::Later(future) = receive_apart(actor, message, context) {
            drop(told);
            // SAFETY: as above.
            unsafe { wait(header, told_until(deadline, future)) };
        }
        return;
    }
    // SAFETY: the caller holds the token, so the cell is live.
    let cell = unsafe { header.as_ref() };
    planted!("expired-unreported": report_unhandled::<M>(cell, DeadLetterReason::Expired) => ());
    if !quietly(|| drop(message)) {
        report_bad_drop(cell);
    }
}

/// `handler`, while it is polled under the deadline of the message that it handles.
pub(super) async fn told_until<T>(deadline: Time, handler: impl Future<Output = T>) {
    let mut handler = pin!(handler);
    poll_fn(|cx| {
        let _told = ToldUntil::begin(deadline);
        handler.as_mut().poll(cx)
    })
    .await;
}

/// While it is there, what is put aside has the deadline of the message that is handled.
struct ToldUntil {
    before: Time,
}

impl ToldUntil {
    fn begin(deadline: Time) -> Self {
        Self { before: current::swap_told_until(deadline) }
    }
}

impl Drop for ToldUntil {
    fn drop(&mut self) {
        current::swap_told_until(self.before);
    }
}

/// A node for a message of an `A` to itself that it will get once more, under the deadline of the one that
/// is handled.
pub(super) fn again<A, M, Via>(message: M) -> NonNull<Node>
where
    A: super::Behavior + Receive<M, Via>,
    M: Message,
    Via: 'static,
{
    let dispatch = dispatch::<A, M, Via>();
    match current::told_until() {
        Time::NEVER => Node::new(&dispatch.stashed, message),
        deadline => planted!(
            "stash-undated": Node::new(&dispatch.stashed_in_time, Dated { deadline, message })
                => Node::new(&dispatch.stashed, message)
        ),
    }
}

/// # Safety
/// The caller holds the token of an `A` that runs, and no handler waits.
unsafe fn receive<A: super::Behavior + Receive<M, Via>, M: Message, Via>(
    header: NonNull<Header>,
    message: M,
) {
    // SAFETY: the caller's promise.
    let actor = unsafe { body::live::<A>(header) };
    // SAFETY: as above.
    let context = unsafe { body::context::<A>(header) };
    let step = receive_apart(actor, message, context);
    // SAFETY: as above.
    unsafe { finish(header, step) };
}

/// As [`Receive::receive`], which is inlined, for all but the way of most messages.
#[inline(never)]
fn receive_apart<'a, A: super::Behavior + Receive<M, Via>, M: Message, Via>(
    actor: &'a mut A,
    message: M,
    context: &'a mut Context<A>,
) -> Step<M::Reply, impl Future<Output = M::Reply> + Send + 'a> {
    actor.receive(message, context)
}

/// Leaves the handler of what was told in its cell, if that waits.
///
/// # Safety
/// As [`wait`].
#[inline(always)]
unsafe fn finish<T>(header: NonNull<Header>, step: Step<T, impl Future<Output = T> + Send>) {
    match step {
        Step::Done(_) => {}
        // SAFETY: the caller's promise.
        Step::Later(future) => unsafe { wait(header, Handling::new(future, drop)) },
    }
}

unsafe fn asked<A: super::Behavior + Receive<M, Via>, M: Message, Via>(
    to: NonNull<()>,
    node: NonNull<Node>,
) {
    let header = to.cast::<Header>();
    // SAFETY: the caller holds the token and owns the node, whose kind this is.
    let Asked { message, reply } = unsafe { take::<Asked<M>>(header, node) };
    // SAFETY: the caller holds the token, so the cell is live.
    let cell = unsafe { header.as_ref() };
    let cancel = const { <A as Receive<M, Via>>::CANCEL };
    let Some(reply) = reply.begin::<M>(cancel, || cell) else { return };
    // SAFETY: the caller holds the token, the actor runs, and no handler waits.
    let actor = unsafe { body::live::<A>(header) };
    // SAFETY: as above.
    let context = unsafe { body::context::<A>(header) };
    match receive_apart(actor, message, context) {
        Step::Done(answer) => reply.send(answer),
        Step::Later(future) if cancel => {
            // SAFETY: the cell is live.
            let cell = unsafe { CellRef::to(header) };
            // SAFETY: as above.
            unsafe { wait(header, answer_if_wanted::<M>(cell, reply, future)) }
        }
        // SAFETY: as above.
        Step::Later(future) => unsafe {
            wait(header, Handling::new(future, |answer| reply.send(answer)));
        },
    }
}

/// Answers with what the handler returns, if its asker waits that long.
async fn answer_if_wanted<M: Message>(
    cell: CellRef,
    mut reply: Reply<M::Reply>,
    handler: impl Future<Output = M::Reply>,
) {
    match while_asked(&mut reply, handler).await {
        Some(answer) => reply.send(answer),
        None => report_unhandled::<M>(&cell, DeadLetterReason::Cancelled),
    }
}

/// Leaves a handler's future in its cell.
///
/// # Safety
/// The caller holds the token; the future is `Send` and borrows nothing but the cell.
pub(super) unsafe fn wait(header: NonNull<Header>, future: impl Future<Output = ()>) {
    // SAFETY: the caller's promise; the cell drops the future before what it borrows.
    let pending = unsafe { Pending::new(future) };
    // SAFETY: as above.
    unsafe { Held::new(header) }.owner().pending = Some(pending);
}

/// # Safety
/// The caller owns `node`, whose payload is a `T`.
pub(super) unsafe fn drop_payload<T>(node: NonNull<Node>) {
    // SAFETY: the caller's promise.
    drop(unsafe { Node::take_payload::<T>(node) });
}

/// What a told handler may return: nothing, or a result whose error becomes an
/// [`Event::TellFailed`].
#[diagnostic::on_unimplemented(
    message = "a told handler cannot return `{Self}`",
    label = "return nothing, or a `Result<(), E>` whose error displays",
    note = "use `#[ask]` to answer the caller"
)]
pub trait Told {
    /// Deals with what `handler` returned.
    fn told<A: super::Actor>(self, context: &Context<A>, handler: &'static str);
}

impl Told for () {
    fn told<A: super::Actor>(self, _context: &Context<A>, _handler: &'static str) {}
}

impl<E: fmt::Display> Told for Result<(), E> {
    fn told<A: super::Actor>(self, context: &Context<A>, handler: &'static str) {
        if let Err(error) = self {
            let cell = context.header();
            cell.core.events.counters.tell_failures.add_one();
            let actor = cell.actor_id();
            cell.core.events.emit(|| Event::TellFailed { actor, handler, error: text_of(&error) });
        }
    }
}

/// What an error says; that it cannot, where that panics: whether somebody listens is not to decide whether the
/// actor lives on.
fn text_of(error: &impl fmt::Display) -> String {
    let mut text = String::new();
    if !quietly(|| text = error.to_string()) {
        text.push_str("an error whose text panics");
    }
    text
}
