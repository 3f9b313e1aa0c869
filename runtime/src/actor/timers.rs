//! Timers of an actor: once, at intervals, and until cancelled.
//!
//! A timer is an alarm of the system that sends a signal to the actor, and a place in the actor's own
//! table. The signal is obeyed only while its place is taken: so a timer that was cancelled is not
//! called, though its signal may wait already. Setting, cancelling and calling are O(1).

use super::body;
use super::context::Context;
use super::local::LocalCall;
use super::signal::{Signal, call, signal_kind};
use super::traits::{Actor, Behavior};
use crate::queue::node::{Kind, Node};
use crate::sync::planted;
use crate::task::cell::Header;
use crate::task::core::{Alarm, AlarmKey};
use crate::task::letter::Letter;
use crate::time::Time;
use std::ptr::NonNull;
use std::time::Duration;

/// Names a timer of an actor; see [`Context::cancel`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TimerId {
    /// Unique within the system.
    number: u64,
    /// Where in its actor's table.
    place: u32,
}

/// The timers of one incarnation.
#[derive(Debug, Default)]
pub(super) struct Timers {
    places: Vec<Option<(u64, AlarmKey)>>,
    free: Vec<u32>,
}

impl Timers {
    /// A place for timer `number`, which [`Timers::set`] fills.
    fn reserve(&mut self, number: u64) -> TimerId {
        let place = self.free.pop().unwrap_or_else(|| {
            self.places.push(None);
            u32::try_from(self.places.len() - 1).expect("fewer than 2^32 timers")
        });
        TimerId { number, place }
    }

    fn set(&mut self, timer: TimerId, alarm: AlarmKey) {
        self.places[timer.place as usize] = Some((timer.number, alarm));
    }

    /// Whether the timer is not over.
    fn is_set(&self, timer: TimerId) -> bool {
        let place = self.places.get(timer.place as usize);
        matches!(place, Some(Some((number, _))) if *number == timer.number)
    }

    /// Takes a timer out; `None` if it was over.
    fn take(&mut self, timer: TimerId) -> Option<AlarmKey> {
        if !self.is_set(timer) {
            return None;
        }
        self.free.push(timer.place);
        self.places[timer.place as usize].take().map(|(_, alarm)| alarm)
    }

    /// The alarms of all timers.
    pub(super) fn into_alarms(self) -> impl Iterator<Item = AlarmKey> {
        self.places.into_iter().flatten().map(|(_, alarm)| alarm)
    }
}

#[derive(Clone, Copy)]
struct Tick {
    id: TimerId,
    due: Time,
    period: Option<Duration>,
}

impl<A: Actor> Context<A> {
    /// Ends a timer; `false` if it was over. Its method is not called after this, not even if the
    /// timer was due before. O(1).
    pub fn cancel(&mut self, timer: TimerId) -> bool {
        let alarm = self.side_if_any().and_then(|side| side.timers.take(timer));
        if let Some(alarm) = alarm {
            planted!("timer-cancelled-kept": self.core().cancel_alarm(alarm) => ());
        }
        alarm.is_some()
    }
}

impl<A: Behavior> Context<A> {
    /// Calls `method` once, `delay` from now or a little later, unless the incarnation ends before.
    /// O(1).
    pub fn after<Shape: 'static>(
        &mut self,
        delay: Duration,
        method: impl LocalCall<A, (), Shape>,
    ) -> TimerId {
        self.set_timer(delay, None, method)
    }

    /// Calls `method` every `period`, first one period from now, until the incarnation ends. A call
    /// that is due while an earlier one still waits is left out. O(1).
    ///
    /// # Panics
    /// If `period` is zero.
    pub fn every<Shape: 'static>(
        &mut self,
        period: Duration,
        method: impl LocalCall<A, (), Shape>,
    ) -> TimerId {
        assert!(!period.is_zero(), "a timer has a period above zero");
        self.set_timer(period, Some(period), method)
    }

    fn set_timer<F: LocalCall<A, (), Shape>, Shape: 'static>(
        &mut self,
        delay: Duration,
        period: Option<Duration>,
        method: F,
    ) -> TimerId {
        let number = self.core().next_id();
        let id = self.side().timers.reserve(number);
        let due = self.core().clock.now().after(delay);
        self.arm::<F, Shape>(Tick { id, due, period }, method);
        id
    }

    fn arm<F: LocalCall<A, (), Shape>, Shape: 'static>(&mut self, tick: Tick, method: F) {
        let signal = Signal { method, value: tick, epoch: self.incarnation() };
        let node = Node::new(ticked::<A, F, Shape>(&signal.method), signal);
        // SAFETY: the node is new, and its kind was made for this actor.
        let letter = unsafe { Letter::new(self.cell(), node) };
        let alarm = self.core().set_alarm(tick.due, Alarm::Push(letter));
        self.side().timers.set(tick.id, alarm);
    }
}

// The method is named by a reference because most are of types that cannot be written.
fn ticked<A: Behavior, F: LocalCall<A, (), S>, S: 'static>(_: &F) -> &'static Kind {
    signal_kind!(deliver_tick::<A, F, S>, Signal<F, Tick>)
}

/// # Safety
/// As [`Kind::deliver`]; the cell is an `A`'s, and the payload a `Signal<F, Tick>`.
unsafe fn deliver_tick<A: Behavior, F: LocalCall<A, (), S>, S: 'static>(
    to: NonNull<()>,
    node: NonNull<Node>,
) {
    // SAFETY: the caller's promise.
    let signal = unsafe { Node::into_payload::<Signal<F, Tick>>(node) };
    let header = to.cast::<Header>();
    // SAFETY: as above; no handler waits.
    let context = unsafe { body::context::<A>(header) };
    let tick = signal.value;
    let is_set = planted!("timer-cancelled-called": context.side().timers.is_set(tick.id) => true);
    if signal.epoch != context.incarnation() || !is_set {
        return;
    }
    if let Some(period) = tick.period {
        let now = context.core().clock.now();
        let mut due = tick.due.after(period);
        if due <= now {
            // Calls that were missed are left out, and the rhythm is kept.
            let behind = now.since(due).as_nanos() / period.as_nanos() + 1;
            due = due.after(period.saturating_mul(u32::try_from(behind).unwrap_or(u32::MAX)));
        }
        context.arm::<F, S>(Tick { due, ..tick }, signal.method);
    } else {
        context.side().timers.take(tick.id);
    }
    // SAFETY: as above.
    unsafe { call::<A, F, (), S>(header, signal.method, ()) };
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests;
