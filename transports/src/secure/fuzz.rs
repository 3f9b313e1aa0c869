//! What stands in front of the keys, under bytes that somebody chose: headers, hellos and the replay window.

#[cfg(fuzzing)]
pub(super) mod products;

use super::hello::{HELLO_BYTES, Hello, Tai64n};
use super::replay::{Replay, Window};
use super::wire::{
    DataHeader, HEADER_BYTES, HandshakeHeader, Kind, OVERHEAD_BYTES, short_header, short_index,
};
use crate::fuzz::Choices;
use std::collections::BTreeSet;

/// Whatever a datagram begins with: what is read of it is written as the same bytes. [UDP-1] [UDP-2]
pub fn wire(bytes: &[u8]) {
    if let Ok(kind) = Kind::of(bytes) {
        assert_eq!(kind.byte(), bytes[0]);
    }
    if let Ok(header) = DataHeader::decode(bytes) {
        assert!(bytes.len() >= OVERHEAD_BYTES);
        assert_eq!(header.encode()[1..], bytes[1..HEADER_BYTES]);
    }
    for kind in [Kind::Init, Kind::Resp, Kind::Finish] {
        if let Ok((header, length)) = HandshakeHeader::decode(kind, bytes) {
            let mut again = Vec::new();
            header.encode(&mut again);
            assert_eq!((again.len(), &again[1..]), (length, &bytes[1..length]));
        }
    }
    for kind in [Kind::Cookie, Kind::Reset] {
        if let Ok(index) = short_index(bytes, bytes.len()) {
            let mut again = Vec::new();
            short_header(kind, index, &mut again);
            assert_eq!(again[1..], bytes[1..again.len()]);
        }
    }
    let hello = Hello::decode(bytes);
    assert_eq!(hello.is_some(), bytes.len() >= HELLO_BYTES);
    if let Some(hello) = hello {
        assert_eq!(hello.encode(), bytes[..HELLO_BYTES]);
        assert!(hello.time.next() > hello.time || hello.time == Tai64n([u8::MAX; 12]));
    }
}

/// A window of 128 numbers beside a set of all that came, about the places where it is likeliest to be wrong.
/// [UDP-12]
pub fn replay(bytes: &[u8]) {
    const SPAN: u64 = Window::<2>::SPAN;
    let (mut window, mut choices) = (Window::<2>::new(), Choices(bytes));
    let (mut seen, mut highest, mut number) = (BTreeSet::new(), None::<u64>, 0_u64);
    while !choices.is_over() {
        let (choice, step) = (choices.u8(), u64::from(choices.u8()));
        number = match choice % 8 {
            0..3 => number.wrapping_add(step),
            3..6 => number.wrapping_sub(step),
            6 => number.wrapping_add(SPAN * step / 8),
            _ => step << (choice / 4),
        };
        let below = highest.is_some_and(|highest| highest >= number && highest - number >= SPAN);
        let expected = match (below, seen.contains(&number)) {
            (true, _) => Err(Replay::TooOld),
            (false, true) => Err(Replay::Seen),
            (false, false) => Ok(()),
        };
        assert_eq!(window.check(number), expected, "{number}, the highest is {highest:?}");
        // A packet that does not open is looked up and never marked.
        if expected.is_ok() && choice < 224 {
            window.mark(number);
            seen.insert(number);
            highest = highest.max(Some(number));
        }
        assert_eq!(window.highest(), highest);
    }
}
