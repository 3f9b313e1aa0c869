//! Whether a worker that other nodes wake looks for a moment before it sleeps.
//!
//! Two nodes that talk in turns wake each other for every message, and a wake-up takes longer than all that is done for
//! one. A worker cannot know when the next datagram comes. But it sees how long it has had nothing to do each time: where
//! these times were short lately, nearly all of them, it looks for as long as its own wake-up takes (Karlin, Li, Manasse
//! and Owicki, 1991); where they were not, it sleeps at once, and sees that as it sleeps. So an idle node never looks, and
//! where looks are in vain there are few. (Decision 0052.)

use crate::sync::planted;
use crate::time::Time;
use std::time::Duration;

/// How long it looks.
const LOOK: Duration = Duration::from_micros(50);
/// What it may sleep for a look to have been worth it, had there been one: its own wake-up is in that, and that of a peer
/// that sleeps as well and would look, too. In virtual machines each takes up to 40 µs.
const SLEEP: Duration = Duration::from_micros(100);
/// From which score on it looks. A short time that something else has ended takes one off: what threads of its own system
/// send is no reason to look.
const ENOUGH: u32 = 8;
/// What the score is at most, so that it is soon seen when nothing comes any more.
const MOST: u32 = 2 * ENOUGH;
/// What one long time takes off, in short ones: a look in vain costs more than one that helps saves.
const LONG: u32 = 4;

/// See the [module](self).
#[derive(Debug)]
pub(super) struct Naps {
    may_look: bool,
    /// Short times without work, which sockets have ended, less the long ones, as said above.
    score: u32,
    /// Since when it has had nothing to do.
    since: Option<Time>,
    /// It has looked for as long as it may, and sleeps.
    in_vain: bool,
}

impl Naps {
    /// `may_look` where it takes nobody's core by that.
    pub(super) fn new(may_look: bool) -> Self {
        Self { may_look, score: 0, since: None, in_vain: false }
    }

    /// How long to look before sleeping.
    pub(super) fn look(&self) -> Duration {
        if self.may_look && self.score >= ENOUGH { LOOK } else { Duration::ZERO }
    }

    /// It has looked, and has nothing to do; since when.
    pub(super) fn wait(&mut self, now: Time) -> Time {
        *self.since.get_or_insert(now)
    }

    /// It leaves its thread to tokio, and sleeps if that has nothing to do.
    pub(super) fn sleep(&mut self) {
        self.in_vain = !self.look().is_zero();
    }

    /// Something to do was there at `now`; from other nodes if `heard`.
    pub(super) fn end(&mut self, now: Time, heard: bool) {
        let in_vain = std::mem::take(&mut self.in_vain);
        let short = if planted!("naps-forgive-looks": in_vain => false) { LOOK } else { SLEEP };
        let Some(since) = self.since.take() else { return };
        if now.since(since) > short {
            self.lower(planted!("naps-forget-long": LONG => 0));
        } else if planted!("naps-of-everybody": heard => true) {
            self.score = (self.score + 1).min(MOST);
        } else {
            self.lower(1);
        }
    }

    fn lower(&mut self, by: u32) {
        self.score = self.score.saturating_sub(by);
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    const SHORT: Duration = Duration::from_micros(30);
    const EVER: Duration = Duration::from_secs(1);

    /// A worker's time and what it has seen.
    struct Day(Time, Naps);

    impl Day {
        fn new() -> Self {
            Self(Time(0), Naps::new(true))
        }

        /// After so many short times that other nodes have ended.
        fn after(count: u32) -> Self {
            let mut day = Self::new();
            (0..count).for_each(|_| day.sleeps(SHORT, true));
            day
        }

        fn looks_for(&mut self, time: Duration) {
            self.1.wait(self.0);
            self.0 = self.0.after(time);
        }

        fn sleeps(&mut self, time: Duration, heard: bool) {
            self.1.wait(self.0);
            self.1.sleep();
            self.0 = self.0.after(time);
            self.1.end(self.0, heard);
        }

        fn looks(&self) -> bool {
            self.1.look() == LOOK
        }
    }

    #[test]
    fn a_worker_looks_after_some_short_times_and_soon_no_more() {
        assert!(!Day::after(7).looks() && Day::after(8).looks());
        let mut day = Day::after(1000);
        let in_vain = (0..100).take_while(|_| {
            let looks = day.looks();
            day.sleeps(EVER, true);
            looks
        });
        assert_eq!(in_vain.count(), 3);
    }

    #[test]
    fn who_would_take_the_core_of_another_never_looks() {
        let mut day = Day::new();
        day.1 = Naps::new(false);
        (0..100).for_each(|_| day.sleeps(SHORT, true));
        assert!(!day.looks());
    }

    #[test]
    fn most_short_times_have_to_be_ended_by_other_nodes() {
        for one_in in [2, 100] {
            let mut day = Day::new();
            for turn in 0..10_000 {
                day.sleeps(SHORT, turn % one_in == 0);
                assert!(!day.looks(), "one in {one_in}");
            }
        }
    }

    #[test]
    fn most_times_have_to_be_short() {
        let looks = |short: u32| {
            let mut day = Day::new();
            let turns = (0..1000).map(|turn| {
                day.sleeps(if turn % 10 < short { SHORT } else { EVER }, true);
                u32::from(day.looks())
            });
            turns.sum::<u32>()
        };
        assert_eq!(looks(7), 0);
        assert!(looks(9) > 900, "{}", looks(9));
    }

    #[test]
    fn a_sleep_may_be_longer_than_a_look() {
        let mut day = Day::new();
        (0..8).for_each(|_| day.sleeps(SLEEP, true));
        assert!(day.looks(), "its own wake-up was in it");
        day.sleeps(SLEEP, true);
        assert!(!day.looks(), "it has looked before, in vain");
        for _ in 0..1000 {
            day.sleeps(SLEEP, true);
        }
        let looks = (0..1000).filter(|_| {
            day.sleeps(SLEEP, true);
            day.looks()
        });
        assert_eq!(looks.count(), 200, "one in five finds out that it is still so");
    }

    #[test]
    fn looks_that_find_something_too_late_end_soon() {
        let mut day = Day::after(1000);
        for _ in 0..3 {
            day.looks_for(LOOK);
            day.0 = day.0.after(2 * LOOK);
            day.1.end(day.0, true);
        }
        assert!(!day.looks());
    }
}
