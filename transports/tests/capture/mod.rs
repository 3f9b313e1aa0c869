//! Reads captured datagrams as `book/src/spec/udp.md` says they look, by code of its own.

use std::collections::{BTreeMap, BTreeSet};

/// Every datagram has a documented type, length and header; data goes to an index that a handshake gave, no number
/// of a lane goes twice, and none of the words can be read. A network may double what it carries before it is
/// captured, so the same bytes may be there twice. [UDP-1] [UDP-2] [UDP-10] [UDP-31]
pub(crate) fn check(seen: &[(bool, Vec<u8>)], words: &[&str]) {
    let mut given: BTreeSet<(bool, u32)> = BTreeSet::new();
    let mut numbers: BTreeMap<(bool, u32, u8, u64), &[u8]> = BTreeMap::new();
    let mut types: BTreeMap<u8, usize> = BTreeMap::new();
    for (to_server, datagram) in seen {
        let first = datagram[0];
        assert_eq!(first & 0b1100_0111, 0x40, "fixed bits");
        let (kind, len) = ((first >> 3) & 7, datagram.len());
        *types.entry(kind).or_default() += 1;
        match kind {
            0 => {
                assert!(len >= 32 && datagram[2..4] == [0, 0], "a data packet's header");
                let (index, number) = (u32_at(datagram, 4), u64_at(datagram, 8));
                assert!(given.contains(&(!to_server, index)), "index {index} was never given");
                let before = numbers.insert((*to_server, index, datagram[1], number), datagram);
                let is_same = before.is_none_or(|before| before == datagram);
                assert!(is_same && number < 1 << 48, "number {number} goes twice under one key");
            }
            1 | 2 => {
                let lengths = if kind == 1 { [192, 1376] } else { [148, 1236] };
                let hybrid = datagram[1..4] == [1, 2, 0];
                assert!(hybrid || datagram[1..4] == [1, 1, 0], "version 1, suite 1 or 2");
                assert_eq!(len, lengths[usize::from(hybrid)]);
                given.insert((*to_server, u32_at(datagram, 4)));
            }
            3 => assert_eq!(len, 64),
            4 => assert_eq!(len, 24),
            other => panic!("a datagram of type {other}"),
        }
        for word in words.iter().map(|word| word.as_bytes()) {
            let shown = datagram.windows(word.len().min(8)).any(|bytes| word.starts_with(bytes));
            assert!(!shown, "{word:?} can be read in {len} bytes of type {kind}");
        }
    }
    assert!(types.get(&0).is_some_and(|count| *count > 50), "{types:?}");
    assert!(types.contains_key(&1) && types.contains_key(&2), "{types:?}");
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}
