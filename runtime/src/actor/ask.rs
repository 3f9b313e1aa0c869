//! Asking: one message, exactly one outcome.

use super::dispatch::weight;
use super::error::{AskError, TellError};
use super::reply::Reply;
use super::tell::{Room, Sending, poll_send, push, run_now};
use super::traits::Message;
use super::waiting::Waiting;
use crate::queue::node::Kind;
use crate::queue::oneshot;
use crate::sync::{planted, spin_loop, thread, waker_of_this_thread};
use crate::task::cell::CellRef;
use crate::task::current;
use crate::task::waker::{is_inspecting, ordinary, with_actor_of};
use crate::time::Time;
use std::fmt;
use std::future::{Future, IntoFuture};
use std::marker::PhantomData;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

/// A default timeout of as much counts from when the worker last read the clock, to save reading it for each ask.
const LONG_TIMEOUT: Duration = Duration::from_secs(1);

/// A hand-written message on its way as a question.
#[derive(Debug)]
pub struct Asked<M: Message> {
    pub(super) message: M,
    pub(super) reply: Reply<M::Reply>,
}

#[diagnostic::do_not_recommend]
impl<M: Message> Message for Asked<M> {
    type Reply = ();

    fn heap_bytes(&self) -> usize {
        self.message.heap_bytes()
    }
}

/// Marks an [`Ask`] whose answer is taken as it is.
#[derive(Debug)]
pub enum Plain {}

/// Marks an [`Ask`] whose answer is a `Result` that becomes the ask's own.
#[derive(Debug)]
pub enum Flat {}

/// A question about to be asked; awaited, it is sent, and ready with the answer `R`.
///
/// It waits for room in a bounded mailbox and for the answer together no longer than its deadline:
/// [`Ask::within`], or the system's default, and never longer than the caller of the running handler
/// waits itself.
///
/// # Errors
/// [`AskError`], whose variants say why there is no answer.
#[must_use = "nothing is asked before `.await`"]
pub struct Ask<'a, P, R, Shape = Plain> {
    cell: &'a CellRef,
    kind: &'static Kind,
    message: P,
    receiver: oneshot::Receiver<R>,
    timeout: Option<Duration>,
    shape: PhantomData<Shape>,
}

/// What an [`Ask`] consists of.
pub(super) struct Parts<'a, P, R> {
    pub(super) cell: &'a CellRef,
    pub(super) kind: &'static Kind,
    pub(super) message: P,
    pub(super) receiver: oneshot::Receiver<R>,
    pub(super) until: Time,
}

impl<'a, P: Message, R, Shape> Ask<'a, P, R, Shape> {
    pub(super) fn new(
        cell: &'a CellRef,
        kind: &'static Kind,
        message: impl FnOnce(Reply<R>) -> P,
    ) -> Self {
        let (sender, receiver) = oneshot::pair();
        let message = message(Reply::new(sender));
        Self { cell, kind, message, receiver, timeout: None, shape: PhantomData }
    }

    /// Waits `timeout` at most, from when it is awaited.
    pub fn within(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    fn deadline(&self) -> Time {
        let core = &self.cell.core;
        let own = match (self.timeout, core.limits.ask_timeout) {
            (Some(timeout), _) => core.clock.now().after(timeout),
            (None, short) if short < LONG_TIMEOUT => core.clock.now().after(short),
            (None, long) => core.slice_now().after(long),
        };
        own.min(current::deadline())
    }

    /// Where the question goes and what it is, the end that would wait for the answer, and how long.
    pub(super) fn into_parts(self) -> Parts<'a, P, R> {
        let Self { cell, kind, message, receiver, timeout, .. } = self;
        let until = timeout.map_or(Time::NEVER, |timeout| cell.core.clock.now().after(timeout));
        Parts { cell, kind, message, receiver, until }
    }

    fn start(self) -> Asking<'a, P, R> {
        let deadline = self.deadline();
        let waiting = Waiting::new(self.cell, self.receiver, deadline);
        Asking { kind: self.kind, message: Some(self.message), room: None, waiting }
    }
}

impl<'a, P: Message, T, E> Ask<'a, P, Result<T, E>, Plain> {
    /// Makes the handler's own error one of the ask's: [`AskError::Failed`].
    pub fn flat(self) -> Ask<'a, P, Result<T, E>, Flat> {
        let Self { cell, kind, message, receiver, timeout, .. } = self;
        Ask { cell, kind, message, receiver, timeout, shape: PhantomData }
    }
}

