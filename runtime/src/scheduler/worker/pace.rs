//! How long turns take on the running worker, and what follows from it.

use crate::task::current;
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
