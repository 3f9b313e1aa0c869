//! Alarms that many threads set and one looks after.
//!
//! Before that thread sleeps it asks for the next alarm ([`Alarms::next`]), and sleeps no longer than
//! until then. Whoever sets an earlier one is told to wake it ([`Alarms::set`]).
//!
//! Why none is missed: both happen under one lock. If the alarm was set first, the sleeper hears of it;
//! otherwise the setter sees what the sleeper is armed for.

use super::{Time, TimerKey, Wheel};
use crate::sync::{Mutex, planted};

/// See the [module](self).
#[derive(Debug)]
pub(crate) struct Alarms<T>(Mutex<Armed<T>>);

#[derive(Debug)]
struct Armed<T> {
    wheel: Wheel<T>,
    /// What the thread will wake for by itself.
    until: Time,
    /// Alarms that were set and not taken back.
    held: usize,
}

impl<T> Alarms<T> {
    pub(crate) fn new() -> Self {
        Self(Mutex::new(Armed { wheel: Wheel::new(), until: Time::NEVER, held: 0 }))
    }

    /// Lets `item` go off at `due`; `true` beside its key if the thread might sleep longer than that,
    /// and has to be woken. O(1).
    pub(crate) fn set(&self, due: Time, item: T) -> (TimerKey, bool) {
        let mut armed = self.0.lock();
        let key = armed.wheel.insert(due, item);
        armed.held += 1;
        let early = planted!("alarm-unarmed": due < armed.until => false);
        if early {
            armed.until = due;
        }
        (key, early)
    }

    /// Takes an item back; `None` if it went off or was taken back before. O(1).
    pub(crate) fn cancel(&self, key: TimerKey) -> Option<T> {
        let mut armed = self.0.lock();
        armed.held = armed.held.saturating_sub(1);
        armed.wheel.cancel(key)
    }

    /// Whether somebody has an alarm, or has had one go off and not taken it back: to say that it needs none any more, or has
    /// another one already. Means something only where each alarm is taken back once.
    pub(crate) fn are_held(&self) -> bool {
        self.0.lock().held > 0
    }

    /// Moves the items that are due at `now` to `due`.
    pub(crate) fn take_due(&self, now: Time, due: &mut Vec<T>) {
        self.0.lock().wheel.advance(now, |item| due.push(item));
    }

    /// How many have not gone off. For any thread.
    pub(crate) fn count(&self) -> usize {
        self.0.lock().wheel.len()
    }

    /// When the calling thread, which looks after the alarms, must look again. It is woken if an
    /// earlier one is set until then.
    pub(crate) fn next(&self) -> Option<Time> {
        let mut armed = self.0.lock();
        let next = armed.wheel.next_time();
        armed.until = next.unwrap_or(Time::NEVER);
        next
    }
}

#[cfg(all(test, loom))]
mod model;
