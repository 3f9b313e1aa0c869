//! The answerer's end of an ask.

use super::ask::Ask;
use super::forward::Forward;
use super::size::limit_answer;
use super::traits::Message;
use crate::event::{DeadLetterReason, Undelivered};
use crate::queue::oneshot;
use crate::sync::planted;
use crate::task::cell::Header;
use crate::task::current;
use crate::time::Time;
use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;

/// The right to answer an `ask`, once. Dropped unused, the asker gets
/// [`NoReply`](super::AskError::NoReply).
///
/// An `#[ask]` method that takes `reply: Reply<T>` as an argument, and returns nothing, is given it: it can answer
/// now, keep it and answer later, or hand the question on by [`Reply::forward`].
#[must_use = "dropped unused, the asker gets no reply"]
pub struct Reply<R> {
    sender: oneshot::Sender<R>,
}

impl<R> Reply<R> {
    pub(super) fn new(sender: oneshot::Sender<R>) -> Self {
        const { limit_answer::<R>() };
        Self { sender }
    }

    /// Answers. An asker that has stopped waiting does not see it; the answer is dropped and counted
    /// in [`Counts::late_replies`](crate::Counts::late_replies). Neither blocks nor allocates.
    pub fn send(self, answer: R) {
        // An error means that the asker had left; it left word to count the answer.
        let _ = self.sender.send(answer);
    }

    /// Whether the asker has stopped waiting, so that an answer would be for nothing.
    #[must_use]
    pub fn is_abandoned(&self) -> bool {
        self.sender.is_abandoned()
    }

    /// Refuses the question: the asker gets [`Refused`](super::AskError::Refused).
    pub fn refuse(self) {
        self.sender.refuse(Undelivered::Refused.code());
    }

    /// Hands the question on: whoever is asked by `ask` answers the asker, as if it had been asked by it. See
    /// [`Forward`] for the two ways to send it.
    ///
    /// The asker's deadline stays what it is; [`Ask::within`] can make it shorter for this stretch. An asker
    /// that goes is gone there too. Does not allocate in steady state.
    ///
    /// # Examples
    /// ```
    /// use greenroom::{Actor, Ref, Reply, System, handlers};
    ///
    /// #[derive(Actor)]
    /// struct Ledger;
    ///
    /// #[handlers]
    /// impl Ledger {
    ///     #[ask]
    ///     fn cents(&self, account: u32) -> u64 {
    ///         u64::from(account) * 100
    ///     }
    /// }
    ///
    /// #[derive(Actor)]
    /// struct Desk {
    ///     ledger: Ref<Ledger>,
    /// }
    ///
    /// #[handlers]
    /// impl Desk {
    ///     #[ask]
    ///     async fn cents(&self, account: u32, reply: Reply<u64>) {
    ///         match account {
    ///             0 => reply.send(0),
    ///             _ => reply.forward(self.ledger.cents(account)).await,
    ///         }
    ///     }
    /// }
    ///
    /// #[greenroom::main]
    /// async fn main(system: System) -> Result<(), Box<dyn std::error::Error>> {
    ///     let ledger = system.spawn::<Ledger>(Ledger).await?;
    ///     let desk = system.spawn::<Desk>(Desk { ledger }).await?;
    ///     assert_eq!(desk.cents(7).await?, 700);
    ///     Ok(())
    /// }
    /// ```
    pub fn forward<'a, P: Message, Shape>(self, ask: Ask<'a, P, R, Shape>) -> Forward<'a, P, R> {
        Forward::new(ask.into_parts(), self)
    }

    /// Passes the right to answer on to whoever has the other end of `receiver`.
    pub(super) fn pass_to(self, receiver: oneshot::Receiver<R>) {
        receiver.pass(self.sender);
    }

    /// A reply that somebody waits for until then, and where it goes.
    #[cfg(all(feature = "net", not(shuttle)))]
    pub(crate) fn pair(until: Time) -> (Self, oneshot::Receiver<R>) {
        let (sender, receiver) = oneshot::pair();
        receiver.set_deadline(until.0);
        (Self::new(sender), receiver)
    }

    /// Until when somebody waits.
    pub(crate) fn deadline(&self) -> Time {
        Time(self.sender.deadline())
    }

    /// Says why there is no answer.
    pub(crate) fn undelivered(self, why: Undelivered) {
        self.sender.refuse(why.code());
    }

    /// The reply again, if the handler of the question, an `M` to the actor `at`, is to begin; then it runs under
    /// the asker's deadline. If not, the question is reported. With `cancel` the asker must be there.
    #[inline]
    pub(super) fn begin<'a, M>(
        self,
        cancel: bool,
        at: impl FnOnce() -> &'a Header,
    ) -> Option<Self> {
        self.sender.begin();
        let in_time = current::begin_until(Time(self.sender.deadline()));
        if in_time && !self.is_abandoned() {
            Some(self)
        } else {
            self.begin_after_all::<M>(cancel, at())
        }
    }

    /// As [`Reply::begin`], where it may not: the slice's clock may be late, but the asker that has gone
    /// was told that its ask is over.
    #[cold]
    fn begin_after_all<M>(self, cancel: bool, at: &Header) -> Option<Self> {
        let is_expired = || at.core.clock.now() >= Time(self.sender.deadline());
        if self.sender.is_withdrawn() {
            report_unhandled::<M>(at, DeadLetterReason::Cancelled);
        } else if planted!("expired-begins-late": is_expired() => false) {
            report_unhandled::<M>(at, DeadLetterReason::Expired);
            // Who handed the question on may have given it less time than the asker has.
            self.undelivered(Undelivered::Expired);
        } else if cancel {
            report_unhandled::<M>(at, DeadLetterReason::Cancelled);
        } else {
            return Some(self);
        }
        None
    }
}

impl<R> fmt::Debug for Reply<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Reply")
    }
}

/// Reports a message of type `M` whose handler does not begin, or not finish.
#[cold]
pub(super) fn report_unhandled<M>(at: &Header, reason: DeadLetterReason) {
    at.core.events.dead_letter(at.actor_id(), std::any::type_name::<M>(), reason);
}

/// Runs a handler as long as its asker waits: `None` if the asker goes first, and the handler is then
/// dropped at its await. Woken by the going, for which it leaves a waker in its first poll only: so for the wait-for
/// graph the handler does not wait for that.
#[doc(hidden)]
pub async fn while_asked<R, T>(
    reply: &mut Reply<R>,
    handler: impl Future<Output = T>,
) -> Option<T> {
    let mut handler = pin!(handler);
    let mut listens = false;
    poll_fn(|cx| {
        let is_gone = if listens {
            planted!("cancel-unnoticed": reply.is_abandoned() => false)
        } else {
            listens = true;
            !reply.sender.listen(cx.waker().clone())
        };
        if is_gone {
            return Poll::Ready(None);
        }
        handler.as_mut().poll(cx).map(Some)
    })
    .await
}
