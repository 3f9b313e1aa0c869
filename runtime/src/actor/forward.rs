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
use crate::event::Undelivered;
use crate::queue::node::Kind;
use crate::queue::oneshot::Receiver;
use crate::sync::planted;
use crate::task::cell::CellRef;
use std::fmt;
use std::future::{Future, IntoFuture};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// A question about to be handed on, by [`Reply::forward`]. Nothing is sent until one of two spellings says how:
///
/// | | mailbox has room | mailbox is full |
/// |---|---|---|
/// | `.await` | sent | waits for room, as an awaited tell does |
/// | `.try_send()` | sent | the asker gets [`Refused`](super::AskError::Refused) |
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
        let sent = if cell.bounded {
            try_send_bounded(cell, kind, Apart(message))
        } else {
            push(cell, kind, message, run_soon).map_err(TellError::Closed)
        };
        ends.settle(&sent);
    }
}

impl<'a, P: Message, R: Send + 'static> IntoFuture for Forward<'a, P, R> {
    type Output = ();
    type IntoFuture = Forwarding<'a, P, R>;

    fn into_future(self) -> Forwarding<'a, P, R> {
        let Self { cell, kind, message, ends } = self;
        Forwarding { cell, kind, message: Some(message), room: None, ends: Some(ends) }
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

/// The future of an awaited [`Forward`].
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
}

// No field is ever pinned in place: the wait for room has its own box.
impl<P: Message, R> Unpin for Forwarding<'_, P, R> {}

impl<P: Message, R> Future for Forwarding<'_, P, R> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        // Who hands a question on does not wait for its answer.
        let sending = const { &Sending { weigh: weight, run: run_soon, is_question: false } };
        let Self { cell, kind, message, room, ends } = self.get_mut();
        let sent = ready!(poll_send(cell, kind, message, room, sending, cx));
        ends.take().expect("a future is not polled after it was ready").settle(&sent);
        Poll::Ready(())
    }
}

impl<P: Message, R> fmt::Debug for Forwarding<'_, P, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Forwarding({} to {})", (self.kind.name)(), self.cell.actor_id())
    }
}
