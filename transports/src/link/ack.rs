//! Acknowledgements: which packets an end has got, and when to say so.
//!
//! The ranges of a frame go from the highest packet downwards, as in RFC 9000, section 19.3: each
//! further range gives the missing packets above it less one, and its own packets less one.

#![deny(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation
)]

use super::frame::{ACK, ACK_ECN, FrameError};
use super::ranges::Ranges;
use super::wire::{NoRoom, Reader, Writer};
use std::ops::RangeInclusive;

/// How many packets came with each mark of explicit congestion notification (RFC 3168).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct EcnCounts {
    pub(super) ect0: u64,
    pub(super) ect1: u64,
    pub(super) ce: u64,
}

/// The content of an acknowledgement; its ranges are read as they are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ack<'a> {
    pub(super) largest: u64,
    /// Microseconds between the arrival of the largest and this frame.
    pub(super) delay_us: u64,
    pub(super) ecn: Option<EcnCounts>,
    first: u64,
    /// The further ranges, checked.
    further: Reader<'a>,
    count: u64,
}

impl PartialEq for Reader<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.rest() == other.rest()
    }
}

impl Eq for Reader<'_> {}

impl<'a> Ack<'a> {
    pub(super) fn read(reader: &mut Reader<'a>, frame_type: u8) -> Result<Self, FrameError> {
        let (largest, delay_us) = (reader.varint()?, reader.varint()?);
        let (count, first) = (reader.varint()?, reader.varint()?);
        let mut lowest = largest.checked_sub(first).ok_or(FrameError::AckBelowZero)?;
        let start = reader.rest();
        for _ in 0..count {
            let (gap, len) = (reader.varint()?, reader.varint()?);
            lowest = below(lowest, gap, len).ok_or(FrameError::AckBelowZero)?.0;
        }
        let used = start.len().saturating_sub(reader.rest().len());
        let further = Reader::new(start.get(..used).unwrap_or_default());
        let ecn = if frame_type == ACK_ECN { Some(EcnCounts::read(reader)?) } else { None };
        Ok(Self { largest, delay_us, ecn, first, further, count })
    }

    /// The acknowledged packets, highest range first.
    pub(super) fn ranges(&self) -> impl Iterator<Item = RangeInclusive<u64>> + use<'a> {
        let mut lowest = self.largest.saturating_sub(self.first);
        let highest = lowest..=self.largest;
        let mut further = self.further;
        let rest = std::iter::from_fn(move || {
            let (gap, len) = (further.varint().ok()?, further.varint().ok()?);
            let (low, high) = below(lowest, gap, len)?;
            lowest = low;
            Some(low..=high)
        });
        std::iter::once(highest).chain(rest)
    }

    pub(super) fn write(&self, writer: &mut Writer<'_>) -> Result<(), NoRoom> {
        writer.u8(if self.ecn.is_some() { ACK_ECN } else { ACK })?;
        for number in [self.largest, self.delay_us, self.count, self.first] {
            writer.varint(number)?;
        }
        writer.bytes(self.further.rest())?;
        self.ecn.map_or(Ok(()), |counts| counts.write(writer))
    }
}

impl EcnCounts {
    fn read(reader: &mut Reader<'_>) -> Result<Self, FrameError> {
        Ok(Self { ect0: reader.varint()?, ect1: reader.varint()?, ce: reader.varint()? })
    }

    fn write(self, writer: &mut Writer<'_>) -> Result<(), NoRoom> {
        writer.varint(self.ect0)?;
        writer.varint(self.ect1)?;
        writer.varint(self.ce)
    }
}

/// The range that lies `gap` and one packets below `lowest`.
fn below(lowest: u64, gap: u64, len: u64) -> Option<(u64, u64)> {
    let high = lowest.checked_sub(gap)?.checked_sub(2)?;
    Some((high.checked_sub(len)?, high))
}

/// Room that an acknowledgement of one range needs at most.
pub(super) const ACK_LEN_MIN: usize = 1 + 8 + 8 + 8 + 8 + 24;

/// Room that each further range needs at most.
const RANGE_LEN_MAX: usize = 16;

/// Writes an acknowledgement of the highest received packets, as many ranges as there is room for.
///
/// The caller has seen to it that there is room for one range, and that there is one.
pub(super) fn write_received(
    received: &Ranges,
    delay_us: u64,
    ecn: Option<EcnCounts>,
    writer: &mut Writer<'_>,
) -> Result<(), NoRoom> {
    let room = writer.room().saturating_sub(ACK_LEN_MIN) / RANGE_LEN_MAX;
    let further = received.count().saturating_sub(1).min(room);
    let mut ranges = received.descending();
    let highest = ranges.next().ok_or(NoRoom)?;
    writer.u8(if ecn.is_some() { ACK_ECN } else { ACK })?;
    writer.varint(highest.end.saturating_sub(1))?;
    writer.varint(delay_us)?;
    writer.varint(further as u64)?;
    writer.varint(highest.end.saturating_sub(highest.start).saturating_sub(1))?;
    let mut above = highest.start;
    for range in ranges.take(further) {
        writer.varint(above.saturating_sub(range.end).saturating_sub(1))?;
        writer.varint(range.end.saturating_sub(range.start).saturating_sub(1))?;
        above = range.start;
    }
    ecn.map_or(Ok(()), |counts| counts.write(writer))
}
