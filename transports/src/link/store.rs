//! The bytes of messages, one after the other in the order in which they were taken, and let go of in that order.
//!
//! They lie in chunks, which are used again: a message costs a copy, and no buffer of its own.
//!
//! Invariants:
//! 1. The bytes of one message lie in one chunk.
//! 2. `chunks[i]` has the number `first + i`. What lay in those before was let go of.

use std::collections::VecDeque;

/// Bytes of a chunk, unless its message is longer.
const CHUNK_BYTES: usize = 16 << 10;

/// Chunks that are kept for later at most. Longer ones are rare, and would be held for nothing.
const SPARE_MAX: usize = 64;

/// See the [module](self).
#[derive(Debug, Default)]
pub(super) struct Store {
    chunks: VecDeque<Vec<u8>>,
    first: u64,
    spare: Vec<Vec<u8>>,
}

/// Where the bytes of a message are.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    chunk: u64,
    start: u32,
    len: u32,
}

impl Place {
    /// How many there are.
    #[inline]
    pub(super) const fn len(self) -> usize {
        self.len as usize
    }
}

impl Store {
    /// Copies the bytes of a message, which has at most 4 GiB.
    #[inline]
    pub(super) fn push(&mut self, bytes: &[u8]) -> Place {
        if self.chunks.back().is_none_or(|last| last.capacity() - last.len() < bytes.len()) {
            self.begin_chunk(bytes.len());
        }
        let chunk = self.first + self.chunks.len() as u64 - 1;
        let last = self.chunks.back_mut().expect("one has room");
        let start = u32::try_from(last.len()).expect("one message at most makes it longer");
        last.extend_from_slice(bytes);
        let len = u32::try_from(bytes.len()).expect("a message has at most 4 GiB");
        Place { chunk, start, len }
    }

    #[cold]
    fn begin_chunk(&mut self, len: usize) {
        let spare = if len <= CHUNK_BYTES { self.spare.pop() } else { None };
        let chunk = spare.unwrap_or_else(|| Vec::with_capacity(len.max(CHUNK_BYTES)));
        self.chunks.push_back(chunk);
    }

    /// The bytes of a message that was not let go of.
    #[inline]
    pub(super) fn get(&self, place: Place) -> &[u8] {
        let chunk = usize::try_from(place.chunk - self.first).expect("it is in memory");
        let start = place.start as usize;
        &self.chunks[chunk][start..start + place.len()]
    }

    /// Lets go of all messages that were taken before that one; of all that there are, if it is none.
    pub(super) fn keep_from(&mut self, oldest: Option<Place>) {
        let end = self.first + self.chunks.len() as u64;
        let first = oldest.map_or(end, |oldest| oldest.chunk);
        while self.first < first
            && let Some(mut chunk) = self.chunks.pop_front()
        {
            self.first += 1;
            if chunk.capacity() == CHUNK_BYTES && self.spare.len() < SPARE_MAX {
                chunk.clear();
                self.spare.push(chunk);
            }
        }
    }

    /// Lets go of what is kept for later.
    pub(super) fn trim(&mut self) {
        self.spare = Vec::new();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Against a queue of copies: whatever is taken and let go of, what is left is what it was, and no more
        /// chunks are there than it needs.
        #[test]
        fn what_is_kept_is_what_was_taken(
            steps in prop::collection::vec((any::<bool>(), prop_oneof![
                3 => 0..300_usize,
                1 => 0..3 * CHUNK_BYTES,
            ]), 1..200),
        ) {
            let mut store = Store::default();
            let mut kept: VecDeque<(Place, Vec<u8>)> = VecDeque::new();
            for (step, (is_taken, len)) in steps.into_iter().enumerate() {
                if is_taken {
                    let bytes = vec![step.to_le_bytes()[0]; len];
                    kept.push_back((store.push(&bytes), bytes));
                } else {
                    kept.drain(..kept.len().min(len % 8));
                    store.keep_from(kept.front().map(|(place, _)| *place));
                    prop_assert!(!kept.is_empty() || store.chunks.is_empty());
                }
                for (place, bytes) in &kept {
                    prop_assert_eq!(store.get(*place), &bytes[..]);
                }
                prop_assert!(store.spare.iter().all(|chunk| chunk.is_empty()));
                let bytes: usize = store.chunks.iter().map(Vec::len).sum();
                let needed: usize = kept.iter().map(|(_, bytes)| bytes.len()).sum();
                prop_assert!(!kept.is_empty() || needed <= bytes);
            }
        }
    }
}
