//! Frames: what the inside of a packet is made of. [LINK-1]
//!
//! ```text
//! type                  after the type byte
//! 0  PAD                nothing; a run of them is one frame
//! 1  PING               nothing
//! 2  ACK                largest, delay in us, count, first, then count times (gap, length): varints
//! 3  ACK with ECN       as ACK, then the counts of ECT(0), ECT(1) and CE: varints
//! 4  MESSAGE            sequence u32, envelope, length varint, bytes
//! 5  FRAGMENT           sequence u32, class u8, total varint, offset varint, at offset 0 the
//!                       envelope, length varint, bytes
//! 6  LANE_CREDIT        class u8, limit varint
//! 7  MAILBOX_CREDIT     slot u32, generation u32, limit varint
//! 8  PATH_CHALLENGE     token u64
//! 9  PATH_RESPONSE      token u64
//! 10 CLOSE              reason varint
//! envelope              kind u8, manifest u16, to (slot u32, generation u32), from (the same),
//!                       predecessor u16, correlation u64 for asks, replies and reports
//! ```
//!
//! Invariants:
//! 1. Whatever the bytes are, decoding ends with frames or with one typed error. It allocates
//!    nothing: frames borrow from the packet.
//! 2. A frame that decodes encodes to the same bytes, a run of PADs apart. [LINK-2]

#![deny(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation,
    clippy::wildcard_enum_match_arm
)]

use super::ack::Ack;
use super::close::CloseReason;
use super::envelope::{Address, Class, Envelope, Kind};
use super::wire::{NoRoom, Reader, Writer, varint_len};

/// What is wrong with a packet's inside.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FrameError {
    /// It ends within a frame.
    #[error("the packet ends within a frame")]
    Truncated,
    /// A frame of a type that there is not.
    #[error("there is no frame of type {0}")]
    UnknownType(u8),
    /// An integer in a longer form than it needs.
    #[error("an integer is longer than it need be")]
    LongVarint,
    /// A message of a kind that there is not.
    #[error("there is no message of kind {0}")]
    UnknownKind(u8),
    /// A credit of a class that there is not.
    #[error("there is no credit of class {0}")]
    UnknownClass(u8),
    /// An acknowledgement that reaches below packet 0.
    #[error("an acknowledgement reaches below packet 0")]
    AckBelowZero,
    /// A fragment without bytes, with bytes beyond its message's end, or of another class than it.
    #[error("a fragment is empty, reaches beyond its message, or is of another class")]
    BadFragment,
    /// A predecessor further back than a window reaches.
    #[error("a predecessor lies further back than a window reaches")]
    BadPredecessor,
    /// A packet without a frame.
    #[error("the packet holds no frame")]
    Empty,
    /// A packet with more than one acknowledgement.
    #[error("the packet holds more than one acknowledgement")]
    SecondAck,
}

/// One frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Frame<'a> {
    Pad,
    Ping,
    Ack(Ack<'a>),
    Message(Message<'a>),
    Fragment(Fragment<'a>),
    LaneCredit { class: Class, limit: u64 },
    MailboxCredit { to: Address, limit: u64 },
    PathChallenge(u64),
    PathResponse(u64),
    Close(CloseReason),
}

/// A whole message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Message<'a> {
    /// The low bits of its place in the lane.
    pub(super) sequence: u32,
    pub(super) head: Head,
    pub(super) payload: &'a [u8],
}

/// A part of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fragment<'a> {
    pub(super) sequence: u32,
    /// That of the message's kind, which only the first fragment tells.
    pub(super) class: Class,
    /// The length of the message's payload.
    pub(super) total: u64,
    pub(super) offset: u64,
    /// There at offset 0 alone.
    pub(super) head: Option<Head>,
    pub(super) payload: &'a [u8],
}

/// An envelope and where its message stands in the order of its pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) envelope: Envelope,
    /// How far back in the lane the pair's last message is; 0 if the receiver has surely got it.
    pub(super) predecessor: u16,
}

const PAD: u8 = 0;
const PING: u8 = 1;
pub(super) const ACK: u8 = 2;
pub(super) const ACK_ECN: u8 = 3;
const MESSAGE: u8 = 4;
const FRAGMENT: u8 = 5;
const LANE_CREDIT: u8 = 6;
const MAILBOX_CREDIT: u8 = 7;
const PATH_CHALLENGE: u8 = 8;
const PATH_RESPONSE: u8 = 9;
const CLOSE: u8 = 10;

/// The most bytes of a [`Frame::MailboxCredit`].
pub(super) const MAILBOX_CREDIT_LEN_MAX: usize = 17;

/// The most bytes of a [`Frame::LaneCredit`].
pub(super) const LANE_CREDIT_LEN_MAX: usize = 10;

