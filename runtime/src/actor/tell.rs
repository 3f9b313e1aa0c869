//! Telling: one message, no answer.

mod lane;
mod within;

pub use within::{TellWithin, TellingWithin};

pub(super) use lane::{is_withdrawn, offer, push, push_node, refuse_closed};
pub(super) use within::Dated;

use lane::offer_or;

use super::admission::{self, Sender};
use super::body;
use super::dispatch::{Dispatch, weight};
use super::error::TellError;
use super::room::{
    Apart, claim, push_admitted, refuse, tell_bounded, try_bounded, try_send_bounded,
};
use super::traits::Message;
use crate::mailbox::Admission;
use crate::queue::node::Kind;
use crate::sync::{thread, waker_of_this_thread};
use crate::task::cell::{CellRef, Header};
use crate::task::current;
use crate::task::future::Pending;
use crate::task::{Hint, Ready};
use std::fmt;
use std::future::{Future, IntoFuture};
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

/// A message about to be told. Nothing is sent until one of the four spellings says how:
///
/// | | mailbox has room | mailbox is full | receiver is overloaded |
/// |---|---|---|---|
/// | `.await` | sent | waits for room | waits until it is relieved |
/// | `.wait()` | sent | blocks the thread until there is room | blocks until it is relieved |
/// | `.try_send()` | sent | gives the message back: `Full` | sent |
/// | `.tell()` | sent | what the receiver declared: wait and reject give it back, the drop policies drop | sent |
///
/// A system's budget that is used up is like a full mailbox, and an overload is what
/// [`Mailbox::overload`](crate::Mailbox::overload) declares. [`Tell::within`] gives the message a deadline.
///
/// # Errors
/// Of `.await` and `.wait()`, with the message:
/// - [`TellError::Full`] where no waiting would help: a handler tells its own actor, whose mailbox is full, or the
///   message is larger than the whole mailbox.
/// - [`TellError::SystemFull`] if the message is larger than the system's budget.
/// - [`TellError::Closed`] if the actor has ended or is draining.
/// - With [`Tell::within`] also [`TellError::Expired`], if there was no room before the deadline.
#[must_use = "nothing is sent before `.await`, `.wait()`, `.try_send()` or `.tell()`"]
pub struct Tell<'a, M: Message> {
    cell: &'a CellRef,
    dispatch: &'static Dispatch,
    message: M,
}

impl<'a, M: Message> Tell<'a, M> {
    #[inline]
    pub(super) fn new(cell: &'a CellRef, dispatch: &'static Dispatch, message: M) -> Self {
        Self { cell, dispatch, message }
    }

    /// Gives the message a deadline, `timeout` from now: if its handler has not begun by then, it does not
    /// begin, and the message becomes a dead letter ([`Expired`](crate::DeadLetterReason::Expired)).
    ///
    /// It begins in time by the clock as of its worker's slice, which may be late by as much as a slice takes.
    /// One that its receiver puts aside keeps its deadline. The handler sees it in
    /// [`Context::remaining`](crate::Context::remaining), and what it asks ends by then. Reads the clock; a message
    /// without a deadline costs no more for it.
    ///
    /// # Examples
    /// ```
    /// # use greenroom::{Actor, DeadLetterReason, System, handlers};
    /// # use std::time::Duration;
    /// # #[derive(Actor)]
    /// # struct Screen;
    /// # #[handlers]
    /// # impl Screen {
    /// #     #[tell]
    /// #     async fn draw(&mut self, frame: u32) {
    /// #         tokio::time::sleep(Duration::from_millis(50)).await;
    /// #     }
    /// # }
    /// # #[greenroom::main]
    /// # async fn main(system: System) -> Result<(), Box<dyn std::error::Error>> {
    /// let screen = system.spawn::<Screen>(Screen).await?;
    /// let mut dead_letters = system.dead_letters();
    /// screen.draw(1).await?; // takes 50 ms
    /// screen.draw(2).within(Duration::from_millis(10)).await?; // accepted, and too late for 2
    /// let letter = dead_letters.next().await.expect("the system lives");
    /// assert_eq!(letter.reason, DeadLetterReason::Expired);
    /// # Ok(())
    /// # }
    /// ```
    pub fn within(self, timeout: Duration) -> TellWithin<'a, M> {
        TellWithin::new(self, timeout)
    }

    /// Sends at once or not at all. Does not block, does not allocate in steady state.
    ///
    /// # Errors
    /// [`TellError::Full`], [`TellError::SystemFull`] or [`TellError::Closed`], with the message.
    #[inline(always)]
    pub fn try_send(self) -> Result<(), TellError<M>> {
        let Self { cell, dispatch: Dispatch { tell: kind, .. }, message } = self;
        if cell.inbox.is_free() {
            return push(cell, kind, message, run_soon).map_err(TellError::Closed);
        }
        try_send_bounded(cell, kind, Apart(message))
    }

    /// Sends at once, and lets the receiver's declared policy decide when its mailbox is full. Does
    /// not block, does not allocate in steady state.
    ///
    /// # Errors
    /// [`TellError::Closed`]; and [`TellError::Full`] where the policy is to wait or to reject, the
    /// message is larger than the whole mailbox, or all its room is promised to senders that wait. Of the
    /// system's budget [`TellError::SystemFull`] says the same.
    #[inline(always)]
    pub fn tell(self) -> Result<(), TellError<M>> {
        let Self { cell, dispatch: Dispatch { tell: kind, .. }, message } = self;
        if cell.inbox.is_free() {
            return push(cell, kind, message, run_soon).map_err(TellError::Closed);
        }
        tell_bounded(cell, kind, Apart(message))
    }

    /// Sends as `.await` does, and blocks the thread meanwhile: for plain threads, which need no runtime
    /// for it. Allocates.
    ///
    /// # Errors
    /// Those of an awaited tell.
    ///
    /// # Panics
    /// On a worker, which others need: there a tell is awaited.
    ///
    /// # Examples
    /// ```
    /// use greenroom::{Actor, System, handlers};
    ///
    /// #[derive(Actor)]
    /// #[actor(mailbox = bounded(2))]
    /// struct Sum(u64);
    ///
    /// #[handlers]
    /// impl Sum {
    ///     #[tell]
    ///     fn add(&mut self, number: u64) {
    ///         self.0 += number;
    ///     }
    ///     #[ask]
    ///     fn sum(&self) -> u64 {
    ///         self.0
    ///     }
    /// }
    ///
    /// let system = System::builder().workers(1).build()?;
    /// let sum = system.spawn::<Sum>(Sum(0)).start()?;
    /// for number in 1..=100 {
    ///     sum.add(number).wait()?;
    /// }
    /// assert_eq!(sum.sum().wait()?, 5050);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn wait(self) -> Result<(), TellError<M>> {
        assert!(!current::is_worker(), "`wait` would block a worker: await the tell");
        let mut telling = self.into_future();
        let waker = waker_of_this_thread();
        let mut cx = Context::from_waker(&waker);
        loop {
            if let Poll::Ready(sent) = Pin::new(&mut telling).poll(&mut cx) {
                return sent;
            }
            // It may also end without a reason, which the loop does not mind.
            thread::park();
        }
    }
}

