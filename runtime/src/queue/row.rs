//! What one thread keeps in order: an array as long as the compiler knows, and whatever does not fit behind it.
//!
//! ```text
//! [ . . x  x  x  x  . . ]   more: [ x x x x x x x x ] [ x x x . . . . . ]
//!       |           |                                        |
//!     first        end of what is in the array              filled
//! ```
//!
//! Positions count up; a place is a position without its upper bits. What is put in while something is behind the
//! array goes behind that, into further arrays of the same kind, the first of which takes the array's place when that is
//! empty. So nothing is moved, however much waits. Arrays that are empty are kept for later. Why not a `VecDeque`:
//! `book/src/decisions/0033-row.md`.

use std::collections::VecDeque;

/// Places in the array; few under a model checker, which is to see it overflow.
pub(crate) const PLACES: usize = if cfg!(any(loom, shuttle)) {
    2
} else if cfg!(miri) {
    16
} else {
    1024
};

/// See the [module](self).
#[derive(Debug)]
pub(crate) struct Row<T> {
    places: Places<T>,
    /// Position of the oldest value in the array.
    first: usize,
    /// Position of the next one to be put there.
    next: usize,
    /// Position from which on there is no room as far as is known: that of the next one, while others wait behind
    /// the array.
    full: usize,
    /// What waits behind the array. None of them is empty, and all but the last are full.
    more: VecDeque<Places<T>>,
    /// Places of the last of those that are filled.
    filled: usize,
    /// Arrays that are empty.
    spares: Vec<Places<T>>,
}

type Places<T> = Box<[Option<T>; PLACES]>;

fn vacant<T>() -> Places<T> {
    Box::new([const { None }; PLACES])
}

impl<T> Row<T> {
    pub(crate) fn new() -> Self {
        let (more, spares) = (VecDeque::new(), Vec::new());
        Self { places: vacant(), first: 0, next: 0, full: PLACES, more, filled: 0, spares }
    }

    /// Puts a value behind all others.
    #[inline]
    pub(crate) fn push_back(&mut self, value: T) {
        if self.next == self.full {
            return self.push_further(value);
        }
        self.places[self.next % PLACES] = Some(value);
        self.next = self.next.wrapping_add(1);
    }

    /// As [`Row::push_back`], where there was no room when it was looked at last.
    #[cold]
    fn push_further(&mut self, value: T) {
        if self.more.is_empty() {
            let full = self.first.wrapping_add(PLACES);
            if self.next != full {
                self.full = full;
                return self.push_back(value);
            }
            self.full = self.next;
        }
        if self.more.is_empty() || self.filled == PLACES {
            self.more.push_back(self.spares.pop().unwrap_or_else(vacant));
            self.filled = 0;
        }
        if let Some(places) = self.more.back_mut() {
            places[self.filled % PLACES] = Some(value);
            self.filled += 1;
        }
    }

    /// Takes the oldest value.
    #[inline]
    pub(crate) fn pop_front(&mut self) -> Option<T> {
        if self.first == self.next {
            return self.pop_further();
        }
        let value = self.places[self.first % PLACES].take();
        self.first = self.first.wrapping_add(1);
        value
    }

    /// As [`Row::pop_front`], where the array is empty.
    #[cold]
    fn pop_further(&mut self) -> Option<T> {
        let places = self.more.pop_front()?;
        self.spares.push(std::mem::replace(&mut self.places, places));
        let is_last = self.more.is_empty();
        (self.first, self.next) = (0, if is_last { self.filled } else { PLACES });
        self.full = if is_last { PLACES } else { self.next };
        self.pop_front()
    }

    /// The first `window` values, as far as those are in the array.
    pub(crate) fn front(&self, window: usize) -> impl Iterator<Item = &T> {
        let window = window.min(self.next.wrapping_sub(self.first));
        let at = |offset| self.first.wrapping_add(offset) % PLACES;
        (0..window).filter_map(move |offset| self.places[at(offset)].as_ref())
    }

    /// Takes up to `most` of the first `window` values that `may` go, as far as those are in the array. Who stays keeps
    /// its place among those who stay.
    pub(crate) fn take_some(
        &mut self,
        window: usize,
        most: usize,
        may: impl Fn(&T) -> bool,
    ) -> Vec<T> {
        let at = |offset| self.first.wrapping_add(offset) % PLACES;
        let window = window.min(self.next.wrapping_sub(self.first));
        // Without room to begin with: where none may go nothing is allocated.
        let (mut taken, mut looked) = (Vec::new(), 0);
        while looked < window && taken.len() < most {
            taken.extend(self.places[at(looked)].take_if(|value| may(value)));
            looked += 1;
        }
        // Those who stay move up to those behind them.
        let mut begin = looked;
        for offset in (0..looked).rev() {
            if self.places[at(offset)].is_some() {
                begin -= 1;
                self.places.swap(at(begin), at(offset));
            }
        }
        self.first = self.first.wrapping_add(begin);
        taken
    }

    /// Values in the row.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        let behind = match self.more.len() {
            0 => 0,
            arrays => (arrays - 1) * PLACES + self.filled,
        };
        self.next.wrapping_sub(self.first) + behind
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests;
