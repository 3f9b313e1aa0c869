//! Futures that wait for something, but no longer than until a deadline.

use crate::task::cell::CellRef;
use crate::task::core::{Alarm, AlarmKey};
use crate::time::Time;
use std::task::Waker;

/// Wakes whoever waits at a deadline, unless it is dropped before.
pub(super) struct Wakeup<'a> {
    cell: &'a CellRef,
    alarm: Option<AlarmKey>,
}

impl<'a> Wakeup<'a> {
    /// One by the clock of the cell's system, which is not set.
    pub(super) fn new(cell: &'a CellRef) -> Self {
        Self { cell, alarm: None }
    }

    /// Wakes `waker` at `deadline`, and nobody else any more; `false` if it is over already.
    pub(super) fn set(&mut self, deadline: Time, waker: &Waker) -> bool {
        self.cancel();
        let core = &self.cell.core;
        let is_ahead = core.clock.now() < deadline;
        if is_ahead {
            self.alarm = Some(core.set_alarm(deadline, Alarm::Wake(waker.clone())));
        }
        is_ahead
    }

    fn cancel(&mut self) {
        if let Some(alarm) = self.alarm.take() {
            self.cell.core.cancel_alarm(alarm);
        }
    }
}

impl Drop for Wakeup<'_> {
    fn drop(&mut self) {
        self.cancel();
    }
}
