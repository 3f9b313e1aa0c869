//! Handing a question on: another actor answers the asker.
//!
//! The question that is handed on has a slot of its own, as every one has. Once it is sent, the slot is passed
//! on to the asker's ([`Receiver::pass`]); the way from the answerer to the asker is then as long as before.

use super::ask::Parts;
use super::dispatch::weight;
use super::error::TellError;
use super::reply::Reply;
use super::room::{Apart, try_send_bounded};
use super::tell::{Room, Sending, poll_send, push, run_soon};
use super::traits::Message;
use super::wakeup::Wakeup;
use crate::event::Undelivered;
use crate::queue::node::Kind;
use crate::queue::oneshot::Receiver;
use crate::sync::planted;
use crate::task::cell::CellRef;
use crate::time::Time;
use std::fmt;
use std::future::{Future, IntoFuture};
use std::pin::Pin;
use std::task::{Context, Poll};

/// A question about to be handed on, by [`Reply::forward`]. Nothing is sent until one of two spellings says how:
///
/// | | mailbox has room | mailbox is full | receiver is overloaded |
/// |---|---|---|---|
/// | `.await` | sent | waits for room, until the asker's deadline | waits until it is relieved, as long |
/// | `.try_send()` | sent | the asker gets [`Refused`](super::AskError::Refused) | sent |
///
/// Where the actor has ended, the asker gets [`Closed`](super::AskError::Closed). Whoever hands a question on is
/// told nothing: it is out of it.
#[must_use = "nothing is handed on before `.await` or `.try_send()`"]
pub struct Forward<'a, P: Message, R> {
    cell: &'a CellRef,
    kind: &'static Kind,
    message: P,
    ends: Ends<R>,
}

impl<'a, P: Message, R> Forward<'a, P, R> {
    pub(super) fn new(ask: Parts<'a, P, R>, reply: Reply<R>) -> Self {
        let Parts { cell, kind, message, receiver, until } = ask;
        let until = planted!("forward-undated": reply.deadline().min(until) => until);
        receiver.set_deadline(until.0);
        Self { cell, kind, message, ends: Ends { receiver, reply } }
    }

    /// Sends at once or not at all. Does not block.
    pub fn try_send(self) {
        let Self { cell, kind, message, ends } = self;
        let sent = if cell.inbox.is_free() {
            push(cell, kind, message, run_soon).map_err(TellError::Closed)
        } else {
            try_send_bounded(cell, kind, Apart(message))
        };
        ends.settle(&sent);
    }
}

impl<'a, P: Message, R: Send + 'static> IntoFuture for Forward<'a, P, R> {
    type Output = ();
    type IntoFuture = Forwarding<'a, P, R>;

    fn into_future(self) -> Forwarding<'a, P, R> {
        let Self { cell, kind, message, ends } = self;
        let wakeup = Wakeup::new(cell);
        Forwarding { cell, kind, message: Some(message), room: None, ends: Some(ends), wakeup }
    }
}

impl<P: Message, R> fmt::Debug for Forward<'_, P, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Forward({} to {})", (self.kind.name)(), self.cell.actor_id())
    }
}

/// Where the answer to the new question arrives, and where that to the old one goes.
struct Ends<R> {
    receiver: Receiver<R>,
    reply: Reply<R>,
}

impl<R> Ends<R> {
    /// Joins them, if the new question is sent; if not, tells the asker.
    fn settle<P>(self, sent: &Result<(), TellError<P>>) {
        match sent {
            Ok(()) => self.reply.pass_to(self.receiver),
            Err(TellError::Closed(_)) => self.reply.undelivered(Undelivered::NoSuchActor),
            Err(TellError::Full(_) | TellError::SystemFull(_) | TellError::Expired(_)) => {
                self.reply.refuse();
            }
        }
    }
}

/// The future of an awaited [`Forward`]: waits for room as long as the asker waits; then the question has expired.
///
/// # Cancel safety
/// Dropped before it is ready, it has not handed the question on; the asker gets
/// [`NoReply`](super::AskError::NoReply).
#[must_use = "futures do nothing unless polled"]
pub struct Forwarding<'a, P: Message, R> {
    cell: &'a CellRef,
    kind: &'static Kind,
    message: Option<P>,
    room: Option<Room<'a>>,
    ends: Option<Ends<R>>,
    wakeup: Wakeup<'a>,
}

impl<P: Message, R> Forwarding<'_, P, R> {
    /// Gives the question up if nobody waits for its answer any more; otherwise looks again at the deadline.
    #[cold]
    fn look_at_the_clock(&mut self, cx: &Context<'_>) -> Poll<()> {
        let Some(ends) = &self.ends else { return Poll::Ready(()) };
        let until = Time(ends.receiver.deadline());
        // The task may be another one than before.
        if !ends.reply.is_abandoned() && self.wakeup.set(until, cx.waker()) {
            return Poll::Pending;
        }
        // Its place among those who wait first: it may be what others wait for.
        self.room = None;
        self.message = None;
        if let Some(ends) = self.ends.take() {
            ends.reply.undelivered(Undelivered::Expired);
        }
        Poll::Ready(())
    }
}

// No field is ever pinned in place: the wait for room has a block of its own.
impl<P: Message, R> Unpin for Forwarding<'_, P, R> {}

impl<P: Message, R> Future for Forwarding<'_, P, R> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        // Who hands a question on does not wait for its answer.
        let sending = const { &Sending { weigh: weight, run: run_soon, is_question: false } };
        let this = self.get_mut();
        let (message, room) = (&mut this.message, &mut this.room);
        let Poll::Ready(sent) = poll_send(this.cell, this.kind, message, room, sending, cx) else {
            return this.look_at_the_clock(cx);
        };
        this.ends.take().expect("a future is not polled after it was ready").settle(&sent);
        Poll::Ready(())
    }
}

impl<P: Message, R> fmt::Debug for Forwarding<'_, P, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Forwarding({} to {})", (self.kind.name)(), self.cell.actor_id())
    }
}