/// The bytes of a challenge or its response.
pub(super) const PATH_LEN: usize = 9;

/// The furthest back that a predecessor may lie, which bounds the window.
pub(super) const PREDECESSOR_MAX: u16 = 1 << 15;

impl<'a> Frame<'a> {
    /// Takes the next frame off a packet that is not at its end.
    pub(super) fn read(reader: &mut Reader<'a>) -> Result<Self, FrameError> {
        Ok(match reader.u8()? {
            PAD => {
                reader.skip_zeros();
                Self::Pad
            }
            PING => Self::Ping,
            ACK => Self::Ack(Ack::read(reader, ACK)?),
            ACK_ECN => Self::Ack(Ack::read(reader, ACK_ECN)?),
            MESSAGE => Self::Message(Message::read(reader)?),
            FRAGMENT => Self::Fragment(Fragment::read(reader)?),
            LANE_CREDIT => {
                let number = reader.u8()?;
                let class = Class::from_wire(number).ok_or(FrameError::UnknownClass(number))?;
                Self::LaneCredit { class, limit: reader.varint()? }
            }
            MAILBOX_CREDIT => {
                Self::MailboxCredit { to: read_address(reader)?, limit: reader.varint()? }
            }
            PATH_CHALLENGE => Self::PathChallenge(reader.u64()?),
            PATH_RESPONSE => Self::PathResponse(reader.u64()?),
            CLOSE => Self::Close(CloseReason::from_wire(reader.varint()?)),
            other => return Err(FrameError::UnknownType(other)),
        })
    }

    /// Puts the frame into a packet; half of it may be there if there is no room.
    pub(super) fn write(&self, writer: &mut Writer<'_>) -> Result<(), NoRoom> {
        match self {
            Self::Pad => writer.u8(PAD),
            Self::Ping => writer.u8(PING),
            Self::Ack(ack) => ack.write(writer),
            Self::Message(message) => message.write(writer),
            Self::Fragment(fragment) => fragment.write(writer),
            Self::LaneCredit { class, limit } => {
                writer.bytes(&[LANE_CREDIT, *class as u8])?;
                writer.varint(*limit)
            }
            Self::MailboxCredit { to, limit } => {
                writer.u8(MAILBOX_CREDIT)?;
                writer.u32(to.slot)?;
                writer.u32(to.generation)?;
                writer.varint(*limit)
            }
            Self::PathChallenge(token) => {
                writer.u8(PATH_CHALLENGE)?;
                writer.u64(*token)
            }
            Self::PathResponse(token) => {
                writer.u8(PATH_RESPONSE)?;
                writer.u64(*token)
            }
            Self::Close(reason) => {
                writer.u8(CLOSE)?;
                writer.varint(reason.to_wire())
            }
        }
    }
}

impl<'a> Message<'a> {
    /// The bytes of a frame with such a payload.
    #[inline]
    pub(super) fn frame_len(kind: Kind, payload: usize) -> usize {
        let fixed = 5_usize.saturating_add(Head::len(kind));
        fixed.saturating_add(varint_len(payload as u64)).saturating_add(payload)
    }

    /// The next frame, if it is a message: most are, and what is made of them is no frame of any kind on the way.
    #[inline]
    pub(super) fn next(reader: &mut Reader<'a>) -> Option<Result<Self, FrameError>> {
        reader.skip_byte(MESSAGE).then(|| Self::read(reader))
    }

    /// Passes over the next frame, if it is a message; says how long its payload is. Nothing else of it is looked at.
    #[inline]
    pub(super) fn pass_over(reader: &mut Reader<'a>) -> Option<u64> {
        let mut rest = *reader;
        let [frame, _, _, _, _, kind, ..] = rest.array::<26>().ok()?;
        if frame != MESSAGE {
            return None;
        }
        if Kind::from_wire(kind)?.correlates() {
            rest.u64().ok()?;
        }
        let len = rest.varint().ok()?;
        rest.bytes(len).ok()?;
        *reader = rest;
        Some(len)
    }

    #[inline]
    fn read(reader: &mut Reader<'a>) -> Result<Self, FrameError> {
        let [a, b, c, d, head @ ..] = reader.array::<25>()?;
        let head = Head::of(head, reader)?;
        let len = reader.varint()?;
        let sequence = u32::from_le_bytes([a, b, c, d]);
        Ok(Self { sequence, head, payload: reader.bytes(len)? })
    }

    #[inline]
    pub(super) fn write(&self, writer: &mut Writer<'_>) -> Result<(), NoRoom> {
        let [kind, a, b, c, d, head @ ..] = writer.array::<26>()?;
        *kind = MESSAGE;
        [*a, *b, *c, *d] = self.sequence.to_le_bytes();
        self.head.put(head);
        self.head.write_correlation(writer)?;
        writer.varint(self.payload.len() as u64)?;
        writer.bytes(self.payload)
    }
}

