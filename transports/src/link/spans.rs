//! A set of bytes, kept as the spans they form, of which a peer may make very many.
//!
//! Invariants:
//! 1. Spans are not empty and do not touch: between two of them a byte is missing.
//! 2. `len` is how many bytes there are in all of them.
//! 3. To add one takes time logarithmic in how many there are, but for those that it joins, which are gone then.

use std::collections::BTreeMap;
use std::ops::Range;

/// A set of bytes.
#[derive(Debug, Default)]
pub(super) struct Spans {
    /// Where each ends, by where it starts.
    ends: BTreeMap<u64, u64>,
    len: u64,
}

impl Spans {
    /// How many spans there are.
    pub(super) fn count(&self) -> usize {
        self.ends.len()
    }

    /// How many bytes there are.
    pub(super) const fn len(&self) -> u64 {
        self.len
    }

    /// Where the lowest span starts and ends.
    pub(super) fn first(&self) -> Option<(u64, u64)> {
        self.ends.first_key_value().map(|(start, end)| (*start, *end))
    }

    /// Adds bytes.
    pub(super) fn insert(&mut self, added: Range<u64>) {
        if added.is_empty() {
            return;
        }
        let Range { mut start, mut end } = added;
        // Those that touch the new one become one with it, the highest first.
        while let Some((&from, &to)) = self.ends.range(..=end).next_back()
            && to >= start
        {
            self.ends.remove(&from);
            self.len -= to - from;
            (start, end) = (start.min(from), end.max(to));
        }
        self.ends.insert(start, end);
        self.len += end - start;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::ranges::Ranges;
    use proptest::prelude::*;

    proptest! {
        /// Against the ranges of numbers, whatever is added in which order.
        // [LINK-62]
        #[test]
        fn they_are_what_was_added(added in prop::collection::vec((0..300_u64, 0..40_u64), 0..60)) {
            let (mut spans, mut ranges, mut len) = (Spans::default(), Ranges::new(), 0);
            for (start, count) in added {
                spans.insert(start..start + count);
                len += ranges.insert_range(start..start + count);
                let expected: Vec<_> =
                    ranges.descending().rev().map(|range| (range.start, range.end)).collect();
                let found: Vec<_> = spans.ends.iter().map(|(start, end)| (*start, *end)).collect();
                prop_assert_eq!(&found, &expected);
                prop_assert_eq!((spans.len(), spans.first()), (len, expected.first().copied()));
            }
        }
    }
}