impl<P: Message, R: Send + 'static> Ask<'_, P, R, Plain> {
    /// Asks, and blocks the thread until the outcome is there: for plain threads, which need no
    /// runtime for it. Allocates.
    ///
    /// The thread looks for the answer as long as idle workers look for work
    /// ([`Builder::idle`](crate::Builder::idle)), then it sleeps. Where these sleep at once, have a core each, and there is
    /// more than one core, one thread of all that ask looks for 50 µs at most, and only now and then once four answers in a row
    /// have taken longer.
    ///
    /// # Errors
    /// Those of an awaited ask.
    ///
    /// # Panics
    /// On a worker, which others need: there an ask is awaited.
    ///
    /// # Examples
    /// ```
    /// use greenroom::{Actor, System, handlers};
    ///
    /// #[derive(Actor)]
    /// struct Doubler;
    ///
    /// #[handlers]
    /// impl Doubler {
    ///     #[ask]
    ///     fn double(&self, number: u32) -> u32 {
    ///         number * 2
    ///     }
    /// }
    ///
    /// let system = System::builder().workers(1).build()?;
    /// let doubler = system.spawn::<Doubler>(Doubler).start()?;
    /// assert_eq!(doubler.double(21).wait()?, 42);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn wait(self) -> Result<R, AskError> {
        self.start().wait()
    }
}

impl<P: Message, T: Send + 'static, E: Send + 'static> Ask<'_, P, Result<T, E>, Flat> {
    /// Asks, and blocks the thread until the outcome is there: for plain threads.
    ///
    /// # Errors
    /// Those of an awaited ask.
    ///
    /// # Panics
    /// On a worker, which others need: there an ask is awaited.
    pub fn wait(self) -> Result<T, AskError<E>> {
        flatten(self.start().wait())
    }
}

impl<P, R, Shape> fmt::Debug for Ask<'_, P, R, Shape> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Ask({} of {})", (self.kind.name)(), self.cell.actor_id())
    }
}

impl<'a, P: Message, R: Send + 'static> IntoFuture for Ask<'a, P, R, Plain> {
    type Output = Result<R, AskError>;
    type IntoFuture = Asking<'a, P, R>;

    fn into_future(self) -> Asking<'a, P, R> {
        self.start()
    }
}

impl<'a, P: Message, T: Send + 'static, E: Send + 'static> IntoFuture
    for Ask<'a, P, Result<T, E>, Flat>
{
    type Output = Result<T, AskError<E>>;
    type IntoFuture = AskingFlat<'a, P, T, E>;

    fn into_future(self) -> AskingFlat<'a, P, T, E> {
        AskingFlat(self.start())
    }
}

/// The future of an awaited [`Ask`].
///
/// # Cancel safety
/// Dropped before it is ready, the question may still be handled; its answer is dropped and counted. A
/// handler that is `#[ask(cancel)]` is cancelled instead, or does not begin. So it is when the ask has expired, from
/// then on, also if the future is kept.
#[must_use = "futures do nothing unless polled"]
pub struct Asking<'a, P: Message, R> {
    kind: &'static Kind,
    message: Option<P>,
    room: Option<Room<'a>>,
    waiting: Waiting<'a, R>,
}

// No field is ever pinned in place: the wait for room has its own box.
impl<P: Message, R> Unpin for Asking<'_, P, R> {}

impl<P: Message, R> Asking<'_, P, R> {
    /// Sends the question; an error ends the ask.
    #[inline]
    fn poll_send(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), AskError>> {
        if self.waiting.to.inbox.is_free()
            && let Some(message) = self.message.take()
        {
            let sent = push(self.waiting.to, self.kind, message, run_now);
            return Poll::Ready(sent.map_err(|_| AskError::Closed));
        }
        if self.message.is_none() {
            return Poll::Ready(Ok(()));
        }
        self.poll_for_room(cx)
    }

    /// Sends the question when there is room for it.
    #[inline(never)]
    fn poll_for_room(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), AskError>> {
        let sending = const { &Sending { weigh: weight, run: run_now, is_question: true } };
        let to = self.waiting.to;
        let sent = poll_send(to, self.kind, &mut self.message, &mut self.room, sending, cx);
        sent.map(|sent| match sent {
            Ok(()) => Ok(()),
            Err(TellError::Full(_) | TellError::SystemFull(_)) => Err(AskError::Refused),
            // No deadline travels with the question but the one that the reply knows.
            Err(TellError::Closed(_) | TellError::Expired(_)) => Err(AskError::Closed),
        })
    }

    /// Blocks the thread until the outcome is there.
    fn wait(mut self) -> Result<R, AskError> {
        assert!(!current::is_worker(), "`wait` would block a worker: await the ask");
        let core = &self.waiting.to.core;
        let mut look = core.looks.begin(core.clock.now());
        let waker = waker_of_this_thread();
        let mut cx = Context::from_waker(&waker);
        loop {
            if let Poll::Ready(sent) = self.poll_send(&mut cx) {
                sent?;
                if let Poll::Ready(answer) = self.waiting.poll_answer(&mut cx) {
                    look.helped();
                    return answer;
                }
            }
            let now = core.clock.now();
            if now >= self.waiting.deadline() {
                return self.give_up(AskError::Expired);
            }
            if look.goes_on(now) {
                spin_loop();
            } else {
                // It may also end without a reason, which the loop does not mind.
                thread::park_timeout(self.waiting.deadline().since(now));
            }
        }
    }
}