impl<'a> Fragment<'a> {
    /// The most bytes of such a frame beside its payload.
    pub(super) fn overhead(kind: Kind, total: u64, offset: u64) -> usize {
        let head = if offset == 0 { Head::len(kind) } else { 0 };
        // A payload's length takes at most as many bytes as its message's.
        let varints = varint_len(total).saturating_mul(2).saturating_add(varint_len(offset));
        head.saturating_add(varints).saturating_add(6)
    }

    fn read(reader: &mut Reader<'a>) -> Result<Self, FrameError> {
        let sequence = reader.u32()?;
        let number = reader.u8()?;
        let class = Class::from_wire(number).ok_or(FrameError::UnknownClass(number))?;
        let (total, offset) = (reader.varint()?, reader.varint()?);
        let head = if offset == 0 { Some(Head::read(reader)?) } else { None };
        if head.is_some_and(|head| head.envelope.kind.class() != class) {
            return Err(FrameError::BadFragment);
        }
        let len = reader.varint()?;
        let payload = reader.bytes(len)?;
        let end = offset.checked_add(len).ok_or(FrameError::BadFragment)?;
        if payload.is_empty() || end > total {
            return Err(FrameError::BadFragment);
        }
        Ok(Self { sequence, class, total, offset, head, payload })
    }

    pub(super) fn write(&self, writer: &mut Writer<'_>) -> Result<(), NoRoom> {
        writer.u8(FRAGMENT)?;
        writer.u32(self.sequence)?;
        writer.u8(self.class as u8)?;
        writer.varint(self.total)?;
        writer.varint(self.offset)?;
        if let Some(head) = &self.head {
            head.write(writer)?;
        }
        writer.varint(self.payload.len() as u64)?;
        writer.bytes(self.payload)
    }
}

impl Head {
    const fn len(kind: Kind) -> usize {
        if kind.correlates() { 29 } else { 21 }
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self, FrameError> {
        Self::of(reader.array()?, reader)
    }

    /// That of those bytes, and of a correlation behind them, if it has one.
    #[inline]
    fn of(fixed: [u8; 21], reader: &mut Reader<'_>) -> Result<Self, FrameError> {
        // All at once: this is most of the work for a small message.
        let [number, m0, m1, addresses @ .., p0, p1] = fixed;
        let kind = Kind::from_wire(number).ok_or(FrameError::UnknownKind(number))?;
        let predecessor = u16::from_le_bytes([p0, p1]);
        if predecessor > PREDECESSOR_MAX {
            return Err(FrameError::BadPredecessor);
        }
        let manifest = u16::from_le_bytes([m0, m1]);
        let [to, from] = addresses_of(u128::from_le_bytes(addresses));
        let correlation = if kind.correlates() { reader.u64()? } else { 0 };
        Ok(Self { envelope: Envelope { to, from, kind, manifest, correlation }, predecessor })
    }

    fn write(&self, writer: &mut Writer<'_>) -> Result<(), NoRoom> {
        self.put(writer.array()?);
        self.write_correlation(writer)
    }

    /// Puts all but the correlation there.
    #[inline]
    fn put(&self, fixed: &mut [u8; 21]) {
        let Envelope { to, from, kind, manifest, .. } = &self.envelope;
        let [number, m0, m1, addresses @ .., p0, p1] = fixed;
        *number = *kind as u8;
        [*m0, *m1] = manifest.to_le_bytes();
        *addresses = (u128::from(to.number()) | u128::from(from.number()) << 64).to_le_bytes();
        [*p0, *p1] = self.predecessor.to_le_bytes();
    }

    #[inline]
    fn write_correlation(&self, writer: &mut Writer<'_>) -> Result<(), NoRoom> {
        let Envelope { kind, correlation, .. } = self.envelope;
        if kind.correlates() { writer.u64(correlation) } else { Ok(()) }
    }
}

/// Two addresses as they lie behind one another.
#[expect(clippy::cast_possible_truncation, reason = "each takes its 32 bits")]
fn addresses_of(number: u128) -> [Address; 2] {
    [number, number >> 64]
        .map(|bits| Address { slot: bits as u32, generation: (bits >> 32) as u32 })
}

fn read_address(reader: &mut Reader<'_>) -> Result<Address, FrameError> {
    Ok(Address { slot: reader.u32()?, generation: reader.u32()? })
}

#[cfg(test)]
#[allow(clippy::indexing_slicing, clippy::arithmetic_side_effects, reason = "a test may panic")]
mod tests;
