//! What nodes say to each other, as bytes; `book/src/spec/envelope.md` is the form.
//!
//! Bytes come from outside. Whatever they are, reading them gives a frame or a typed rejection, allocates
//! nothing, and looks at each byte a bounded number of times.
#![deny(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation,
    clippy::wildcard_enum_match_arm
)]

mod fields;

use super::bundle::MESSAGES_MAX;
use crate::event::Undelivered;
use crate::sync::planted;
use fields::{Reader, Writer};

/// Bytes of a name or text in a frame at most. [ENV-3]
pub const TEXT_BYTES_MAX: usize = 255;

/// One thing that one node says to another.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Frame<'a> {
    /// A message that nobody waits for.
    Tell(Envelope<'a>),
    /// Messages to one actor that nobody waits for, in the order in which they were told.
    Tells(Tells<'a>),
    /// A message whose answer somebody waits for.
    Ask {
        /// The message.
        envelope: Envelope<'a>,
        /// Which question it is.
        correlation: u64,
        /// How long the asker waits still, in microseconds.
        remaining_us: u64,
    },
    /// The answer to a question.
    Answer {
        /// Which question.
        correlation: u64,
        /// The answer.
        bytes: &'a [u8],
    },
    /// A question was not answered.
    Unanswered {
        /// Which question.
        correlation: u64,
        /// Why.
        why: Undelivered,
    },
    /// A message that was told was not handed to its actor.
    Undelivered {
        /// Whose mail it was.
        actor: u64,
        /// Which message.
        message: u32,
        /// Why.
        why: Undelivered,
    },
    /// Where is the actor that is exported under this name?
    Find {
        /// Which search it is.
        correlation: u64,
        /// The protocol that it is to speak.
        protocol: &'a str,
        /// The name.
        name: &'a str,
    },
    /// Here it is.
    Found {
        /// Which search.
        correlation: u64,
        /// The actor's number.
        actor: u64,
        /// How many messages may be under way to it.
        window: u32,
    },
    /// There is none.
    NotFound {
        /// Which search.
        correlation: u64,
        /// The protocol that the actor of that name speaks; empty if there is no such actor.
        speaks: &'a str,
    },
    /// May this node use a reference to that actor, which it was sent?
    Open {
        /// Which search it is.
        correlation: u64,
        /// The actor's number.
        actor: u64,
        /// The protocol that it is to speak.
        protocol: &'a str,
    },
    /// Start an actor of the kind that is allowed under this name.
    Spawn {
        /// Which start it is.
        correlation: u64,
        /// The protocol that the actor is to speak.
        protocol: &'a str,
        /// The name.
        name: &'a str,
        /// What its start hook takes.
        arguments: &'a [u8],
    },
    /// It was not started.
    NotSpawned {
        /// Which start.
        correlation: u64,
        /// Why, as a number.
        why: u8,
        /// What there is to say about it.
        text: &'a str,
    },
    /// Stop an actor that was started for this node.
    Stop {
        /// Which actor.
        actor: u64,
    },
    /// An actor of the sender has joined a group.
    Joined {
        /// Which actor.
        actor: u64,
        /// The protocol that it speaks.
        protocol: &'a str,
        /// The group's name.
        group: &'a str,
    },
    /// An actor of the sender has left a group.
    Left {
        /// Which actor.
        actor: u64,
        /// The protocol that it speaks.
        protocol: &'a str,
        /// The group's name.
        group: &'a str,
    },
    /// An actor that was found has ended. Whatever it had sent before was said before.
    Ended {
        /// Which actor.
        actor: u64,
        /// How, as a number.
        how: u8,
        /// What there is to say about it.
        text: &'a str,
    },
    /// So many messages to an actor may have been sent altogether.
    Credit {
        /// Which actor.
        actor: u64,
        /// How many.
        messages: u64,
    },
    /// Mail to an actor waits for its credit: ends that are said from now on may come before it.
    Held {
        /// Which actor.
        actor: u64,
    },
    /// What the first of those that have ended had sent to a held actor was sent.
    Released {
        /// Which actor.
        actor: u64,
        /// How many were the first to be said to have ended; `u64::MAX` when the actor is held no more.
        ends: u64,
    },
}

/// A message to an actor of another node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Envelope<'a> {
    /// Whose mail it is.
    pub actor: u64,
    /// Which version of the protocol the sender speaks.
    pub version: u16,
    /// Which message it is, by its name.
    pub message: u32,
    /// What it looks like.
    pub schema: u32,
    /// Its arguments.
    pub arguments: &'a [u8],
}