impl<M: Message> fmt::Debug for Tell<'_, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Tell({} to {})", (self.dispatch.tell.name)(), self.cell.actor_id())
    }
}

impl<'a, M: Message> IntoFuture for Tell<'a, M> {
    type Output = Result<(), TellError<M>>;
    type IntoFuture = Telling<'a, M>;

    fn into_future(self) -> Telling<'a, M> {
        Telling::new(self.cell, &self.dispatch.tell, self.message)
    }
}

/// A wait for room, in a recycled block: who is slowed for long begins one for many of its messages.
pub(super) struct Room<'a>(Pending<Admission>, PhantomData<BoxedWait<'a>>);

/// What a wait for room is as if it were.
type BoxedWait<'a> = Box<dyn Future<Output = Admission> + Send + 'a>;

// SAFETY: the future in it is `Send`.
unsafe impl Send for Room<'_> {}

impl<'a> Room<'a> {
    fn new(wait: impl Future<Output = Admission> + Send + 'a) -> Self {
        // SAFETY: the future is `Send`, and what it borrows lives for `'a`, which outlives this value.
        Self(unsafe { Pending::new(wait) }, PhantomData)
    }
}

/// The future of an awaited [`Tell`]: waits for room, then sends. A handler that awaits many of them in a turn
/// gives way now and then, so that the receivers get theirs: after eight times as many as a turn handles, or
/// earlier if its turn's time is over, if the receiver has mail left from its last turn, or if that lives on another
/// worker. And it gives way while the ring to the receiver's worker is full.
///
/// # Cancel safety
/// Dropped before it is ready, it has not sent the message, which is dropped with it.
#[must_use = "futures do nothing unless polled"]
pub struct Telling<'a, M: Message> {
    cell: &'a CellRef,
    kind: &'static Kind,
    // Both are dropped by `drop`, which has one thing to look at when the message was sent.
    message: ManuallyDrop<Option<M>>,
    room: ManuallyDrop<Option<Room<'a>>>,
}

// No field is ever pinned in place: the wait for room has its own box.
impl<M: Message> Unpin for Telling<'_, M> {}

impl<M: Message> Drop for Telling<'_, M> {
    #[inline(always)]
    fn drop(&mut self) {
        if self.message.is_some() {
            self.drop_unsent();
        }
    }
}

impl<'a, M: Message> Telling<'a, M> {
    #[inline(always)]
    fn new(cell: &'a CellRef, kind: &'static Kind, message: M) -> Self {
        let (message, room) = (ManuallyDrop::new(Some(message)), ManuallyDrop::new(None));
        Self { cell, kind, message, room }
    }

    /// Drops the message, and the wait for room, which ends when the message is sent.
    #[cold]
    fn drop_unsent(&mut self) {
        drop(self.give_up());
    }

    /// Ends the wait for room, and takes the message back, if it is not sent.
    fn give_up(&mut self) -> Option<M> {
        drop(self.room.take());
        self.message.take()
    }

