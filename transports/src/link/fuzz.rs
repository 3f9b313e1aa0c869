//! The engine under bytes that somebody chose: frames, acknowledgements, a lane, two lanes.

mod lane;
mod pair;

pub use lane::lane;
pub use pair::pair;

use super::ack::{ACK_LEN_MIN, Ack, write_received};
use super::frame::{ACK, Frame};
use super::ranges::Ranges;
use super::wire::{Reader, Writer};
use crate::fuzz::Choices;
use std::collections::BTreeSet;
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
