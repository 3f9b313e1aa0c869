//! Which packet numbers of a lane have come: a sliding window of [`WINDOW`] numbers, exact at its edges.
//!
//! 1. A number is looked up before the packet is opened and marked after: a forged packet changes nothing.
//! 2. A number above the highest slides the window up to it; numbers that leave the window are refused.
//! 3. The bits lie in a ring indexed by the number, so sliding clears only what is passed: O(1) amortised.

/// How many numbers, the highest included, are told apart. [UDP-12]
pub const WINDOW: u64 = Window::<WORDS>::SPAN;

const WORDS: usize = 128;

/// Why a number is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Replay {
    /// A packet with this number has been opened.
    Seen,
    /// The number lies below the window, so nobody knows.
    TooOld,
}

/// A sliding window of `64 * WORDS` numbers. `WORDS` is a power of two.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Window<const W: usize = WORDS> {
    /// One more than the highest number marked; zero at first.
    end: u128,
    bits: [u64; W],
}

impl<const W: usize> Window<W> {
    /// How many numbers the window spans.
    pub const SPAN: u64 = 64 * W as u64;

    /// A window that has seen nothing.
    #[must_use]
    pub const fn new() -> Self {
        assert!(W.is_power_of_two(), "the ring is indexed by a mask");
        Self { end: 0, bits: [0; W] }
    }

    /// Returns whether a packet with this number may be opened. O(1).
    ///
    /// # Errors
    ///
    /// [`Replay`] if it has come, or if the window has passed it.
    pub fn check(&self, number: u64) -> Result<(), Replay> {
        let above = u128::from(number) + 1;
        if above > self.end {
            return Ok(());
        }
        let span =
            u128::from(Self::SPAN) + u128::from(crate::planted!("replay-off-by-one": 0_u8 => 1));
        if self.end - above >= span {
            return Err(Replay::TooOld);
        }
        let (word, bit) = place::<W>(number);
        if self.bits[word] & bit == 0 { Ok(()) } else { Err(Replay::Seen) }
    }

    /// Notes that a packet with this number was opened. [`check`](Self::check) has let it pass.
    pub fn mark(&mut self, number: u64) {
        let above = u128::from(number) + 1;
        if above > self.end {
            self.slide(above);
        }
        let (word, bit) = place::<W>(number);
        self.bits[word] |= bit;
    }

    /// The highest number marked.
    #[must_use]
    pub fn highest(&self) -> Option<u64> {
        u64::try_from(self.end.checked_sub(1)?).ok()
    }

    /// Moves the end up and clears the bits of the numbers that come into the window.
    fn slide(&mut self, end: u128) {
        if end - self.end >= u128::from(Self::SPAN) {
            self.bits = [0; W];
            self.end = end;
            return;
        }
        while self.end < end {
            // What is left of the word in which the next number lies.
            let from = (self.end % 64) as u32;
            let count = u32::try_from(end - self.end).unwrap_or(64).min(64 - from);
            let word = ((self.end / 64) as usize) & (W - 1);
            self.bits[word] &= !((u64::MAX >> (64 - count)) << from);
            self.end += u128::from(count);
        }
    }
}

impl<const W: usize> Default for Window<W> {
    fn default() -> Self {
        Self::new()
    }
}

/// The word and the bit of a number.
fn place<const W: usize>(number: u64) -> (usize, u64) {
    (((number / 64) as usize) & (W - 1), 1 << (number % 64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    /// Looks up and, if it may be, marks.
    fn take<const W: usize>(window: &mut Window<W>, number: u64) -> bool {
        let fresh = window.check(number).is_ok();
        if fresh {
            window.mark(number);
        }
        fresh
    }

    /// The cases of WireGuard's kernel self-test, with our window as its limit. [UDP-12]
    #[test]
    fn the_edges_are_where_wireguards_are() {
        const T: u64 = WINDOW;
        let cases = [
            (0, true),
            (1, true),
            (1, false),
            (9, true),
            (8, true),
            (7, true),
            (7, false),
            (T, true),
            (T - 1, true),
            (T - 1, false),
            (T - 2, true),
            (2, true),
            (2, false),
            (T + 16, true),
            (3, false),
            (T + 16, false),
            (T * 4, true),
            (T * 4 - (T - 1), true),
            (10, false),
            (T * 4 - T, false),
            (T * 4 - (T + 1), false),
            (T * 4 - (T - 2), true),
            (T * 4 + 1 - T, false),
            (0, false),
            (u64::MAX - 1, true),
            (u64::MAX - 1, false),
            (u64::MAX, true),
            (u64::MAX, false),
            (u64::MAX - (T - 1), true),
            (u64::MAX - T, false),
            (0, false),
        ];
        let mut window = Window::<WORDS>::new();
        for (case, (number, fresh)) in cases.into_iter().enumerate() {
            assert_eq!(take(&mut window, number), fresh, "case {case}: {number}");
        }
    }

    #[test]
    fn the_whole_window_is_there_in_either_direction() {
        let mut up = Window::<WORDS>::new();
        assert!((1..WINDOW).all(|number| take(&mut up, number)));
        assert!(take(&mut up, 0) && !take(&mut up, 0));

        let mut down = Window::<WORDS>::new();
        assert!((2..=WINDOW + 1).rev().all(|number| take(&mut down, number)));
        assert_eq!(down.check(1), Err(Replay::TooOld));
        assert!((2..=WINDOW + 1).all(|number| down.check(number) == Err(Replay::Seen)));
    }

    fn numbers() -> impl Strategy<Value = Vec<u64>> {
        let near = 0..400_u64;
        let far = (0..4_u64, 0..300_u64)
            .prop_map(|(page, at)| page * (u64::MAX / 3) - at.min(page * 999));
        proptest::collection::vec(prop_oneof![4 => near, 1 => far], 1..400)
    }

    proptest! {
        /// [UDP-12] against a set of everything that came.
        #[test]
        fn it_answers_as_a_set_would(numbers in numbers()) {
            let mut window = Window::<2>::new();
            let (mut seen, mut highest) = (BTreeSet::new(), None::<u64>);
            for number in numbers {
                let below = highest.is_some_and(|highest| highest >= number && highest - number >= 128);
                let expected = match (below, seen.contains(&number)) {
                    (true, _) => Err(Replay::TooOld),
                    (false, true) => Err(Replay::Seen),
                    (false, false) => Ok(()),
                };
                prop_assert_eq!(window.check(number), expected);
                if expected.is_ok() {
                    window.mark(number);
                    seen.insert(number);
                    highest = highest.max(Some(number));
                }
                prop_assert_eq!(window.highest(), highest);
            }
        }
    }
}
