//! How often a worker is woken for next to nothing by the mail of others.
//!
//! Two actors on two workers that talk in turns wake each other's worker for every message, and neither runs while the
//! other does: a wake-up costs more than what it is for. A busy worker hands actors over without knowing who talks to
//! whom, so nothing else would bring them together again. Only mail of workers with lower numbers counts: of two that
//! wake each other one stays where it is. (Decision 0043.)

use super::nanos;
use crate::time::Time;

/// Visits for little, less those for more, after which what they are for goes to where they come from. As many cost
/// far more than moving, which is for nothing where the host hands over again.
const VISITS: u32 = if cfg!(shuttle) { 2 } else { 64 };
/// What a visit for more takes off: one in so many and one may be that, the kernel having had the core meanwhile.
const TAKEN_OFF: u32 = 2;

/// See the [module](self).
#[derive(Debug, Default)]
pub(super) struct Visits {
    /// Whose mail alone has woken the worker, until its actors run.
    host: Option<usize>,
    /// When the visit began that has not ended.
    began: Option<Time>,
    /// Visits for little so far, as counted above.
    count: u32,
}

impl Visits {
    /// Worker `own` wakes up, by nothing but the mail of `host` if that is any.
    pub(super) fn wake(&mut self, host: Option<usize>, own: usize) {
        self.host = host.filter(|&host| host < own);
        self.began = None;
        if self.host.is_none() {
            self.count = 0;
        }
    }

    /// The worker begins a slice; returns the worker that the actors are to go to that it was woken for, if they are.
    pub(super) fn begin(&mut self, now: Time) -> Option<usize> {
        let host = self.host.take()?;
        self.began = Some(now);
        (self.count >= VISITS).then_some(host)
    }

    /// The worker has had nothing to run since `idle_since`, and sleeps. What takes less than `little` nanoseconds is
    /// not worth a wake-up.
    pub(super) fn end(&mut self, idle_since: Time, little: u64) {
        let Some(began) = self.began.take() else { return };
        // shuttle repeats its schedules, and could not if they followed from the time.
        let is_little = cfg!(shuttle) || nanos(idle_since.since(began)) < little;
        self.count = if is_little {
            (self.count + 1).min(VISITS)
        } else {
            self.count.saturating_sub(TAKEN_OFF)
        };
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    const LITTLE: u64 = 50_000;

    /// What is told at the beginning of a visit that takes so many nanoseconds.
    fn visit(visits: &mut Visits, host: Option<usize>, span: u64) -> Option<usize> {
        visits.wake(host, 1);
        let host = visits.begin(Time(0));
        assert_eq!(visits.begin(Time(0)), None, "a slice in the middle of the visit");
        visits.end(Time(span), LITTLE);
        host
    }

    #[test]
    fn after_so_many_visits_for_little_the_next_ones_go_home() {
        let mut visits = Visits::default();
        for _ in 0..VISITS {
            assert_eq!(visit(&mut visits, Some(0), LITTLE - 1), None);
        }
        for _ in 0..3 {
            assert_eq!(visit(&mut visits, Some(0), LITTLE - 1), Some(0));
        }
    }

    #[test]
    fn where_every_third_is_for_more_none_goes_home() {
        let mut visits = Visits::default();
        for number in 0..10 * VISITS {
            let span = if number % 3 == 0 { LITTLE } else { 0 };
            assert_eq!(visit(&mut visits, Some(0), span), None);
        }
    }

    #[test]
    fn where_every_fourth_is_for_more_the_rest_goes_home_in_the_end() {
        let mut visits = Visits::default();
        let mut spans = (0..10 * VISITS).map(|number| if number % 4 == 0 { LITTLE } else { 0 });
        assert!(spans.any(|span| visit(&mut visits, Some(0), span) == Some(0)));
    }

    #[test]
    fn a_wake_up_of_ones_own_and_mail_from_higher_workers_are_no_visits() {
        for other in [None, Some(1), Some(2)] {
            let mut visits = Visits::default();
            for _ in 0..=VISITS {
                assert_eq!(visit(&mut visits, other, 0), None);
            }
            for _ in 0..VISITS {
                assert_eq!(visit(&mut visits, Some(0), 0), None, "after {other:?}");
            }
        }
    }
}