/// Messages to one actor, as they lie in a frame: one after the other is its next item. [ENV-18]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tells<'a> {
    actor: u64,
    version: u16,
    rest: Reader<'a>,
    /// Which message was the last, and what it looked like.
    last: Option<(u32, u32)>,
    count: u32,
}

/// Bytes of a message's length in [`Tells`].
pub(super) const LENGTH_BYTES: usize = 4;
/// In such a length: which message it is, and what it looks like, stands behind it. Otherwise it is as the one before.
pub(super) const OTHER: u32 = 1 << 31;

impl<'a> Tells<'a> {
    /// Those in `bytes`, which nobody has looked at.
    pub(super) const fn new(actor: u64, version: u16, bytes: &'a [u8]) -> Self {
        Self { actor, version, rest: Reader(bytes), last: None, count: 0 }
    }

    /// The same, if there is one, nothing but messages, and no more of them than there may be.
    fn checked(self) -> Result<Self, FrameError> {
        let mut messages = self;
        for count in 1..=planted!("net-tells-unbounded": MESSAGES_MAX => u32::MAX) {
            messages.read()?;
            if messages.rest.0.is_empty() {
                return Ok(Self { count, ..self });
            }
        }
        Err(FrameError::TooMany)
    }

    /// Whose mail they are.
    pub(super) const fn actor(&self) -> u64 {
        self.actor
    }

    /// How many there were in the frame.
    pub(super) const fn in_frame(&self) -> u32 {
        self.count
    }

    fn read(&mut self) -> Result<Envelope<'a>, FrameError> {
        let length = self.rest.u32()?;
        let bytes = usize::try_from(length & !OTHER).map_err(|_| FrameError::Short)?;
        let arguments = self.rest.take(bytes)?;
        if length & OTHER != 0 {
            self.last = Some((self.rest.u32()?, self.rest.u32()?));
        }
        // Before the first there is none.
        let (message, schema) = self.last.ok_or(FrameError::Short)?;
        Ok(Envelope { actor: self.actor, version: self.version, message, schema, arguments })
    }
}

impl<'a> Iterator for Tells<'a> {
    type Item = Envelope<'a>;

    fn next(&mut self) -> Option<Envelope<'a>> {
        // What is left was looked at when the frame was read.
        self.read().ok()
    }
}

/// In place of a number of ends: of all, and the actor is held no more. [ENV-25]
pub(super) const ALL_ENDS: u64 = u64::MAX;

/// Bytes in front of the arguments of an ask, which are more than those of a tell. [ENV-2]
pub(super) const HEAD_BYTES_MAX: usize = 35;

/// Why bytes are no frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FrameError {
    /// They end before the frame does.
    #[error("the frame is cut off")]
    Short,
    /// They go on after the frame.
    #[error("bytes follow the frame")]
    Long,
    /// They are more messages than one frame may have.
    #[error("the frame has more messages than one may have")]
    TooMany,
    /// There is no such type.
    #[error("there is no frame of type {0}")]
    UnknownType(u8),
    /// A text is not one.
    #[error("a text is not UTF-8")]
    NotText,
    /// There is no such reason.
    #[error("there is no reason {0}")]
    UnknownReason(u8),
}

// [ENV-2]
const TELL: u8 = 1;
const ASK: u8 = 2;
const ANSWER: u8 = 3;
const UNANSWERED: u8 = 4;
const UNDELIVERED: u8 = 5;
const FIND: u8 = 6;
const FOUND: u8 = 7;
const NOT_FOUND: u8 = 8;
const ENDED: u8 = 9;
const CREDIT: u8 = 10;
const OPEN: u8 = 11;
const SPAWN: u8 = 12;
const NOT_SPAWNED: u8 = 13;
const STOP: u8 = 14;
const JOINED: u8 = 15;
const LEFT: u8 = 16;
const TELLS: u8 = 17;
const HELD: u8 = 18;
const RELEASED: u8 = 19;

