//! When which hold ends by itself.

use super::word::Word;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

/// As many entries are kept unswept.
const FEW: usize = 32;

/// The ends of holds, soonest first.
///
/// Who ends a hold early leaves its entry behind, and so takes no lock. Such entries are swept out once
/// there are twice as many of all kinds as the last sweep has left. So they are never more than a
/// [`FEW`], or twice as many as there were holds at a time; and a sweep looks at no more than two entries
/// for each that was added since the last one.
#[derive(Debug, Default)]
pub(super) struct Holds {
    /// A hold is known by its word, which has a number of its own.
    pub(super) entries: BinaryHeap<Reverse<(Duration, u32, Word)>>,
    /// With as many entries it is time for a sweep.
    limit: usize,
}

impl Holds {
    /// Adds the end of a hold. `lasts` says of any hold whether it does.
    pub(super) fn add(
        &mut self,
        due: Duration,
        slot: u32,
        word: Word,
        lasts: impl Fn(u32, Word) -> bool,
    ) {
        if self.entries.len() >= self.limit {
            self.entries.retain(|Reverse((_, slot, word))| lasts(*slot, *word));
            self.limit = FEW.max(2 * self.entries.len());
        }
        self.entries.push(Reverse((due, slot, word)));
    }

    /// Takes out a hold that ends at `now` or before, or has ended early.
    pub(super) fn pop_due(&mut self, now: Duration) -> Option<(u32, Word)> {
        let (due, slot, word) = self.entries.peek()?.0;
        if due > now {
            return None;
        }
        self.entries.pop();
        Some((slot, word))
    }

    /// When the first of those that last ends.
    pub(super) fn next(&mut self, lasts: impl Fn(u32, Word) -> bool) -> Option<Duration> {
        loop {
            let (due, slot, word) = self.entries.peek()?.0;
            if lasts(slot, word) {
                return Some(due);
            }
            self.entries.pop();
        }
    }
}
