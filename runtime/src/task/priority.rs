//! How urgent a ready actor is, and in which order actors of different urgency are picked.
//!
//! Of five picks at which actors of both priorities wait, four are of high ones and one is of a normal
//! one: weighted round robin (Katevenis, Sidiropoulos and Courcoubetis 1991). So high actors come first,
//! and normal ones never starve.

use super::Ready;
use crate::queue::row::Row;
use crate::sync::planted;
use std::collections::VecDeque;

/// How urgent an actor is, against others that are ready.
///
/// Of five picks at which actors of both priorities wait, four are of high ones and one is of a normal
/// one. A priority is about which actor runs next; it interrupts no handler, and lets no message
/// overtake another one to the same actor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
#[non_exhaustive]
pub enum Priority {
    /// As urgent as most.
    #[default]
    Normal,
    /// Before normal actors.
    High,
}

/// Picks of which one is of a normal actor.
const ROUND: u32 = 5;

/// Counts picks at which a high actor waits; whether this one is to be of a normal actor, if any waits.
#[inline]
pub(crate) fn is_for_normal(picks: &mut u32) -> bool {
    *picks = (*picks + 1) % ROUND;
    planted!("priority-starves": *picks == 0 => false)
}

/// Ready actors in the order in which they are to be picked.
#[derive(Debug)]
pub(crate) struct Line {
    normal: Row<Ready>,
    high: VecDeque<Ready>,
    /// Picks so far at which a high actor waited.
    picks: u32,
}

impl Line {
    pub(crate) fn new() -> Self {
        Self { normal: Row::new(), high: VecDeque::new(), picks: 0 }
    }

    /// Puts an actor behind those of its priority.
    #[inline]
    pub(crate) fn push(&mut self, ready: Ready) {
        match ready.priority() {
            Priority::Normal => self.normal.push_back(ready),
            Priority::High => self.push_high(ready),
        }
    }

    #[cold]
    fn push_high(&mut self, ready: Ready) {
        self.high.push_back(ready);
    }

    /// Takes the next actor.
    #[inline]
    pub(crate) fn pop(&mut self) -> Option<Ready> {
        next(&mut self.normal, &mut self.high, &mut self.picks)
    }

    /// As [`Line::pop`], for one of several who take actors out, each of whom counts its own `picks`.
    #[inline]
    pub(crate) fn pop_by(&mut self, picks: &mut u32) -> Option<Ready> {
        next(&mut self.normal, &mut self.high, picks)
    }

    /// Takes the next normal actor; right for who knows that no high one waits.
    #[inline]
    pub(crate) fn pop_normal(&mut self) -> Option<Ready> {
        debug_assert!(self.high.is_empty(), "high actors come first");
        self.normal.pop_front()
    }

    /// Some of the first actors of each priority, `window` of each at most.
    pub(crate) fn front(&self, window: usize) -> impl Iterator<Item = &Ready> {
        self.normal.front(window).chain(self.high.iter().take(window))
    }

    /// Takes up to `most` of the first `window` actors of each priority that `may` go, normal ones before high ones,
    /// which are to be picked next here. Who stays keeps its place.
    pub(crate) fn take_some(
        &mut self,
        window: usize,
        most: usize,
        may: impl Fn(&Ready) -> bool,
    ) -> Vec<Ready> {
        let mut taken = self.normal.take_some(window, most, &may);
        let mut stay = 0;
        for _ in 0..window.min(self.high.len()) {
            match self.high.pop_front() {
                Some(ready) if taken.len() < most && may(&ready) => taken.push(ready),
                Some(ready) => {
                    self.high.push_back(ready);
                    stay += 1;
                }
                None => {}
            }
        }
        self.high.rotate_right(stay);
        taken
    }

    /// Actors in the line.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.normal.len() + self.high.len()
    }

    /// High actors in the line.
    #[inline]
    pub(crate) fn high_len(&self) -> usize {
        self.high.len()
    }

    /// Whether no actor is in the line.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Takes the next actor.
#[inline]
fn next(normal: &mut Row<Ready>, high: &mut VecDeque<Ready>, picks: &mut u32) -> Option<Ready> {
    if high.is_empty() { normal.pop_front() } else { pick(normal, high, picks) }
}

/// Takes the next actor where a high one waits.
#[cold]
fn pick(normal: &mut Row<Ready>, high: &mut VecDeque<Ready>, picks: &mut u32) -> Option<Ready> {
    if is_for_normal(picks) {
        normal.pop_front().or_else(|| high.pop_front())
    } else {
        high.pop_front().or_else(|| normal.pop_front())
    }
}

/// What stands for an actor in checks of queues: a token may point here instead of to a cell. It lies
/// where no cell could begin.
#[repr(C, align(4))]
pub(super) struct Fake {
    _before: [u8; 2],
    priority: Priority,
}

/// Fakes of each priority.
const FAKES: usize = 1024;

static ALL_FAKES: [[Fake; FAKES]; 2] = [
    [const { Fake { _before: [0; 2], priority: Priority::Normal } }; FAKES],
    [const { Fake { _before: [0; 2], priority: Priority::High } }; FAKES],
];

/// The fake of that number.
pub(super) fn fake(number: usize, priority: Priority) -> &'static Priority {
    &ALL_FAKES[priority as usize][number].priority
}

/// The number of the fake at `address`.
pub(super) fn number_of_fake(address: usize) -> usize {
    (address - (&raw const ALL_FAKES).addr()) / size_of::<Fake>() % FAKES
}

/// Whether what a token points to is a fake: no cell begins there.
pub(super) fn is_fake(address: usize) -> bool {
    address % 4 == 2
}
