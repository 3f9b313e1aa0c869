//! Why a message to an actor of another node was not handled there.

use std::fmt;

/// Why a message to an actor of another node was not handled there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Undelivered {
    /// The connection to the node ended.
    NodeDown,
    /// The actor has ended, or is not exported.
    NoSuchActor,
    /// Its protocol has no message of that name there.
    UnknownMessage,
    /// Its protocol has a message of that name that looks otherwise, and no migration from this one.
    OtherSchema,
    /// The bytes are not what the message, or the answer, looks like.
    Malformed,
    /// It could not be put into bytes.
    NotEncoded,
    /// It is larger than a message may be.
    TooLarge,
    /// The deadline had passed when it arrived.
    Expired,
    /// The handler went without an answer.
    NoReply,
    /// The actor takes no such question now.
    Refused,
    /// A reference in it leads to a node that the receiving one is not connected with.
    HomeNotConnected,
    /// It is more than the receiving node allows.
    OverLimit,
}

impl Undelivered {
    /// All of them; the place of each is its code, on the wire, too.
    const ALL: [Self; 12] = [
        Self::NodeDown,
        Self::NoSuchActor,
        Self::UnknownMessage,
        Self::OtherSchema,
        Self::Malformed,
        Self::NotEncoded,
        Self::TooLarge,
        Self::Expired,
        Self::NoReply,
        Self::Refused,
        Self::HomeNotConnected,
        Self::OverLimit,
    ];

    /// Its number, from 1.
    pub(crate) fn code(self) -> u8 {
        let place = Self::ALL.iter().position(|why| *why == self).unwrap_or_default();
        u8::try_from(place + 1).unwrap_or_default()
    }

    /// What a number stands for.
    pub(crate) fn of_code(code: u8) -> Option<Self> {
        Self::ALL.get(usize::from(code).checked_sub(1)?).copied()
    }
}

impl fmt::Display for Undelivered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NodeDown => "the connection to its node ended",
            Self::NoSuchActor => "its node exports no such actor",
            Self::UnknownMessage => "its protocol has no such message there",
            Self::OtherSchema => "its protocol has another such message there",
            Self::Malformed => "its bytes are malformed",
            Self::NotEncoded => "it could not be put into bytes",
            Self::TooLarge => "it is too large",
            Self::Expired => "its deadline had passed",
            Self::NoReply => "its handler ended without an answer",
            Self::Refused => "its actor takes no such question now",
            Self::HomeNotConnected => "a reference in it leads to a node not connected there",
            Self::OverLimit => "it is more than its node allows",
        })
    }
}
