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
    ) -> Verdict {
        let again = match policy.kind() {
            RestartKind::Never => false,
            RestartKind::Transient => !reason.is_normal() && !reason.is_final(),
            RestartKind::Permanent => !reason.is_final() && (own_wish || !reason.is_normal()),
        };
        if !again {
            return Verdict::End;
        }
        while self.0.front().is_some_and(|&old| now.since(old) >= policy.window()) {
            self.0.pop_front();
        }
        let recent = u32::try_from(self.0.len()).unwrap_or(u32::MAX);
        if planted!("restart-one-too-many": recent >= policy.count_max() => recent > policy.count_max())
        {
            return Verdict::TooMany;
        }
        self.0.push_back(now);
        Verdict::Restart(policy.delay(recent))
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests;