impl<'a> Frame<'a> {
    /// Reads a frame that takes all of `bytes`.
    ///
    /// # Errors
    /// [`FrameError`] when there is none, or something beside it.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, FrameError> {
        let mut from = Reader(bytes);
        let frame = match from.u8()? {
            TELL => Self::Tell(from.envelope()?),
            TELLS => Self::Tells(Tells::new(from.u64()?, from.u16()?, from.rest()).checked()?),
            ASK => Self::Ask {
                correlation: from.u64()?,
                remaining_us: from.u64()?,
                envelope: from.envelope()?,
            },
            ANSWER => Self::Answer { correlation: from.u64()?, bytes: from.rest() },
            UNANSWERED => Self::Unanswered { correlation: from.u64()?, why: from.why()? },
            UNDELIVERED => {
                Self::Undelivered { actor: from.u64()?, message: from.u32()?, why: from.why()? }
            }
            FIND => {
                Self::Find { correlation: from.u64()?, protocol: from.text()?, name: from.text()? }
            }
            FOUND => {
                Self::Found { correlation: from.u64()?, actor: from.u64()?, window: from.u32()? }
            }
            NOT_FOUND => Self::NotFound { correlation: from.u64()?, speaks: from.text()? },
            ENDED => Self::Ended { actor: from.u64()?, how: from.u8()?, text: from.text()? },
            CREDIT => Self::Credit { actor: from.u64()?, messages: from.u64()? },
            OPEN => {
                Self::Open { correlation: from.u64()?, actor: from.u64()?, protocol: from.text()? }
            }
            SPAWN => Self::Spawn {
                correlation: from.u64()?,
                protocol: from.text()?,
                name: from.text()?,
                arguments: from.rest(),
            },
            NOT_SPAWNED => {
                Self::NotSpawned { correlation: from.u64()?, why: from.u8()?, text: from.text()? }
            }
            STOP => Self::Stop { actor: from.u64()? },
            JOINED => {
                Self::Joined { actor: from.u64()?, protocol: from.text()?, group: from.text()? }
            }
            LEFT => Self::Left { actor: from.u64()?, protocol: from.text()?, group: from.text()? },
            HELD => Self::Held { actor: from.u64()? },
            RELEASED => Self::Released { actor: from.u64()?, ends: from.u64()? },
            other => return Err(FrameError::UnknownType(other)),
        };
        // [ENV-4]
        if from.0.is_empty() { Ok(frame) } else { Err(FrameError::Long) }
    }

    /// The frame as bytes. Texts are cut at [`TEXT_BYTES_MAX`] bytes.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        self.write(&mut bytes);
        bytes
    }

    /// Puts the frame behind `bytes`.
    pub(super) fn write(&self, bytes: &mut Vec<u8>) {
        let mut to = Writer(bytes);
        match self {
            Self::Tell(envelope) => to.u8(TELL).envelope(envelope),
            Self::Tells(messages) => {
                let version = messages.version.to_le_bytes();
                to.u8(TELLS).u64(messages.actor).bytes(&version).bytes(messages.rest.0)
            }
            Self::Ask { envelope, correlation, remaining_us } => {
                to.u8(ASK).u64(*correlation).u64(*remaining_us).envelope(envelope)
            }
            Self::Answer { correlation, bytes } => to.u8(ANSWER).u64(*correlation).bytes(bytes),
            Self::Unanswered { correlation, why } => {
                to.u8(UNANSWERED).u64(*correlation).u8(why.code())
            }
            Self::Undelivered { actor, message, why } => {
                to.u8(UNDELIVERED).u64(*actor).u32(*message).u8(why.code())
            }
            Self::Find { correlation, protocol, name } => {
                to.u8(FIND).u64(*correlation).text(protocol).text(name)
            }
            Self::Found { correlation, actor, window } => {
                to.u8(FOUND).u64(*correlation).u64(*actor).u32(*window)
            }
            Self::NotFound { correlation, speaks } => {
                to.u8(NOT_FOUND).u64(*correlation).text(speaks)
            }
            Self::Ended { actor, how, text } => to.u8(ENDED).u64(*actor).u8(*how).text(text),
            Self::Credit { actor, messages } => to.u8(CREDIT).u64(*actor).u64(*messages),
            Self::Open { correlation, actor, protocol } => {
                to.u8(OPEN).u64(*correlation).u64(*actor).text(protocol)
            }
            Self::Spawn { correlation, protocol, name, arguments } => {
                to.u8(SPAWN).u64(*correlation).text(protocol).text(name).bytes(arguments)
            }
            Self::NotSpawned { correlation, why, text } => {
                to.u8(NOT_SPAWNED).u64(*correlation).u8(*why).text(text)
            }
            Self::Stop { actor } => to.u8(STOP).u64(*actor),
            Self::Joined { actor, protocol, group } => {
                to.u8(JOINED).u64(*actor).text(protocol).text(group)
            }
            Self::Left { actor, protocol, group } => {
                to.u8(LEFT).u64(*actor).text(protocol).text(group)
            }
            Self::Held { actor } => to.u8(HELD).u64(*actor),
            Self::Released { actor, ends } => to.u8(RELEASED).u64(*actor).u64(*ends),
        };
    }
}
