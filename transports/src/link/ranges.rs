//! A set of numbers, kept as the ranges they form.
//!
//! Invariants:
//! 1. Ranges ascend, are not empty and do not touch: between two of them a number is missing.
//! 2. There are at most as many ranges as the caller allows; what is over is forgotten from below. [LINK-12]

use std::ops::Range;

/// A set of numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Ranges {
    ranges: Vec<Range<u64>>,
}

impl Ranges {
    pub(super) const fn new() -> Self {
        Self { ranges: Vec::new() }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// How many ranges there are.
    pub(super) fn count(&self) -> usize {
        self.ranges.len()
    }

    /// The lowest range.
    pub(super) fn first(&self) -> Option<Range<u64>> {
        self.ranges.first().cloned()
    }

    /// The number above the highest one in the set; zero for none.
    pub(super) fn end(&self) -> u64 {
        self.ranges.last().map_or(0, |range| range.end)
    }

    /// The ranges, highest first.
    pub(super) fn descending(&self) -> impl DoubleEndedIterator<Item = &Range<u64>> {
        self.ranges.iter().rev()
    }

    /// Adds one number; says whether it was missing. In order, this costs one comparison.
    #[inline]
    pub(super) fn insert(&mut self, number: u64) -> bool {
        if let Some(last) = self.ranges.last_mut()
            && last.end == number
        {
            last.end += 1;
            return true;
        }
        self.insert_range(number..number + 1) > 0
    }

    /// Adds a range; says how many of its numbers were missing.
    pub(super) fn insert_range(&mut self, mut added: Range<u64>) -> u64 {
        if added.is_empty() {
            return 0;
        }
        // Those that touch the new one become one with it.
        let from = self.ranges.partition_point(|range| range.end < added.start);
        let to = self.ranges.partition_point(|range| range.start <= added.end);
        let mut missing = added.end - added.start;
        for range in &self.ranges[from..to] {
            let shared = range.end.min(added.end).saturating_sub(range.start.max(added.start));
            missing -= shared;
        }
        if from == to {
            self.ranges.insert(from, added);
            return missing;
        }
        added.start = added.start.min(self.ranges[from].start);
        added.end = added.end.max(self.ranges[to - 1].end);
        self.ranges[from] = added;
        self.ranges.drain(from + 1..to);
        missing
    }

    /// Takes a range out.
    pub(super) fn remove_range(&mut self, removed: Range<u64>) {
        if removed.is_empty() {
            return;
        }
        let at = self.overlapping(&removed);
        if at.is_empty() {
            return;
        }
        let left = self.ranges[at.start].start..removed.start;
        let right = removed.end..self.ranges[at.end - 1].end;
        let kept = [left, right].into_iter().filter(|range| !range.is_empty());
        self.ranges.splice(at, kept);
    }

    /// What the set lacks of a range, lowest first. Of its own ranges it looks at those that overlap that one alone.
    pub(super) fn missing_of(&self, whole: Range<u64>) -> impl Iterator<Item = Range<u64>> {
        let present = &self.ranges[self.overlapping(&whole)];
        let starts = std::iter::once(whole.start).chain(present.iter().map(|range| range.end));
        let ends = present.iter().map(|range| range.start).chain(std::iter::once(whole.end));
        starts.zip(ends).map(|(start, end)| start..end).filter(|gap| !gap.is_empty())
    }

    /// Where the ranges are that have a number in common with one that is not empty.
    fn overlapping(&self, other: &Range<u64>) -> Range<usize> {
        #[cfg(test)]
        tests::SEARCHES.with(|searches| searches.set(searches.get() + 1));
        let from = self.ranges.partition_point(|range| range.end <= other.start);
        let to = self.ranges.partition_point(|range| range.start < other.end);
        from..to.max(from)
    }

    /// Forgets all numbers below.
    pub(super) fn remove_below(&mut self, number: u64) {
        self.remove_range(0..number);
    }

    /// Forgets the lowest ranges until there are at most so many.
    pub(super) fn keep_highest(&mut self, count: usize) {
        let over = self.ranges.len().saturating_sub(count);
        self.ranges.drain(..over);
    }
}

#[cfg(test)]
pub(super) mod tests;
