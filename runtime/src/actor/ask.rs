//! Asking: one message, exactly one outcome.

use super::dispatch::weight;
use super::error::{AskError, TellError};
use super::tell::{Room, Sending, poll_send, push, run_now};
use super::traits::Message;
use crate::queue::node::Kind;
use crate::queue::oneshot;
use crate::sync::{spin_loop, thread, waker_of_this_thread};
use crate::task::cell::CellRef;
use crate::task::core::{Alarm, AlarmKey};
use crate::task::current;
use crate::time::Time;
use std::fmt;
use std::future::{Future, IntoFuture};
use std::marker::PhantomData;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

/// The right to answer an `ask`, once. Dropped unused, the asker gets
/// [`NoReply`](AskError::NoReply).
#[must_use = "dropped unused, the asker gets no reply"]
pub struct Reply<R> {
    sender: oneshot::Sender<R>,
}

impl<R> Reply<R> {
    /// Answers. An asker that has stopped waiting does not see it; the answer is dropped and counted
    /// in [`Counts::late_replies`](crate::Counts::late_replies).
    pub fn send(self, answer: R) {
        // An error means that the asker had left; it left word to count the answer.
        let _ = self.sender.send(answer);
    }

    /// Whether the asker has stopped waiting, so that an answer would be for nothing.
    #[must_use]
    pub fn is_abandoned(&self) -> bool {
        self.sender.is_abandoned()
    }

    /// Refuses the question: the asker gets [`Refused`](AskError::Refused).
    pub fn refuse(self) {
        self.sender.refuse();
    }

    pub(super) fn deadline(&self) -> Time {
        Time(self.sender.deadline())
    }
}

impl<R> fmt::Debug for Reply<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Reply")
    }
}

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
#[must_use = "nothing is asked before `.await`"]
pub struct Ask<'a, P, R, Shape = Plain> {
    cell: &'a CellRef,
    kind: &'static Kind,
    message: P,
    receiver: oneshot::Receiver<R>,
    timeout: Option<Duration>,
    shape: PhantomData<Shape>,
}

impl<'a, P: Message, R, Shape> Ask<'a, P, R, Shape> {
    pub(super) fn new(
        cell: &'a CellRef,
        kind: &'static Kind,
        message: impl FnOnce(Reply<R>) -> P,
    ) -> Self {
        let (sender, receiver) = oneshot::pair();
        let message = message(Reply { sender });
        Self { cell, kind, message, receiver, timeout: None, shape: PhantomData }
    }

    /// Waits `timeout` at most, from when it is awaited.
    pub fn within(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    fn deadline(&self) -> Time {
        let core = &self.cell.core;
        let own = match self.timeout {
            Some(timeout) => core.clock.now().after(timeout),
            None => core.slice_now().after(core.limits.ask_timeout),
        };
        own.min(current::deadline())
    }

    fn start(self) -> Asking<'a, P, R> {
        let deadline = self.deadline();
        self.receiver.set_deadline(deadline.0);
        Asking {
            cell: self.cell,
            kind: self.kind,
            message: Some(self.message),
            room: None,
            receiver: self.receiver,
            deadline,
            alarm: None,
        }
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
    /// ([`Builder::idle`](crate::Builder::idle)), then it sleeps.
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
/// Dropped before it is ready, the question may still be handled; its answer is dropped and counted.
#[must_use = "futures do nothing unless polled"]
pub struct Asking<'a, P: Message, R> {
    cell: &'a CellRef,
    kind: &'static Kind,
    message: Option<P>,
    room: Option<Room<'a>>,
    receiver: oneshot::Receiver<R>,
    deadline: Time,
    alarm: Option<AlarmKey>,
}

// No field is ever pinned in place: the wait for room has its own box.
impl<P: Message, R> Unpin for Asking<'_, P, R> {}

impl<P: Message, R> Asking<'_, P, R> {
    /// Sends the question; an error ends the ask.
    #[inline]
    fn poll_send(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), AskError>> {
        if !self.cell.bounded
            && let Some(message) = self.message.take()
        {
            let sent = push(self.cell, self.kind, message, run_now);
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
        let sent = poll_send(self.cell, self.kind, &mut self.message, &mut self.room, sending, cx);
        sent.map(|sent| match sent {
            Ok(()) => Ok(()),
            Err(TellError::Closed(_) | TellError::Full(_) | TellError::SystemFull(_)) => {
                Err(AskError::Closed)
            }
        })
    }

    /// Ready when the deadline has passed; else sees that the task is woken then.
    fn poll_deadline(&mut self, cx: &mut Context<'_>, moved: bool) -> Poll<()> {
        let core = &self.cell.core;
        if self.alarm.is_some() && core.clock.now() >= self.deadline {
            return Poll::Ready(());
        }
        if moved || self.alarm.is_none() {
            self.cancel_alarm();
            self.alarm = Some(core.set_alarm(self.deadline, Alarm::Wake(cx.waker().clone())));
        }
        Poll::Pending
    }

    /// Blocks the thread until the outcome is there.
    fn wait(mut self) -> Result<R, AskError> {
        assert!(!current::is_worker(), "`wait` would block a worker: await the ask");
        let core = &self.cell.core;
        let (clock, spin) = (core.clock.clone(), core.limits.spin);
        let search_until = clock.now().after(spin);
        let waker = waker_of_this_thread();
        let mut cx = Context::from_waker(&waker);
        loop {
            if let Poll::Ready(sent) = self.poll_send(&mut cx) {
                sent?;
                if let Poll::Ready(answer) = self.receiver.poll(&mut cx) {
                    return answer.ok_or_else(|| self.without_answer());
                }
            }
            let now = clock.now();
            if now >= self.deadline {
                return Err(AskError::Expired);
            }
            if now < search_until {
                spin_loop();
            } else {
                // It may also end without a reason, which the loop does not mind.
                thread::park_timeout(self.deadline.since(now));
            }
        }
    }

    /// Why the handler went without an answer.
    #[cold]
    fn without_answer(&self) -> AskError {
        if self.receiver.is_refused() { AskError::Refused } else { AskError::NoReply }
    }

    fn cancel_alarm(&mut self) {
        if let Some(alarm) = self.alarm.take() {
            self.cell.core.cancel_alarm(alarm);
        }
    }
}

impl<P: Message, R> Future for Asking<'_, P, R> {
    type Output = Result<R, AskError>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        let mut moved = false;
        let sends = this.message.is_some();
        match this.poll_send(cx) {
            Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
            Poll::Ready(Ok(())) => {
                // While it waited for room it may have moved to another task.
                moved = sends && this.alarm.is_some()
                    || this.receiver.is_waited_for_by_another(cx.waker());
                if let Poll::Ready(answer) = this.receiver.poll(cx) {
                    return Poll::Ready(answer.ok_or_else(|| this.without_answer()));
                }
            }
            // A task that waits for room may move too, and nothing tells.
            Poll::Pending => moved |= this.alarm.is_some(),
        }
        this.poll_deadline(cx, moved).map(|()| Err(AskError::Expired))
    }
}

impl<P: Message, R> Drop for Asking<'_, P, R> {
    fn drop(&mut self) {
        self.cancel_alarm();
        if self.message.is_none() && !self.receiver.is_received() {
            let core = self.cell.core.clone();
            self.receiver.leave_word(Box::new(move || core.events.counters.late_replies.add_one()));
        }
    }
}

impl<P: Message, R> fmt::Debug for Asking<'_, P, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Asking({} of {})", (self.kind.name)(), self.cell.actor_id())
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
        Err(AskError::Failed(never)) => match never {},
    }
}
