//! The arguments of one command.

use super::Error;
use crate::kv::resp::{Move, Span, parse_integer};

/// A command's words, the command's name first. Copying it copies two references.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Args<'a> {
    buffer: &'a [u8],
    spans: &'a [Span],
}

impl<'a> Args<'a> {
    pub(crate) fn new(buffer: &'a [u8], spans: &'a [Span]) -> Self {
        Args { buffer, spans }
    }

    pub(crate) fn len(self) -> usize {
        self.spans.len()
    }

    /// Returns the word at `index`; nothing if there are fewer.
    pub(crate) fn get(self, index: usize) -> &'a [u8] {
        self.spans.get(index).map_or(&[], |span| span.of(self.buffer))
    }

    /// Returns the words from `index` on.
    pub(crate) fn tail(self, index: usize) -> impl ExactSizeIterator<Item = &'a [u8]> + Clone {
        self.spans.get(index..).unwrap_or_default().iter().map(move |span| span.of(self.buffer))
    }

    /// Returns the words from `index` on, two by two.
    pub(crate) fn pairs(self, index: usize) -> impl Iterator<Item = (&'a [u8], &'a [u8])> {
        let spans = self.spans.get(index..).unwrap_or_default();
        spans.chunks_exact(2).filter_map(move |pair| match pair {
            [first, second] => Some((first.of(self.buffer), second.of(self.buffer))),
            _ => None,
        })
    }

    /// Returns the words from `index` on as a command of their own.
    pub(crate) fn from(self, index: usize) -> Self {
        Args { buffer: self.buffer, spans: self.spans.get(index..).unwrap_or_default() }
    }

    /// Returns the bytes from the first word to the end of the last, which [`copy_to`](Self::copy_to) copies.
    pub(crate) fn extent(self) -> usize {
        let (Some(first), Some(last)) = (self.spans.first(), self.spans.last()) else { return 0 };
        first.until(*last).of(self.buffer).len()
    }

    /// Appends the words to `arena` in one piece and where they came to lie to `spans`.
    ///
    /// The words must lie behind one another, as those of one command from the network do.
    pub(crate) fn copy_to(self, arena: &mut Vec<u8>, spans: &mut Vec<Span>) {
        let (Some(first), Some(last)) = (self.spans.first(), self.spans.last()) else { return };
        let moved = Move { from: first.start(), to: arena.len() };
        arena.extend_from_slice(first.until(*last).of(self.buffer));
        spans.extend(self.spans.iter().map(|span| span.moved(moved)));
    }

    /// Returns whether the word at `index` is `name`, in any case.
    pub(crate) fn is(self, index: usize, name: &str) -> bool {
        self.get(index).eq_ignore_ascii_case(name.as_bytes())
    }

    pub(crate) fn integer(self, index: usize) -> Result<i64, Error> {
        parse_integer(self.get(index)).ok_or(Error::NOT_INTEGER)
    }

    /// Reads a count that may be zero.
    pub(crate) fn count(self, index: usize) -> Result<usize, Error> {
        let count = parse_integer(self.get(index)).and_then(|count| usize::try_from(count).ok());
        count.ok_or(Error::NEGATIVE)
    }
}