    /// Goes on with a message for which the way was full, or which came too late.
    #[cold]
    fn poll_given_back(
        &mut self,
        message: M,
        cx: &mut Context<'_>,
    ) -> Poll<Result<(), TellError<M>>> {
        *self.message = Some(message);
        if self.cell.inbox.is_closed() { self.poll_further(cx) } else { give_way(cx) }
    }

    /// Does what the first poll of a message to an open and unbounded mailbox need not.
    #[inline(never)]
    fn poll_further(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), TellError<M>>> {
        let sending = const { &Sending { weigh: weight, run: run_soon, is_question: false } };
        poll_send(self.cell, self.kind, &mut self.message, &mut self.room, sending, cx)
    }
}

impl<M: Message> Future for Telling<'_, M> {
    type Output = Result<(), TellError<M>>;

    #[inline(always)]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        let header: &Header = this.cell;
        if !current::spend_send(|| header.wants_pause()) {
            return give_way(cx);
        }
        if !header.inbox.is_free() {
            return this.poll_further(cx);
        }
        let Some(message) = this.message.take() else { return this.poll_further(cx) };
        let carry = |node| {
            // SAFETY: the node is new, and its kind was made for this cell's actor.
            unsafe { header.core.carry_mail_when_clear(this.cell, node) }
        };
        let Err(message) = offer_or(this.cell, this.kind, message, run_soon, carry) else {
            return Poll::Ready(Ok(()));
        };
        this.poll_given_back(message, cx)
    }
}

/// Lets others go first: the receiver may be waiting for this very worker, or has too much under way from
/// here.
#[cold]
fn give_way<T>(cx: &Context<'_>) -> Poll<T> {
    current::note_gave_way();
    cx.waker().wake_by_ref();
    Poll::Pending
}

impl<M: Message> fmt::Debug for Telling<'_, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Telling({} to {})", (self.kind.name)(), self.cell.actor_id())
    }
}

/// How a message of one payload type is sent.
pub(super) struct Sending<P> {
    /// What it counts for in a mailbox bounded by bytes.
    pub(super) weigh: fn(&P) -> usize,
    /// How its receiver is run, if the message wakes it.
    pub(super) run: fn(&CellRef, Ready),
    /// Whether the sender waits for an answer, and is slowed by that.
    pub(super) is_question: bool,
}

/// Runs the receiver soon: the sender goes on.
#[inline]
pub(super) fn run_soon(cell: &CellRef, ready: Ready) {
    let at_home = cell.home().to_word() == current::home();
    let left = if at_home { current::push_home(ready).err() } else { Some(ready) };
    if let Some(ready) = left {
        cell.core.schedule(ready, Hint::Next);
    }
}

/// Runs the receiver now, if that is all right: the sender waits for it.
pub(super) fn run_now(cell: &CellRef, ready: Ready) {
    cell.core.run_or_schedule(ready);
}

/// Sends a message of any payload type as soon as there is room.
pub(super) fn poll_send<'a, P: Send + 'static>(
    cell: &'a CellRef,
    kind: &'static Kind,
    message: &mut Option<P>,
    room: &mut Option<Room<'a>>,
    sending: &Sending<P>,
    cx: &mut Context<'_>,
) -> Poll<Result<(), TellError<P>>> {
    let weigh = sending.weigh;
    if room.is_none() {
        let take = |message: &mut Option<P>| {
            message.take().expect("a send is not polled after it was ready")
        };
        if cell.inbox.is_free() {
            let payload = take(message);
            return Poll::Ready(push(cell, kind, payload, sending.run).map_err(TellError::Closed));
        }
        let Some(bound) = body::bound(cell) else {
            return Poll::Ready(Err(refuse_closed(cell, take(message))));
        };
        let claim = claim(cell, bound, sending.is_question, cx.waker());
        // Weighed where it lies: to move a message once more costs as much as to send it.
        let bytes = bound.weigh(|| message.as_ref().map_or(0, weigh));
        let payload = take(message);
        let payload = match try_bounded(cell, bound, kind, payload, bytes, claim) {
            Ok(()) => return Poll::Ready(Ok(())),
            Err((Admission::Closed, payload)) => {
                return Poll::Ready(Err(refuse_closed(cell, payload)));
            }
            Err((_, payload)) => payload,
        };
        let sender = Sender::of(cx.waker(), &cell.core);
        let wait = admission::wait(cell, bound, bytes, sender, sending.is_question);
        *room = Some(Room::new(wait));
        *message = Some(payload);
    }
    let Some(wait) = room else { return Poll::Pending };
    let Poll::Ready(admission) = wait.0.poll(cx) else { return Poll::Pending };
    let payload = message.take().expect("a send that waits has its message");
    *room = None;
    let sent = match admission {
        Admission::Admitted => {
            let bound = body::bound(cell).expect("a bounded cell has a bound");
            let bytes = bound.weigh(|| weigh(&payload));
            push_admitted(cell, bound, kind, payload, bytes)
        }
        refused => Err((refused, payload)),
    };
    Poll::Ready(sent.map_err(|(refused, payload)| refuse(cell, refused, payload)))
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests;
