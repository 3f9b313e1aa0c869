//! One small error per operation.

use super::cycle::AskCycle;
use crate::event::Undelivered;
use std::convert::Infallible;
use std::fmt;

/// Why a message was not accepted; it comes back.
#[derive(Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum TellError<M> {
    /// The mailbox is full. Worth another try, or `.await`, which waits for room, and returns this where no waiting
    /// would help: then it is not worth another try.
    Full(M),
    /// The [budget](crate::Builder::budget_messages) of the whole system is used up, or smaller than the
    /// message. Worth another try unless it is, or `.await`, which waits for room.
    SystemFull(M),
    /// The actor has ended or is draining. Not worth another try.
    Closed(M),
    /// There was no room before the deadline that the message was given.
    Expired(M),
}

impl<M> TellError<M> {
    /// The message.
    pub fn into_message(self) -> M {
        match self {
            Self::Full(message)
            | Self::SystemFull(message)
            | Self::Closed(message)
            | Self::Expired(message) => message,
        }
    }

    /// The same error with what `change` makes of the message.
    pub(super) fn map<N>(self, change: impl FnOnce(M) -> N) -> TellError<N> {
        match self {
            Self::Full(message) => TellError::Full(change(message)),
            Self::SystemFull(message) => TellError::SystemFull(change(message)),
            Self::Closed(message) => TellError::Closed(change(message)),
            Self::Expired(message) => TellError::Expired(change(message)),
        }
    }
}

impl<M> fmt::Debug for TellError<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Full(_) => "Full(..)",
            Self::SystemFull(_) => "SystemFull(..)",
            Self::Closed(_) => "Closed(..)",
            Self::Expired(_) => "Expired(..)",
        })
    }
}

impl<M> fmt::Display for TellError<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Full(_) => "the mailbox is full",
            Self::SystemFull(_) => "the budget of the system is used up",
            Self::Closed(_) => "the actor has ended",
            Self::Expired(_) => "the deadline passed before there was room",
        })
    }
}

impl<M> std::error::Error for TellError<M> {}

/// Why a message was not put aside; it comes back.
#[derive(Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum StashError<M> {
    /// As many messages are stashed as may. Worth another try when some have come back.
    Full(M),
}

impl<M> StashError<M> {
    /// The message.
    pub fn into_message(self) -> M {
        let Self::Full(message) = self;
        message
    }
}

impl<M> fmt::Debug for StashError<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Full(..)")
    }
}

impl<M> fmt::Display for StashError<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the stash is full")
    }
}

impl<M> std::error::Error for StashError<M> {}

/// Why an `ask` has no answer. `E` is the error of a handler that returns `Result<T, E>`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AskError<E = Infallible> {
    /// The actor has ended or is draining; the question was not handled.
    Closed,
    /// The deadline passed. A question whose handler has begun by then may still be handled; its answer
    /// will be dropped.
    Expired,
    /// The handler went without an answer: it panicked, was killed, dropped its [`Reply`](crate::Reply), or was
    /// interleaved and cut off by a restart. Or the actor ended first, with the question in its stash or mailbox.
    NoReply,
    /// The actor takes no such question now: it is in a [state](crate::State) without a handler for it, or its
    /// [stash](crate::Stashes) is full. Worth another try later. Or the question can never have room: it is larger
    /// than the mailbox or the system's budget, or goes from a handler to its own full mailbox.
    Refused,
    /// The answer would not have come before the deadline: the asker waits in its handler, and who was
    /// asked waits, directly or not, for the asker. Found after a hundredth of a second. The question is
    /// withdrawn: a handler that has not begun does not begin.
    Cycle(AskCycle),
    /// The actor lives on another node, and the question did not get there, or the answer back.
    Undelivered(Undelivered),
    /// The handler answered with its own error.
    Failed(E),
}

impl AskError {
    /// The outcome of an ask whose reply was dropped, with the code of the reason if there is one.
    #[cold]
    pub(super) fn without_reply(code: u8) -> Self {
        match Undelivered::of_code(code) {
            None | Some(Undelivered::NoReply) => Self::NoReply,
            Some(Undelivered::Refused) => Self::Refused,
            Some(Undelivered::NoSuchActor) => Self::Closed,
            Some(Undelivered::Expired) => Self::Expired,
            Some(why) => Self::Undelivered(why),
        }
    }
}

impl<E: fmt::Display> fmt::Display for AskError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Closed => f.write_str("the actor has ended"),
            Self::Expired => f.write_str("the deadline passed before the answer came"),
            Self::NoReply => f.write_str("the handler ended without an answer"),
            Self::Refused => f.write_str("the actor takes no such question now"),
            Self::Cycle(cycle) => write!(f, "the asks wait for one another: {cycle}"),
            Self::Undelivered(why) => write!(f, "the question was not answered: {why}"),
            Self::Failed(error) => error.fmt(f),
        }
    }
}

impl<E: std::error::Error + 'static> std::error::Error for AskError<E> {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Failed(error) => Some(error),
            Self::Closed
            | Self::Expired
            | Self::NoReply
            | Self::Refused
            | Self::Cycle(_)
            | Self::Undelivered(_) => None,
        }
    }
}

/// Why a start hook gave up; any error converts into it.
pub struct StartError(String);

impl StartError {
    /// An error with this text.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    pub(crate) fn into_text(self) -> String {
        self.0
    }
}

impl<E: std::error::Error> From<E> for StartError {
    fn from(error: E) -> Self {
        Self(error.to_string())
    }
}

impl fmt::Debug for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("StartError").field(&self.0).finish()
    }
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Why there is no new actor.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SpawnError {
    /// The system or the parent is ending.
    #[error("the parent or the system is ending")]
    Closed,
    /// Another actor has the name.
    #[error("the name {0:?} is taken")]
    NameTaken(String),
    /// The start hook failed, panicked, or was cut off; the text says how.
    #[error("the actor did not start: {0}")]
    StartFailed(String),
    /// The system has fewer workers.
    #[error("there is no worker {worker}, only {workers} counted from zero")]
    NoSuchWorker {
        /// The worker asked for.
        worker: usize,
        /// How many there are.
        workers: usize,
    },
    /// A [`Pool`](crate::Pool) takes fewer workers.
    #[error("a pool takes {max} workers at most, not {count}")]
    PoolTooLarge {
        /// The number asked for.
        count: usize,
        /// The largest number.
        max: usize,
    },
}

/// Why an actor does not move.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MigrateError {
    /// Under this scheduler actors do not live on one worker each.
    #[error("actors of this system do not live on one worker each")]
    NoHome,
    /// The system has fewer workers.
    #[error("there is no worker {worker}, only {workers} counted from zero")]
    NoSuchWorker {
        /// The worker asked for.
        worker: usize,
        /// How many there are.
        workers: usize,
    },
    /// The actor lives on another node, which alone moves it.
    #[error("the actor lives on another node")]
    Elsewhere,
    /// The actor is ending or has ended.
    #[error("the actor is ending or has ended")]
    Ended,
}
