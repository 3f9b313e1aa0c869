//! Restart intensity: exactly `count_max` restarts in any window, then no more. Pure.

use super::options::{Restart, RestartKind};
use crate::event::ExitReason;
use crate::sync::planted;
use crate::time::Time;
use std::collections::VecDeque;
use std::time::Duration;

/// What follows the end of an incarnation.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// The actor ends for the reason that the incarnation did.
    End,
    /// The actor ends, because it would be restarted too often.
    TooMany,
    /// It starts again after the delay.
    Restart(Duration),
}

/// When the recent restarts were.
#[derive(Debug, Default)]
pub(crate) struct History(VecDeque<Time>);

impl History {
    /// Decides on the end of an incarnation at `now`, for `reason`, by itself or not.
    pub(crate) fn judge(
        &mut self,
        policy: &Restart,
        reason: &ExitReason,
        own_wish: bool,
        now: Time,
        draw: impl FnOnce() -> u64,
    ) -> Verdict {
        if !policy.kind().restarts_after(reason, own_wish) {
            return Verdict::End;
        }
        self.count(policy, now, draw).map_or(Verdict::TooMany, Verdict::Restart)
    }

    /// Counts a restart at `now`, and says how long to wait before it; `None` if it is one too many.
    pub(crate) fn count(
        &mut self,
        policy: &Restart,
        now: Time,
        draw: impl FnOnce() -> u64,
    ) -> Option<Duration> {
        let is_old = |&old: &Time| now.since(old) >= policy.window();
        while planted!("restart-window-stays": self.0.front().is_some_and(is_old) => false) {
            self.0.pop_front();
        }
        let recent = u32::try_from(self.0.len()).unwrap_or(u32::MAX);
        if planted!("restart-one-too-many": recent >= policy.count_max() => recent > policy.count_max())
        {
            return None;
        }
        self.0.push_back(now);
        Some(policy.delay(recent, draw))
    }
}

impl RestartKind {
    /// Whether an incarnation that ended so is followed by another one.
    pub(crate) fn restarts_after(self, reason: &ExitReason, own_wish: bool) -> bool {
        let failed = !reason.is_normal() && !reason.is_final();
        match self {
            Self::Never => planted!("temporary-returns": false => failed),
            Self::Transient => failed,
            Self::Permanent => failed || own_wish,
        }
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests;
