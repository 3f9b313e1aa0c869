//! Makes a failing record of choices smaller: shorter, and with more zeros, which are the dullest choices.
//!
//! The passes are those of delta debugging (Zeller and Hildebrandt, 2002), on a record that is padded with
//! zeros: cut off the end, delete runs, set runs to zero, lower single values.

use crate::sync::planted;

/// A smaller record for which `fails` still gives a record, and tries no more than `tries_max` others.
/// `fails` returns what was chosen in fact.
pub(super) fn shrink(
    record: Vec<u64>,
    tries_max: usize,
    fails: impl FnMut(&[u64]) -> Option<Vec<u64>>,
) -> Vec<u64> {
    let mut shrinking = Shrinking { best: trimmed(record), left: tries_max, fails };
    loop {
        let before = shrinking.best.clone();
        shrinking.cut_off();
        shrinking.in_runs(|record, at, len| drop(record.drain(at..at + len)));
        shrinking.in_runs(|record, at, len| record[at..at + len].fill(0));
        shrinking.lower();
        if shrinking.best == before || shrinking.left == 0 {
            return shrinking.best;
        }
    }
}

struct Shrinking<F> {
    best: Vec<u64>,
    left: usize,
    fails: F,
}

impl<F: FnMut(&[u64]) -> Option<Vec<u64>>> Shrinking<F> {
    /// Keeps `record` if it is smaller and fails.
    fn try_one(&mut self, record: Vec<u64>) -> bool {
        let record = trimmed(record);
        if self.left == 0 || size(&record) >= size(&self.best) {
            return false;
        }
        self.left -= 1;
        let chosen = (self.fails)(&record);
        let chosen = planted!("sim-shrink-passes": chosen => chosen.or(Some(record.clone())));
        let Some(chosen) = chosen else { return false };
        let chosen = trimmed(chosen);
        self.best = if size(&chosen) < size(&record) { chosen } else { record };
        true
    }

    /// Looks for the shortest beginning that fails.
    fn cut_off(&mut self) {
        let mut step = self.best.len();
        while step > 0 {
            let len = self.best.len();
            if step > len || !self.try_one(self.best[..len - step].to_vec()) {
                step /= 2;
            }
        }
    }

    /// Changes runs of all lengths, long ones first.
    fn in_runs(&mut self, change: impl Fn(&mut Vec<u64>, usize, usize)) {
        let mut len = self.best.len() / 2;
        while len > 0 {
            let mut end = self.best.len();
            while end >= len && self.left > 0 {
                let mut record = self.best.clone();
                change(&mut record, end - len, len);
                self.try_one(record);
                end = (end - len).min(self.best.len());
            }
            len /= 2;
        }
    }

    fn lower(&mut self) {
        for at in 0..self.best.len() {
            while self.left > 0 && self.best.get(at).is_some_and(|&value| value > 0) {
                let value = self.best[at];
                let lowers = [value / 2, value - 1];
                let lower = |&value: &u64| {
                    let mut record = self.best.clone();
                    record[at] = value;
                    record
                };
                let records: Vec<_> = lowers.iter().map(lower).collect();
                if !records.into_iter().any(|record| self.try_one(record)) {
                    break;
                }
            }
        }
    }
}

/// Without zeros at the end, which need not be said.
fn trimmed(mut record: Vec<u64>) -> Vec<u64> {
    let len = record.iter().rposition(|&value| value != 0).map_or(0, |last| last + 1);
    record.truncate(len);
    record
}

/// What is smaller comes first: by choices that are not zero, then by length, then by values.
fn size(record: &[u64]) -> (usize, usize, u128) {
    let busy = record.iter().filter(|&&value| value != 0).count();
    (busy, record.len(), record.iter().map(|&value| u128::from(value)).sum())
}

#[cfg(test)]
mod tests;
