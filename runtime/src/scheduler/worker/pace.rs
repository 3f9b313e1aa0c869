//! How long turns take on the running worker, and what follows from it.

use crate::task::current;
use crate::time::{Clock, Time};
use std::time::Duration;

/// What a worker needs to know besides what all share.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// Messages in one actor's turn at most, where its mail does not grow.
    pub(crate) batch: u32,
    /// Length of a slice.
    pub(crate) slice: Duration,
    /// How long to look for work before sleeping.
    pub(crate) spin: Duration,
}

/// How a slice ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Slice {
    /// Its time was over.
    Over,
    /// It ran all that there was.
    Emptied,
    /// There was nothing to run.
    Idle,
}

/// Messages in a turn before the first look at the clock, where turns are long.
const EARLY: u32 = 2;

/// Notes that so many turns have taken so long. What takes longer than before counts at once, so that long
/// handlers are soon known; what takes less counts little by little.
pub(super) fn learn(span: Duration, turns: u32) {
    let each = nanos(span) / u64::from(turns);
    let before = current::turn_cost();
    let is_longer = each >= before || before == u64::MAX;
    current::set_turn_cost(if is_longer { each } else { before - (before - each) / 8 });
}

/// How long turns are, on average: what an actor may take, whose messages are shorter than those of others.
///
/// A turn ends after a slice, but not in the middle of a message. Where messages are longer than slices, whoever has
/// longer ones would have more of the time than those that collect what they make, whose mail would grow. (Decision
/// 0037.)
#[derive(Debug, Default)]
pub(super) struct Average(u64);

impl Average {
    /// Notes that so many turns have taken so long.
    pub(super) fn add(&mut self, span: Duration, turns: u32) {
        let each = nanos(span) / u64::from(turns);
        self.0 = self.0 - self.0 / 8 + each / 8;
    }

    /// How long the next turn may take: less than the average, so that it falls to a slice again where nothing but its
    /// own length keeps it up.
    pub(super) fn turn(&self, limits: &Limits) -> Duration {
        limits.slice.max(Duration::from_nanos(self.0 / 4 * 3))
    }
}

/// Messages in a turn before the first look at the clock: as many as fit into a slice if each takes as
/// long as a whole turn lately.
pub(super) fn first_look(limits: &Limits) -> u32 {
    let fitting = nanos(limits.slice) / current::turn_cost().max(1);
    u32::try_from(fitting).unwrap_or(u32::MAX).max(EARLY).min(limits.batch)
}

/// The span in nanoseconds.
pub(in crate::scheduler) fn nanos(span: Duration) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
}

/// How long a worker looks again and again whether others have room, and how long it pauses between two looks after
/// that.
const ROOM_SEARCH: Duration = Duration::from_millis(1);
const ROOM_PAUSE: Duration = Duration::from_millis(1);

/// Since when a worker waits for room at others, and for how much.
#[derive(Debug, Default)]
pub(super) struct Jam(Option<(usize, Time)>);

impl Jam {
    /// The worker had something to run: who talks to it is answered at once.
    pub(super) fn clear(&mut self) {
        self.0 = None;
    }

    /// Until when to pause, now that so much is `stuck`, if anything is and has been for a while.
    pub(super) fn pause(&mut self, stuck: Option<usize>, clock: &Clock) -> Option<Time> {
        let Some(count) = stuck else {
            self.0 = None;
            return None;
        };
        let now = clock.now();
        match self.0 {
            // In systematic tests time ends no sleep.
            Some((before, since)) if before == count => {
                (!cfg!(shuttle) && now >= since.after(ROOM_SEARCH)).then(|| now.after(ROOM_PAUSE))
            }
            _ => {
                self.0 = Some((count, now));
                None
            }
        }
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    const LIMITS: Limits =
        Limits { batch: 64, slice: Duration::from_micros(50), spin: Duration::ZERO };

    #[test]
    fn among_turns_of_a_millisecond_others_may_take_most_of_one() {
        let mut average = Average::default();
        assert_eq!(average.turn(&LIMITS), LIMITS.slice);
        (0..100).for_each(|_| average.add(Duration::from_millis(1), 1));
        let turn = average.turn(&LIMITS);
        assert!(Duration::from_micros(700) < turn && turn < Duration::from_millis(1), "{turn:?}");
    }

    #[test]
    fn turns_that_take_all_they_may_become_slices_again() {
        let mut average = Average::default();
        average.add(Duration::from_millis(10), 1);
        let mut extra = Duration::ZERO;
        for _ in 0..1_000 {
            let turn = average.turn(&LIMITS);
            extra += turn - LIMITS.slice;
            average.add(turn, 1);
        }
        assert_eq!(average.turn(&LIMITS), LIMITS.slice);
        assert!(extra < Duration::from_millis(30), "one long turn made others {extra:?} longer");
    }

    #[test]
    fn short_turns_are_slices() {
        let mut average = Average::default();
        (0..100).for_each(|_| average.add(Duration::from_micros(32), 32));
        assert_eq!(average.turn(&LIMITS), LIMITS.slice);
    }
}
