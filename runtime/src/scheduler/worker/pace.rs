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
    /// Whether it may keep others from its core, and so gives that away while it looks whether they have room.
    pub(crate) shares_core: bool,
    /// Whether it may look for a moment before it sleeps, where other nodes are as quick: it takes nobody's core.
    pub(crate) may_look: bool,
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

/// What the turns between two looks count for at most, each, in slices: the kernel may have had the core meanwhile, or a
/// handler slept.
const SLICES_MAX: u64 = 20;

/// How long turns are, on average: what an actor may take part of, whose messages are shorter than those of others.
///
/// A turn ends after a slice, but not in the middle of a message. Where messages are longer than slices, whoever has
/// longer ones would have more of the time than those that collect what they make, whose mail would grow. (Decision
/// 0037.)
#[derive(Debug, Default)]
pub(super) struct Average(u64);

impl Average {
    /// Notes that so many turns have taken so long.
    pub(super) fn add(&mut self, span: Duration, turns: u32, limits: &Limits) {
        let most = nanos(limits.slice).saturating_mul(SLICES_MAX);
        let each = (nanos(span) / u64::from(turns)).min(most);
        self.0 = self.0 - self.0 / 8 + each / 8;
    }

    /// How long the next turn may take. A turn looks at the clock after 2, 4, 8, … messages, so it may take twice as long:
    /// that is less than the average still, which falls to a slice again where nothing but its own length keeps it
    /// up.
    pub(super) fn turn(&self, limits: &Limits) -> Duration {
        limits.slice.max(Duration::from_nanos(self.0 / 8 * 3))
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
/// that. It looks also where workers share cores, but gives way to the others between two looks: were there a pause for
/// each ring that they empty, no more than a ring holds would be sent in every one or two milliseconds.
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

    const LIMITS: Limits = Limits {
        batch: 64,
        slice: Duration::from_micros(50),
        spin: Duration::ZERO,
        shares_core: false,
        may_look: false,
    };

    /// The average where all turns take so long.
    fn of(turn: Duration) -> Average {
        let mut average = Average::default();
        (0..100).for_each(|_| average.add(turn, 1, &LIMITS));
        average
    }

    /// How long a turn takes whose messages take so long each.
    fn taken(average: &Average, message: Duration) -> Duration {
        let looks = (1..).map(|look| message * (1 << look));
        looks.into_iter().find(|&at| at >= average.turn(&LIMITS)).unwrap_or_default()
    }

    #[test]
    fn among_turns_of_a_millisecond_others_may_take_a_part_of_one() {
        let average = of(Duration::from_millis(1));
        let turn = average.turn(&LIMITS);
        assert!(
            Duration::from_micros(350) < turn && turn <= Duration::from_micros(375),
            "{turn:?}"
        );
        assert_eq!(Average::default().turn(&LIMITS), LIMITS.slice);
    }

    #[test]
    fn no_look_counts_for_more_than_a_millisecond() {
        let average = of(Duration::from_secs(1));
        assert!(average.turn(&LIMITS) <= Duration::from_micros(375));
    }

    #[test]
    fn turns_that_nothing_but_their_length_keeps_up_become_slices_again() {
        for micros in 1..=49 {
            let message = Duration::from_micros(micros);
            let mut average = of(Duration::from_secs(1));
            for _ in 0..200 {
                average.add(taken(&average, message), 1, &LIMITS);
            }
            assert_eq!(average.turn(&LIMITS), LIMITS.slice, "messages of {message:?}");
        }
    }

    #[test]
    fn where_messages_are_shorter_than_a_slice_turns_stay_slices() {
        for micros in 1..=49 {
            let message = Duration::from_micros(micros);
            let mut average = Average::default();
            for _ in 0..200 {
                average.add(taken(&average, message), 1, &LIMITS);
                assert_eq!(average.turn(&LIMITS), LIMITS.slice, "messages of {message:?}");
            }
        }
    }

    #[test]
    fn who_waits_for_room_looks_for_a_while_and_then_pauses() {
        let ((clock, hand), mut jam) = (Clock::by_hand(), Jam::default());
        assert_eq!(jam.pause(Some(3), &clock), None);
        assert_eq!(jam.pause(Some(3), &clock), None, "others may be about to have room");
        hand.set(clock.now().after(ROOM_SEARCH));
        assert_eq!(jam.pause(Some(3), &clock), Some(clock.now().after(ROOM_PAUSE)));
        assert_eq!(jam.pause(Some(2), &clock), None, "they have taken something");
    }
}
