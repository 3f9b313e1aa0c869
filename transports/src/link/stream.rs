//! What is longer than a message: chunks of it, each a message of its own. [LINK-64]
//!
//! A stream goes from one sender to one receiver, whose messages keep their order; so chunks need no
//! more than to say which stream they belong to and whether there is more. Each waits for credit like
//! any message, so a receiver that is slow holds up the stream, and no end ever has all of it in memory.
//!
//! A chunk is a head and bytes: stream varint, then offset twice plus one for the last: varint.

use super::frame::FrameError;
use super::wire::{Reader, VARINT_MAX, Writer, varint_len};
use std::collections::BTreeMap;

/// The longest stream in bytes, which is more than a disk holds.
const STREAM_LEN_MAX: u64 = VARINT_MAX / 2;

/// Cuts a stream into chunks.
///
/// ```
/// use greenroom_transports::link::{ChunkReader, ChunkWriter};
///
/// let mut message = Vec::new();
/// let mut writer = ChunkWriter::new(7);
/// let mut reader = ChunkReader::new(16);
///
/// writer.write(b"a long ", &mut message)?;
/// assert_eq!(reader.read(&message)?.bytes, b"a long ");
/// writer.write_last(b"story", &mut message)?;
/// let last = reader.read(&message)?;
/// assert_eq!((last.stream, last.offset, last.is_last), (7, 7, true));
/// # Ok::<(), greenroom_transports::link::ChunkError>(())
/// ```
#[derive(Debug)]
pub struct ChunkWriter {
    stream: u64,
    offset: u64,
    is_over: bool,
}

/// Checks that the chunks of streams come as they were cut.
///
/// One for each sender. It keeps a number for each open stream, not their bytes.
#[derive(Debug)]
pub struct ChunkReader {
    /// The next offset of each open stream.
    open: BTreeMap<u64, u64>,
    streams_max: usize,
}

/// A part of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chunk<'a> {
    /// The stream, by the number that its sender gave it.
    pub stream: u64,
    /// How many bytes of it came before.
    pub offset: u64,
    /// Whether the stream ends here.
    pub is_last: bool,
    /// The bytes.
    pub bytes: &'a [u8],
}

/// Why a chunk cannot be written or is not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ChunkError {
    /// It has no head.
    #[error("the message is no chunk")]
    Malformed(#[from] FrameError),
    /// A chunk before it is missing, or came twice.
    #[error("the chunk begins at {found}, not at {expected}")]
    OutOfOrder {
        /// Where the stream goes on.
        expected: u64,
        /// Where the chunk begins.
        found: u64,
    },
    /// The sender has too many streams open.
    #[error("more than {0} streams are open")]
    TooManyStreams(usize),
    /// The stream has ended.
    #[error("the stream has ended")]
    Over,
    /// The stream, or its number, is too long.
    #[error("a stream and its number have less than 2^61")]
    TooLong,
}

impl ChunkWriter {
    /// The beginning of a stream, with a number that no other open one of this sender to the same receiver
    /// has.
    #[must_use]
    pub const fn new(stream: u64) -> Self {
        Self { stream, offset: 0, is_over: false }
    }

    /// Makes `message` the chunk with the next bytes. Its old content is dropped, its memory used.
    ///
    /// # Errors
    /// The stream has ended, or is too long.
    pub fn write(&mut self, bytes: &[u8], message: &mut Vec<u8>) -> Result<(), ChunkError> {
        self.cut(bytes, message, false)
    }

    /// Makes `message` the chunk with the last bytes.
    ///
    /// # Errors
    /// The stream has ended, or is too long.
    pub fn write_last(&mut self, bytes: &[u8], message: &mut Vec<u8>) -> Result<(), ChunkError> {
        self.cut(bytes, message, true)
    }

    fn cut(&mut self, bytes: &[u8], message: &mut Vec<u8>, last: bool) -> Result<(), ChunkError> {
        if self.is_over {
            return Err(ChunkError::Over);
        }
        let end = self.offset.saturating_add(bytes.len() as u64);
        if end > STREAM_LEN_MAX || self.stream > VARINT_MAX {
            return Err(ChunkError::TooLong);
        }
        let place = self.offset * 2 + u64::from(last);
        message.clear();
        message.resize(varint_len(self.stream) + varint_len(place), 0);
        let mut writer = Writer::new(message);
        let written = writer.varint(self.stream).and_then(|()| writer.varint(place));
        debug_assert_eq!(written, Ok(()), "the head is as long as its numbers");
        message.extend_from_slice(bytes);
        (self.offset, self.is_over) = (end, last);
        Ok(())
    }
}

