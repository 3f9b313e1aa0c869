//! Several messages to one actor in one frame. [ENV-18]
//!
//! Whoever tells faster than messages leave has them wait in a proxy. Those that wait there together leave together:
//! what a frame costs, at the link above all, is theirs in common. No message waits for others to come.

use super::frame::{Envelope, Frame, HEAD_BYTES_MAX, LENGTH_BYTES, OTHER, Tells};
use super::manifest::MessageId;
use super::scratch;
use super::session::WIDTH_MIN;
use crate::sync::planted;

/// Bytes of messages in a bundle at most, so that it is one packet of any path. One that is longer goes by itself.
const BYTES_MAX: usize = 1100;

/// No frame of several messages is longer.
pub(super) const FRAME_BYTES_MAX: usize = HEAD_BYTES_MAX + BYTES_MAX;

/// Messages in one frame at most: for half of the narrowest window there is credit sooner or later. [ENV-18]
pub(super) const MESSAGES_MAX: u32 = WIDTH_MIN / 2;

/// Where the length of the first message is; which one it is stands behind it.
const FIRST_AT: usize = HEAD_BYTES_MAX - LENGTH_BYTES;

/// Bytes that say which message it is.
const SHAPE_BYTES: usize = 8;

/// A message as the other node knows it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Shape {
    pub(super) id: MessageId,
    pub(super) schema: u32,
}

/// Messages that are to leave together, behind room for the head of a frame.
#[derive(Default)]
pub(super) struct Bundle {
    bytes: Vec<u8>,
    messages: u32,
    /// Which one the last of them is.
    shape: Option<Shape>,
    /// Bytes of the last of them.
    last: usize,
    /// For how many there is credit, at least.
    credit: u64,
}

/// A frame, and how many messages are in it.
pub(super) struct Bound {
    /// The frame, behind what stands before it.
    pub(super) bytes: Vec<u8>,
    /// Where the frame begins.
    pub(super) start: usize,
    pub(super) messages: u32,
}

impl Bundle {
    /// How many messages are in it.
    pub(super) fn messages(&self) -> u32 {
        self.messages
    }

    /// Whether another message like the last may join those that are there. Those for which there is credit do not wait for
    /// credit for more: then the receiver sees that its sender has used all up.
    pub(super) fn has_room(&self) -> bool {
        planted!("net-bundle-past-credit": u64::from(self.messages) != self.credit => true)
            && self.messages < MESSAGES_MAX
            && self.bytes.len() + self.last <= FRAME_BYTES_MAX
    }

    /// Notes for how many messages there is credit.
    pub(super) fn set_credit(&mut self, messages: u64) {
        self.credit = messages;
    }

    /// Begins a message, whose arguments are to go behind the bytes that there are then; returns where they begin.
    pub(super) fn begin(&mut self) -> (usize, &mut Vec<u8>) {
        if self.messages == 0 {
            self.bytes = scratch::take();
            self.bytes.resize(HEAD_BYTES_MAX, 0);
        } else {
            self.bytes.extend([0; LENGTH_BYTES]);
        }
        (self.bytes.len(), &mut self.bytes)
    }

    /// Whether what was there when the message was begun is there still.
    pub(super) fn is_whole(&self, at: usize) -> bool {
        self.bytes.len() >= at
    }

    /// Forgets the message that was begun; returns how many others its codec has destroyed, which is to add bytes and to
    /// touch no others.
    pub(super) fn forget(&mut self, at: usize) -> u32 {
        if self.messages > 0 && self.is_whole(at) {
            self.bytes.truncate(at - LENGTH_BYTES);
            return 0;
        }
        scratch::give(std::mem::take(&mut self.bytes));
        self.shape = None;
        std::mem::take(&mut self.messages)
    }

    /// Takes the message that was begun out: its arguments behind room for the head of a frame.
    pub(super) fn split(&mut self, at: usize) -> Vec<u8> {
        let mut others = Vec::new();
        if self.messages > 0 {
            // They are the shorter ones, and what is long keeps its memory.
            others = scratch::take();
            others.extend_from_slice(&self.bytes[..at - LENGTH_BYTES]);
        }
        std::mem::replace(&mut self.bytes, others)
    }

    /// Whether the message that was begun can be no part of what is there.
    pub(super) fn is_too_long(&self) -> bool {
        self.messages > 0 && self.bytes.len() > FRAME_BYTES_MAX
    }

    /// Adds the message that was begun, and is one that is told.
    pub(super) fn add(&mut self, at: usize, shape: Shape) {
        // One that is too long for its length is alone in its frame, which has none.
        let mut length = u32::try_from(self.bytes.len() - at).unwrap_or_default();
        if self.shape.replace(shape) != Some(shape) {
            length |= OTHER;
            self.bytes.extend_from_slice(&shape.id.0.to_le_bytes());
            self.bytes.extend_from_slice(&shape.schema.to_le_bytes());
        }
        self.bytes[at - LENGTH_BYTES..at].copy_from_slice(&length.to_le_bytes());
        self.last = self.bytes.len() - at + LENGTH_BYTES;
        self.messages += 1;
    }

    /// The frame of all that is there; then nothing is.
    pub(super) fn close(&mut self, actor: u64, version: u16) -> Option<Bound> {
        let shape = self.shape.take()?;
        let mut bytes = std::mem::take(&mut self.bytes);
        let messages = std::mem::take(&mut self.messages);
        let start = if messages == 1 {
            bytes.truncate(bytes.len() - SHAPE_BYTES);
            put_head(&tell(actor, version, shape), &mut bytes, HEAD_BYTES_MAX)
        } else {
            let head = Frame::Tells(Tells::new(actor, version, &[]));
            put_head(&head, &mut bytes, FIRST_AT)
        };
        Some(Bound { bytes, start, messages })
    }
}

/// A frame of one message, without its arguments.
pub(super) fn tell(actor: u64, version: u16, shape: Shape) -> Frame<'static> {
    Frame::Tell(envelope(actor, version, shape))
}

/// The envelope of a message, without its arguments.
pub(super) fn envelope(actor: u64, version: u16, shape: Shape) -> Envelope<'static> {
    Envelope { actor, version, message: shape.id.0, schema: shape.schema, arguments: &[] }
}

/// Puts the head of a frame in front of what is at `end`, where there is room for it; returns where it begins.
pub(super) fn put_head(frame: &Frame<'_>, bytes: &mut Vec<u8>, end: usize) -> usize {
    // Written behind everything first, as only that says how long it is.
    let behind = bytes.len();
    frame.write(bytes);
    let start = end - (bytes.len() - behind);
    bytes.copy_within(behind.., start);
    bytes.truncate(behind);
    start
}
