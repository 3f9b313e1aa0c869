//! How often a worker has next to nothing to do but for the mail of another one, which has nothing to do meanwhile.
//!
//! Two actors on two workers that talk in turns wake each other's worker for every message, and neither runs while the
//! other does: a wake-up costs more than what it is for. A busy worker hands actors over without knowing who talks to
//! whom, so nothing else would bring them together again. Only mail of workers with lower numbers counts: of two that
//! wake each other one stays where it is. (Decision 0043.)

use super::nanos;
use crate::scheduler::per_core::Visit;
use crate::sync::planted;
use crate::time::Time;

/// Visits that are worth no second worker, less those that are, after which what they are for goes to where they come
/// from. As many cost far more than moving, which is for nothing where the host hands over again.
const VISITS: u32 = if cfg!(shuttle) { 2 } else { 16 };
/// What a visit takes off that is worth it: one in so many and one may seem to be, the kernel having had a core
/// meanwhile.
const TAKEN_OFF: u32 = 2;

/// See the [module](self).
#[derive(Debug, Default)]
pub(super) struct Visits {
    /// The one that begins with the next slice.
    next: Option<Visit>,
    /// The one that has not ended, and since when.
    current: Option<(Visit, Time)>,
    /// As counted above.
    count: u32,
}

impl Visits {
    /// The worker had nothing to run, and has something now: for a visit, if it is one.
    pub(super) fn arrive(&mut self, visit: Option<Visit>) {
        self.next = visit;
        self.current = None;
    }

    /// The worker begins a slice; returns the worker that the actors are to go to that the visit is for, if they are.
    pub(super) fn begin(&mut self, now: Time) -> Option<usize> {
        let visit = self.next.take()?;
        self.current = Some((visit, now));
        if !visit.is_idle || self.count < VISITS {
            return None;
        }
        // A few more before the next one moves, so that each visit is seen to be for little.
        self.count -= TAKEN_OFF;
        Some(visit.host)
    }

    /// The worker has nothing more to run. What takes less than `little` nanoseconds is worth no second worker, where
    /// the first one does nothing else.
    pub(super) fn end(&mut self, now: Time, little: u64) {
        let Some((visit, began)) = self.current.take() else { return };
        // shuttle repeats its schedules, and could not if they followed from the time.
        let is_little = cfg!(shuttle) || nanos(now.since(began)) < little;
        self.count = if is_little && planted!("visits-to-the-busy": visit.is_idle => true) {
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
    const IDLE: Option<Visit> = Some(Visit { host: 0, is_idle: true });
    const BUSY: Option<Visit> = Some(Visit { host: 0, is_idle: false });

    /// What is told at the beginning of a visit that takes so many nanoseconds.
    fn visit(visits: &mut Visits, visit: Option<Visit>, span: u64) -> Option<usize> {
        visits.arrive(visit);
        let host = visits.begin(Time(0));
        assert_eq!(visits.begin(Time(0)), None, "a slice in the middle of the visit");
        visits.end(Time(span), LITTLE);
        visits.end(Time(u64::MAX), LITTLE);
        host
    }

    #[test]
    fn after_so_many_visits_for_little_one_goes_home_and_others_soon_follow() {
        let mut visits = Visits::default();
        let mut count = VISITS;
        for _ in 0..3 {
            for number in 0..count {
                // Other wake-ups in between count for nothing.
                visit(&mut visits, None, LITTLE);
                assert_eq!(visit(&mut visits, IDLE, LITTLE - 1), None, "{number}");
            }
            // Itself for little: one of those before the next.
            assert_eq!(visit(&mut visits, IDLE, LITTLE - 1), Some(0));
            count = TAKEN_OFF - 1;
        }
    }

    #[test]
    fn where_every_third_is_for_more_none_goes_home() {
        let mut visits = Visits::default();
        for number in 0..10 * VISITS {
            let span = if number % 3 == 0 { LITTLE } else { 0 };
            assert_eq!(visit(&mut visits, IDLE, span), None);
        }
    }

    #[test]
    fn where_every_fourth_is_for_more_the_rest_goes_home_in_the_end() {
        let mut visits = Visits::default();
        let mut spans = (0..10 * VISITS).map(|number| if number % 4 == 0 { LITTLE } else { 0 });
        assert!(spans.any(|span| visit(&mut visits, IDLE, span) == Some(0)));
    }

    #[test]
    fn what_a_busy_worker_has_done_meanwhile_is_worth_it() {
        let mut visits = Visits::default();
        for _ in 0..10 * VISITS {
            assert_eq!(visit(&mut visits, BUSY, 0), None);
        }
        for _ in 0..VISITS {
            assert_eq!(visit(&mut visits, IDLE, 0), None);
        }
        assert_eq!(visit(&mut visits, BUSY, 0), None, "not now");
    }
}
