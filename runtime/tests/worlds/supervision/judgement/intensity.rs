//! How often a supervisor restarts, and how long it waits before.

use super::super::cast::{BACKOFF, JITTER, RESTARTS, WINDOW};
use super::super::chronicle::Crew;
use super::{Children, Failure, Judgement};
use greenroom::{ActorId, ExitReason, Strategy};
use std::time::Duration;

/// The wait before a restart with so many before it in the window, without jitter.
fn backoff(before: usize) -> Duration {
    let doublings = u32::try_from(before).unwrap_or(u32::MAX).min(31);
    BACKOFF[0].saturating_mul(1 << doublings).min(BACKOFF[1])
}

/// The least that jitter leaves of a wait.
fn shortened(wait: Duration) -> Duration {
    wait * (100 - JITTER) / 100
}

impl Judgement {
    /// The wait before a restart is one that the policy has; of a child that restarts alone, by how many failures of the
    /// last time there were before this one.
    pub(super) fn judge_delay(
        &self,
        actor: ActorId,
        reason: &ExitReason,
        delay: Duration,
        now: Duration,
    ) {
        let in_range = (shortened(BACKOFF[0])..=BACKOFF[1]).contains(&delay);
        assert!(delay.is_zero() || in_range, "{reason}: {delay:?}");
        let known = &self.actors[&actor];
        let (Some(failure), Some(crew)) = (&known.open, known.crew) else { return };
        let children = &self.crews[&crew];
        if children.strategy != Strategy::OneForOne || self.drained_at.is_some() {
            return;
        }
        let [fewest, most] = self.failures_before(failure, children, now).map(backoff);
        let fits = (shortened(fewest)..=most).contains(&delay);
        let goes_on_alone = (known.drains_from.is_some() || known.is_recalled()) && delay.is_zero();
        assert!(
            fits || goes_on_alone,
            "{actor} waits {delay:?}, not {fewest:?} to {most:?}, after {children:#?}"
        );
    }

    /// How many failures of a crew were counted in the window before this one, which is met now: at least and at most.
    fn failures_before(&self, last: &Failure, children: &Children, now: Duration) -> [usize; 2] {
        let is_surely = |failure: &&Failure| {
            let is_before = failure.places[1] < last.places[0];
            let is_counted = failure.is_restarted && !self.may_be_uncounted(failure);
            is_counted && is_before && now < failure.from + WINDOW
        };
        let may_be = |failure: &&Failure| last.from < failure.to + WINDOW;
        let others = children.all.iter().filter(|(child, _)| *child != last.child);
        let open = others.filter(|(child, _)| self.actors[child].open.is_some()).count();
        let closed = &children.failures;
        [closed.iter().filter(is_surely).count(), closed.iter().filter(may_be).count() + open]
    }

    /// Whether the child may have drained when that was met.
    fn may_be_uncounted(&self, failure: &Failure) -> bool {
        let drains_from = self.actors[&failure.child].drains_from;
        drains_from.is_some_and(|from| from <= failure.places[1])
    }

    /// No window has more failures that were met with a restart than are allowed.
    pub(super) fn not_too_many(&self, crew: &Crew, children: &Children) {
        let mut met: Vec<_> = children
            .failures
            .iter()
            .filter(|failure| failure.is_restarted && failure.is_alone)
            .filter(|failure| self.drained_at.is_none_or(|at| failure.to < at))
            .filter(|failure| !self.may_drain(failure.child))
            .collect();
        met.sort_by_key(|failure| failure.places[0]);
        for some in met.windows(RESTARTS as usize + 1) {
            let span = some[RESTARTS as usize].to - some[0].from;
            assert!(span >= WINDOW, "{crew:?} restarts too often: {some:#?}");
        }
    }

    /// Who gives up has had one failure more than allowed.
    pub(super) fn not_too_few(&self, crew: &Crew, children: &Children) {
        let Some((place, _, ExitReason::TooManyRestarts { actor: last, .. })) = &children.stops
        else {
            return;
        };
        let before: Vec<_> =
            children.failures.iter().filter(|failure| failure.places[0] < *place).collect();
        let last = before.iter().rev().find(|failure| failure.child == *last);
        let last = last.expect("it has failed").from;
        let recent = before.iter().filter(|failure| failure.to + WINDOW > last).count();
        assert!(recent > RESTARTS as usize, "{crew:?} gives up too early: {before:#?}");
    }
}
