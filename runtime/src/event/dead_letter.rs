//! Messages that were accepted or offered, and will not be handled.

use super::{ActorId, Subscription, Undelivered};
use std::fmt;

/// Why a message will not be handled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DeadLetterReason {
    /// It was still queued, or stashed, when its actor ended.
    Stopped,
    /// The mailbox was full, and its policy is to drop what comes last.
    DroppedNewest,
    /// The mailbox was full, and its policy is to drop what waited longest.
    DroppedOldest,
    /// Its handler panicked while it ran, or was cut off: by a kill, or, if it is interleaved, by the end of
    /// its incarnation.
    Crashed,
    /// It was to be stashed, and the [stash](crate::Stashes) was full.
    StashFull,
    /// Its actor was in a [state](crate::State) without a handler for it.
    Refused,
    /// Its deadline had passed before its handler began.
    Expired,
    /// Its asker went, and the handler is one that is then cancelled, or does not begin; or the ask failed with
    /// [`Cycle`](crate::AskError::Cycle).
    Cancelled,
    /// It was on its way to another node when the connection ended. It may have been handled there.
    MaybeDelivered,
    /// It came from or went to another node and was not handled there.
    Undelivered(Undelivered),
}

impl fmt::Display for DeadLetterReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self {
            Self::Stopped => "the actor ended first",
            Self::DroppedNewest => "the mailbox was full: newest dropped",
            Self::DroppedOldest => "the mailbox was full: oldest dropped",
            Self::Crashed => "its handler crashed",
            Self::StashFull => "the stash was full",
            Self::Refused => "no handler in the state of the actor",
            Self::Expired => "its deadline had passed",
            Self::Cancelled => "its asker was gone, or waited for nothing",
            Self::MaybeDelivered => "the connection ended: it may have been handled",
            Self::Undelivered(why) => return why.fmt(f),
        };
        f.write_str(text)
    }
}

/// One message that will not be handled.
#[derive(Clone, Debug)]
pub struct DeadLetter {
    /// Whose mail it was.
    pub actor: ActorId,
    /// The message's type.
    pub message: &'static str,
    /// Why it will not be handled.
    pub reason: DeadLetterReason,
}

/// A subscription to dead letters. Those that it misses are in the counters all the same.
pub type DeadLetters = Subscription<DeadLetter>;
