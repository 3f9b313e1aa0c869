//! A message that comes in pieces.

use super::close::CloseReason;
use super::config::MESSAGE_COST;
use super::envelope::Class;
use super::frame::{Fragment, Head};
use super::pool::Pool;
use super::spans::Spans;

/// The pieces of one message.
///
/// Memory and credit grow with the end of the furthest piece, so what is allocated was granted.
#[derive(Debug)]
pub(super) struct Partial {
    class: Class,
    total: u64,
    head: Option<Head>,
    have: Spans,
    buffer: Vec<u8>,
    /// The end of the furthest piece.
    furthest: u64,
}

/// Pieces are at least as long as this, unless there is no more to send: the sender's promise, by which
/// the receiver bounds the holes it keeps account of by the bytes that have come. [LINK-62]
pub(super) const PIECE_MIN: usize = 128;

/// Holes allowed beside those that pieces of the least length can make.
const HOLES_EXTRA: u64 = 64;

impl Partial {
    pub(super) fn new(class: Class, total: u64, pool: &mut Pool) -> Self {
        let (have, buffer) = (Spans::default(), pool.take(0));
        Self { class, total, head: None, have, buffer, furthest: 0 }
    }

    /// Whether they can be of a message with that head and length. Of another class, what they have used up of its
    /// credit would be given back to the other. [LINK-62]
    pub(super) fn is_of(&self, head: &Head, len: u64) -> bool {
        let is_same = self.head.is_none_or(|known| known == *head);
        self.total == len && self.class == head.envelope.kind.class() && is_same
    }

    /// What of its credit is used.
    pub(super) const fn counted(&self) -> u64 {
        self.furthest + MESSAGE_COST
    }

    /// Notes a piece, whose bytes [`Partial::write`] takes.
    ///
    /// # Errors
    /// It contradicts an earlier one, or leaves too many holes.
    pub(super) fn insert(&mut self, fragment: &Fragment<'_>) -> Result<(), CloseReason> {
        if fragment.total != self.total || fragment.class != self.class {
            return Err(CloseReason::BadFragment);
        }
        if self.head.is_some() && fragment.head.is_some() && self.head != fragment.head {
            return Err(CloseReason::BadFragment);
        }
        self.head = self.head.or(fragment.head);
        let end = fragment.offset + fragment.payload.len() as u64;
        self.have.insert(fragment.offset..end);
        if self.have.count() as u64 > HOLES_EXTRA + self.have.len() / PIECE_MIN as u64 {
            return Err(CloseReason::BadFragment);
        }
        self.furthest = self.furthest.max(end);
        Ok(())
    }

    /// Takes the bytes of a piece that was noted and paid for.
    pub(super) fn write(&mut self, fragment: &Fragment<'_>) {
        let start = usize::try_from(fragment.offset).expect("a message has at most 4 GiB");
        let end = start + fragment.payload.len();
        if start == self.buffer.len() {
            self.buffer.extend_from_slice(fragment.payload);
            return;
        }
        if self.buffer.len() < end {
            self.buffer.resize(end, 0);
        }
        self.buffer[start..end].copy_from_slice(fragment.payload);
    }

    /// The whole message, if all pieces are there. Nothing is left then.
    pub(super) fn take_complete(&mut self) -> Option<(Head, Vec<u8>)> {
        if self.have.first() != Some((0, self.total)) {
            return None;
        }
        let head = self.head.expect("the first piece has the envelope");
        Some((head, std::mem::take(&mut self.buffer)))
    }
}