impl<P: Message, R> Future for Asking<'_, P, R> {
    type Output = Result<R, AskError>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        if is_inspecting(cx.waker()) { this.poll_inspected(cx) } else { this.poll_outcome(cx) }
    }
}

impl<P: Message, R> Asking<'_, P, R> {
    /// As [`Asking::poll_outcome`], in a poll that tells who waits for asks alone: those that are seen are not noted.
    #[cold]
    fn poll_inspected(&mut self, cx: &Context<'_>) -> Poll<Result<R, AskError>> {
        let ordinary = ordinary(cx.waker());
        let polled = self.poll_outcome(&mut Context::from_waker(&ordinary));
        if polled.is_pending() && !self.waiting.is_seen() {
            with_actor_of(cx.waker(), |actor| actor.map(|actor| actor.awaited.note_other()));
        }
        polled
    }

    fn poll_outcome(&mut self, cx: &mut Context<'_>) -> Poll<Result<R, AskError>> {
        let this = self;
        let mut moved = false;
        let sends = this.message.is_some();
        match this.poll_send(cx) {
            Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
            Poll::Ready(Ok(())) => {
                // While it waited for room it may have moved to another task.
                moved = sends && this.waiting.has_waited() || this.waiting.is_moved_to(cx);
                if let answered @ Poll::Ready(_) = this.waiting.poll_answer(cx) {
                    return answered;
                }
            }
            // A task that waits for room may move too, and nothing tells.
            Poll::Pending => moved |= this.waiting.has_waited(),
        }
        let over = this.waiting.poll_over(this.kind.answers, moved, cx);
        over.map(|why| planted!("asked-room-kept": this.give_up(why) => Err(why)))
    }

    /// Ends what would go on until this is dropped, as it may be kept after it was ready. An answer that has come
    /// after all is the outcome.
    #[cold]
    fn give_up(&mut self, why: AskError) -> Result<R, AskError> {
        self.room = None;
        self.message = None;
        if let Some(answer) = self.waiting.leave() {
            return Ok(answer);
        }
        if let AskError::Cycle(_) = why {
            self.waiting.to.core.events.counters.ask_cycles.add_one();
        }
        Err(why)
    }
}

impl<P: Message, R> fmt::Debug for Asking<'_, P, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Asking({} of {})", (self.kind.name)(), self.waiting.to.actor_id())
    }
}

/// As [`Asking`], with the handler's error made one of the ask's.
#[derive(Debug)]
#[must_use = "futures do nothing unless polled"]
pub struct AskingFlat<'a, P: Message, T, E>(Asking<'a, P, Result<T, E>>);

impl<P: Message, T, E> Future for AskingFlat<'_, P, T, E> {
    type Output = Result<T, AskError<E>>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.0).poll(cx).map(flatten)
    }
}

/// Makes the handler's error one of the ask's.
fn flatten<T, E>(outcome: Result<Result<T, E>, AskError>) -> Result<T, AskError<E>> {
    match outcome {
        Ok(answer) => answer.map_err(AskError::Failed),
        Err(AskError::Closed) => Err(AskError::Closed),
        Err(AskError::Expired) => Err(AskError::Expired),
        Err(AskError::NoReply) => Err(AskError::NoReply),
        Err(AskError::Refused) => Err(AskError::Refused),
        Err(AskError::Cycle(cycle)) => Err(AskError::Cycle(cycle)),
        Err(AskError::Undelivered(why)) => Err(AskError::Undelivered(why)),
        Err(AskError::Failed(never)) => match never {},
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests;