impl ChunkReader {
    /// Takes chunks of at most so many streams at a time.
    #[must_use]
    pub const fn new(streams_max: usize) -> Self {
        Self { open: BTreeMap::new(), streams_max }
    }

    /// Takes the next message with a chunk. A stream begins with its first one.
    ///
    /// # Errors
    /// It is none, or not the next one of its stream. Then the stream is as it was.
    pub fn read<'a>(&mut self, message: &'a [u8]) -> Result<Chunk<'a>, ChunkError> {
        let mut reader = Reader::new(message);
        let (stream, place) = (reader.varint()?, reader.varint()?);
        let (offset, is_last, bytes) = (place / 2, place % 2 == 1, reader.rest());
        let expected = self.open.get(&stream).copied();
        if offset != expected.unwrap_or(0) {
            let expected = expected.unwrap_or(0);
            return Err(ChunkError::OutOfOrder { expected, found: offset });
        }
        if is_last {
            self.open.remove(&stream);
        } else if expected.is_none() && self.open.len() >= self.streams_max {
            return Err(ChunkError::TooManyStreams(self.streams_max));
        } else {
            self.open.insert(stream, offset + bytes.len() as u64);
        }
        Ok(Chunk { stream, offset, is_last, bytes })
    }

    /// Forgets a stream whose rest is not wanted. Chunks of it are refused from now on.
    pub fn forget(&mut self, stream: u64) {
        self.open.remove(&stream);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        // [LINK-64]
        #[test]
        fn streams_come_as_they_were_cut(
            cuts in prop::collection::vec((0..4_u64, prop::collection::vec(any::<u8>(), 0..40)), 0..60),
        ) {
            let mut writers: BTreeMap<u64, ChunkWriter> = BTreeMap::new();
            let mut sent: BTreeMap<u64, Vec<u8>> = BTreeMap::new();
            let mut come: BTreeMap<u64, Vec<u8>> = BTreeMap::new();
            let (mut reader, mut message) = (ChunkReader::new(4), Vec::new());
            for (stream, bytes) in &cuts {
                let writer = writers.entry(*stream).or_insert_with(|| ChunkWriter::new(*stream));
                writer.write(bytes, &mut message).expect("it is short");
                sent.entry(*stream).or_default().extend(bytes);
                let chunk = reader.read(&message).expect("in order");
                prop_assert!(!chunk.is_last);
                come.entry(chunk.stream).or_default().extend(chunk.bytes);
                if !bytes.is_empty() {
                    let again = matches!(reader.read(&message), Err(ChunkError::OutOfOrder { .. }));
                    prop_assert!(again, "a chunk that comes twice");
                }
            }
            for (stream, writer) in &mut writers {
                writer.write_last(b"end", &mut message).expect("it is short");
                prop_assert_eq!(writer.write(b"more", &mut Vec::new()), Err(ChunkError::Over));
                let chunk = reader.read(&message).expect("in order");
                prop_assert_eq!((chunk.stream, chunk.is_last, chunk.bytes), (*stream, true, &b"end"[..]));
            }
            prop_assert_eq!(sent, come);
            prop_assert!(reader.open.is_empty());
        }

        // [LINK-64]
        #[test]
        fn whatever_comes_there_is_an_answer(messages in prop::collection::vec(
            prop::collection::vec(any::<u8>(), 0..12), 0..40,
        )) {
            let mut reader = ChunkReader::new(2);
            for message in messages {
                let _ = reader.read(&message);
                prop_assert!(reader.open.len() <= 2);
            }
        }
    }

    #[test]
    fn what_is_too_much_is_refused() {
        let mut message = Vec::new();
        let refused = ChunkWriter::new(u64::MAX).write(b"x", &mut message);
        assert_eq!(refused, Err(ChunkError::TooLong));
        let mut reader = ChunkReader::new(1);
        ChunkWriter::new(1).write(b"x", &mut message).expect("the first");
        reader.read(&message).expect("the first");
        let mut second = ChunkWriter::new(2);
        second.write(b"x", &mut message).expect("written");
        assert_eq!(reader.read(&message), Err(ChunkError::TooManyStreams(1)));
        reader.forget(1);
        assert!(reader.read(&message).is_ok());
        assert_eq!(reader.read(&[]), Err(ChunkError::Malformed(FrameError::Truncated)));
    }
}
