//! The engine under bytes that somebody chose: frames, acknowledgements, chunks, a lane, two lanes.

mod lane;
mod pair;

pub use lane::lane;
pub use pair::pair;

use super::ack::{ACK_LEN_MIN, Ack, write_received};
use super::frame::{ACK, Frame};
use super::ranges::Ranges;
use super::stream::{ChunkError, ChunkReader, ChunkWriter};
use super::wire::{Reader, Writer};
use crate::fuzz::Choices;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;

/// Whatever is a frame is so in one form only: written again it gives the same bytes. [LINK-1] [LINK-2]
pub fn frames(bytes: &[u8]) {
    let mut reader = Reader::new(bytes);
    while !reader.is_empty() {
        let before = reader.rest();
        let Ok(frame) = Frame::read(&mut reader) else {
            return assert!(reader.rest().len() <= before.len(), "it goes back");
        };
        let used = &before[..before.len() - reader.rest().len()];
        match frame {
            Frame::Pad => assert!(used.iter().all(|byte| *byte == 0)),
            Frame::Ack(ack) => check_ranges(&ack, used.len()),
            _ => {}
        }
        if frame != Frame::Pad {
            let mut again = vec![0; used.len()];
            let mut writer = Writer::new(&mut again);
            assert_eq!(frame.write(&mut writer), Ok(()));
            assert!(writer.room() == 0 && again == used, "{frame:?} has two forms");
        }
    }
}

/// Ranges descend without touching, and there are no more than bytes could say.
fn check_ranges(ack: &Ack<'_>, len: usize) {
    let mut above: Option<u64> = None;
    for (index, range) in ack.ranges().enumerate() {
        assert!(index <= len / 2 && range.start() <= range.end());
        assert!(above.is_none_or(|above| range.end() + 1 < above), "{range:?} touches {above:?}");
        above = Some(*range.start());
    }
}

/// Numbers that came, kept as ranges and as a set; what is written of them is read as the highest of them.
/// [LINK-12]
pub fn acks(bytes: &[u8]) {
    let mut choices = Choices(bytes);
    let (mut ranges, mut set) = (Ranges::new(), BTreeSet::new());
    while !choices.is_over() {
        let (kind, start) = (choices.u8() % 8, u64::from(choices.u16() % 600));
        let span = start..start + u64::from(choices.u8() % 40);
        match kind {
            0..4 => assert_eq!(ranges.insert(start), set.insert(start)),
            4..6 => {
                let missing = span.clone().filter(|number| set.insert(*number)).count();
                assert_eq!(ranges.insert_range(span), missing as u64);
            }
            6 => {
                set.retain(|number| !span.contains(number));
                ranges.remove_range(span);
            }
            _ => {
                set.retain(|number| *number >= start);
                ranges.remove_below(start);
            }
        }
    }
    let kept: Vec<_> = ranges.descending().map(|range| range.start..=range.end - 1).collect();
    assert_eq!(kept, runs(&set));
    if !set.is_empty() {
        let mut packet = vec![0; ACK_LEN_MIN + bytes.len()];
        let mut writer = Writer::new(&mut packet);
        write_received(&ranges, 5, None, &mut writer).expect("there is room for one range");
        let written = writer.written();
        let mut reader = Reader::new(&packet[1..written]);
        let ack = Ack::read(&mut reader, ACK).expect("what was written is read");
        let told: Vec<_> = ack.ranges().collect();
        assert!(reader.is_empty() && runs(&set).starts_with(&told));
    }
}

/// The numbers of a set as ranges, highest first.
fn runs(set: &BTreeSet<u64>) -> Vec<RangeInclusive<u64>> {
    let mut runs: Vec<RangeInclusive<u64>> = Vec::new();
    for number in set.iter().rev() {
        match runs.last_mut() {
            Some(run) if *run.start() == number + 1 => *run = *number..=*run.end(),
            _ => runs.push(*number..=*number),
        }
    }
    runs
}

/// Messages that may be chunks, against a table of how far each stream has come. [LINK-64]
pub fn chunks(bytes: &[u8]) {
    const STREAMS_MAX: usize = 3;
    let mut choices = Choices(bytes);
    let (mut reader, mut model) = (ChunkReader::new(STREAMS_MAX), BTreeMap::<u64, u64>::new());
    while !choices.is_over() {
        let length = usize::from(choices.u8());
        if length > 200 {
            let stream = u64::from(choices.u8() % 4);
            reader.forget(stream);
            model.remove(&stream);
            continue;
        }
        let message = choices.take(length);
        let found = reader.read(message);
        let Some((stream, offset, last, rest)) = chunk(message) else {
            assert!(matches!(found, Err(ChunkError::Malformed(_))), "{found:?}");
            continue;
        };
        let expected = model.get(&stream).copied();
        if offset != expected.unwrap_or(0) {
            let expected = expected.unwrap_or(0);
            assert_eq!(found, Err(ChunkError::OutOfOrder { expected, found: offset }));
        } else if !last && expected.is_none() && model.len() == STREAMS_MAX {
            assert_eq!(found, Err(ChunkError::TooManyStreams(STREAMS_MAX)));
        } else {
            let found = found.expect("it is the next of its stream");
            assert_eq!(found.bytes, rest);
            assert_eq!((found.stream, found.offset, found.is_last), (stream, offset, last));
            if last {
                model.remove(&stream)
            } else {
                model.insert(stream, offset + rest.len() as u64)
            };
            written_alike(message, stream, offset, last, rest);
        }
    }
}

/// A first chunk that was read is the one that the writer makes.
fn written_alike(message: &[u8], stream: u64, offset: u64, last: bool, bytes: &[u8]) {
    if offset == 0 {
        let (mut writer, mut again) = (ChunkWriter::new(stream), Vec::new());
        let written = match last {
            true => writer.write_last(bytes, &mut again),
            false => writer.write(bytes, &mut again),
        };
        assert_eq!((written, again.as_slice()), (Ok(()), message));
    }
}

/// A chunk as the book says it looks, read without the engine: stream, offset, whether it is the last, bytes.
fn chunk(message: &[u8]) -> Option<(u64, u64, bool, &[u8])> {
    let (stream, rest) = varint(message)?;
    let (place, rest) = varint(rest)?;
    Some((stream, place / 2, place % 2 == 1, rest))
}

fn varint(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let count = 1 << (bytes.first()? >> 6);
    let (head, rest) = bytes.split_at_checked(count)?;
    let value = head.iter().fold(0, |value, byte| value << 8 | u64::from(*byte));
    let value = value & (u64::MAX >> (64 - (8 * count - 2)));
    let shortest = count == 1 || value >> (4 * count - 2) != 0;
    shortest.then_some((value, rest))
}
