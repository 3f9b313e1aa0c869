//! Telling in time: a message with a deadline.

use super::{Tell, Telling, push, run_soon};
use crate::actor::error::TellError;
use crate::actor::room::{Apart, tell_bounded, try_send_bounded};
use crate::actor::traits::Message;
use crate::actor::wakeup::Wakeup;
use crate::queue::node::Kind;
use crate::task::cell::CellRef;
use crate::time::Time;
use std::fmt;
use std::future::{Future, IntoFuture};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

/// A message on its way, and the time after which it is for nothing.
#[derive(Debug)]
pub(in crate::actor) struct Dated<M> {
    pub(in crate::actor) deadline: Time,
    pub(in crate::actor) message: M,
}

#[diagnostic::do_not_recommend]
impl<M: Message> Message for Dated<M> {
    type Reply = ();

    fn heap_bytes(&self) -> usize {
        self.message.heap_bytes()
    }
}

/// A message with a deadline about to be told; see [`Tell::within`]. It is sent by `.await`,
/// `.try_send()` or `.tell()`, as [`Tell`] is.
#[must_use = "nothing is sent before `.await`, `.try_send()` or `.tell()`"]
pub struct TellWithin<'a, M: Message> {
    cell: &'a CellRef,
    kind: &'static Kind,
    dated: Dated<M>,
}

impl<'a, M: Message> TellWithin<'a, M> {
    pub(super) fn new(tell: Tell<'a, M>, timeout: Duration) -> Self {
        let Tell { cell, dispatch, message } = tell;
        let deadline = cell.core.clock.now().after(timeout);
        Self { cell, kind: &dispatch.dated, dated: Dated { deadline, message } }
    }

    /// Sends at once or not at all. Does not block, does not allocate in steady state.
    ///
    /// # Errors
    /// Those of [`Tell::try_send`].
    pub fn try_send(self) -> Result<(), TellError<M>> {
        let Self { cell, kind, dated } = self;
        let sent = match cell.inbox.is_free() {
            true => push(cell, kind, dated, run_soon).map_err(TellError::Closed),
            false => try_send_bounded(cell, kind, Apart(dated)),
        };
        sent.map_err(undated)
    }

    /// Sends at once, and lets the receiver's declared policy decide when its mailbox is full. Does
    /// not block, does not allocate in steady state.
    ///
    /// # Errors
    /// Those of [`Tell::tell`].
    pub fn tell(self) -> Result<(), TellError<M>> {
        let Self { cell, kind, dated } = self;
        let sent = match cell.inbox.is_free() {
            true => push(cell, kind, dated, run_soon).map_err(TellError::Closed),
            false => tell_bounded(cell, kind, Apart(dated)),
        };
        sent.map_err(undated)
    }
}

fn undated<M>(error: TellError<Dated<M>>) -> TellError<M> {
    error.map(|dated| dated.message)
}

impl<M: Message> fmt::Debug for TellWithin<'_, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TellWithin({} to {})", (self.kind.name)(), self.cell.actor_id())
    }
}

impl<'a, M: Message> IntoFuture for TellWithin<'a, M> {
    type Output = Result<(), TellError<M>>;
    type IntoFuture = TellingWithin<'a, M>;

    fn into_future(self) -> TellingWithin<'a, M> {
        let deadline = self.dated.deadline;
        let telling = Telling::new(self.cell, self.kind, self.dated);
        TellingWithin { telling, deadline, wakeup: Wakeup::new(self.cell) }
    }
}

/// The future of an awaited [`TellWithin`]: waits for room until the deadline, then gives the message
/// back ([`TellError::Expired`]).
///
/// # Cancel safety
/// Dropped before it is ready, it has not sent the message, which is dropped with it.
#[must_use = "futures do nothing unless polled"]
pub struct TellingWithin<'a, M: Message> {
    telling: Telling<'a, Dated<M>>,
    deadline: Time,
    wakeup: Wakeup<'a>,
}

impl<M: Message> Future for TellingWithin<'_, M> {
    type Output = Result<(), TellError<M>>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        if let Poll::Ready(sent) = Pin::new(&mut this.telling).poll(cx) {
            return Poll::Ready(sent.map_err(undated));
        }
        // The task may be another one than before.
        if !this.wakeup.set(this.deadline, cx.waker())
            && let Some(dated) = this.telling.give_up()
        {
            return Poll::Ready(Err(TellError::Expired(dated.message)));
        }
        Poll::Pending
    }
}

impl<M: Message> fmt::Debug for TellingWithin<'_, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.telling.fmt(f)
    }
}
