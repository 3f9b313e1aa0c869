//! Quicksort: an actor for every part of more than 2,048 numbers.

use super::random::Random;

/// Parts up to this size are sorted without more actors.
const SMALL: usize = 2048;

/// `n` numbers, the same for everybody.
#[must_use]
pub fn numbers(n: u64) -> Vec<u64> {
    let mut random = Random::new(1024);
    (0..n).map(|_| random.draw()).collect()
}

/// A part of the numbers, one step further.
#[derive(Debug)]
pub enum Sorting {
    /// It was small, and is sorted.
    Sorted(Vec<u64>),
    /// It was split by a pivot.
    Split(Split),
}

/// What is below, at and above the pivot.
#[derive(Debug)]
pub struct Split {
    /// Smaller than the pivot, and not sorted yet.
    pub below: Vec<u64>,
    /// The pivot, as often as it was there.
    pub equal: Vec<u64>,
    /// Greater than the pivot, and not sorted yet.
    pub above: Vec<u64>,
}

/// Sorts a small part, splits a larger one.
#[must_use]
pub fn step(mut part: Vec<u64>) -> Sorting {
    if part.len() <= SMALL {
        part.sort_unstable();
        return Sorting::Sorted(part);
    }
    let (first, middle, last) = (part[0], part[part.len() / 2], part[part.len() - 1]);
    let pivot = first.min(middle).max(first.max(middle).min(last));
    let mut split = Split { below: Vec::new(), equal: Vec::new(), above: Vec::new() };
    for number in part {
        match number.cmp(&pivot) {
            std::cmp::Ordering::Less => split.below.push(number),
            std::cmp::Ordering::Equal => split.equal.push(number),
            std::cmp::Ordering::Greater => split.above.push(number),
        }
    }
    Sorting::Split(split)
}

/// A split whose parts come back sorted, in any order.
#[derive(Debug)]
pub struct Merge {
    below: Option<Vec<u64>>,
    equal: Vec<u64>,
    above: Option<Vec<u64>>,
}

/// Which part of a split it is.
#[derive(Clone, Copy, Debug)]
pub enum Side {
    /// Below the pivot.
    Below,
    /// Above the pivot.
    Above,
}

impl Merge {
    /// Waits for both sides of `equal`.
    #[must_use]
    pub const fn around(equal: Vec<u64>) -> Self {
        Self { below: None, equal, above: None }
    }

    /// Takes one sorted side; returns all of it, sorted, when that was the second.
    pub fn add(&mut self, side: Side, sorted: Vec<u64>) -> Option<Vec<u64>> {
        match side {
            Side::Below => self.below = Some(sorted),
            Side::Above => self.above = Some(sorted),
        }
        let (Some(below), Some(above)) = (&mut self.below, &mut self.above) else { return None };
        below.append(&mut self.equal);
        below.append(above);
        self.below.take()
    }
}

/// Whether these are all the `n` numbers, sorted.
#[must_use]
pub fn is_right(sorted: &[u64], n: u64) -> bool {
    let sum = |numbers: &[u64]| numbers.iter().copied().fold(0, u64::wrapping_add);
    let given = numbers(n);
    sorted.is_sorted() && sorted.len() == given.len() && sum(sorted) == sum(&given)
}
