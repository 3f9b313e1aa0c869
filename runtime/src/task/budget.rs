//! The mail that waits in all mailboxes of a system together, and who is told when there is too much.
//!
//! One word for messages and one for bytes, which every sender and every receiver of the system changes; a
//! system without a budget has neither.

use super::cell::{CellRef, Header};
use super::core::Core;
use super::current;
use crate::event::{Event, Events, Quantity};
use crate::queue::level::{Level, Mark, Marks, Reading};
use crate::queue::permits::Taking;
use crate::sync::{CachePadded, Ordering};
use std::task::Waker;

/// What may wait in a system.
#[derive(Debug)]
pub(crate) struct Budget {
    messages: Option<CachePadded<Level>>,
    bytes: Option<CachePadded<Level>>,
}

/// One of the two counts of a budget.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Share<'a> {
    pub(crate) level: &'a Level,
    /// What a message counts for.
    pub(crate) count: usize,
    pub(crate) marks: BudgetMarks<'a>,
}

impl Budget {
    /// A budget, if there is a limit to anything.
    pub(crate) fn new(messages: Option<usize>, bytes: Option<usize>) -> Option<Self> {
        let level = |max: usize| {
            let mark = Mark { high: max, low: max / 2, resume: max };
            CachePadded(Level::new(mark))
        };
        (messages.is_some() || bytes.is_some())
            .then(|| Self { messages: messages.map(level), bytes: bytes.map(level) })
    }

    /// The counts that a message of `bytes` changes.
    pub(crate) fn shares<'a>(
        &'a self,
        bytes: usize,
        events: &'a Events,
    ) -> impl Iterator<Item = Share<'a>> + Clone {
        let share = |level: &'a Option<CachePadded<Level>>, count, quantity| {
            let marks = BudgetMarks { events, quantity };
            level.as_ref().map(|level| Share { level: &level.0, count, marks })
        };
        let messages = share(&self.messages, 1, Quantity::Messages);
        messages.into_iter().chain(share(&self.bytes, bytes, Quantity::Bytes))
    }

    /// Takes room for a message of `bytes`, if there is some and nobody waits for it.
    pub(crate) fn try_enter(&self, bytes: usize, events: &Events) -> bool {
        for (index, share) in self.shares(bytes, events).enumerate() {
            if share.level.try_take(share.count, share.marks) != Taking::Taken {
                self.shares(bytes, events).take(index).for_each(Share::leave);
                return false;
            }
        }
        true
    }

    /// Takes room for a message of `bytes`, whether there is some or not.
    pub(crate) fn enter_anyway(&self, bytes: usize, events: &Events) {
        self.shares(bytes, events).for_each(Share::enter_anyway);
    }

    /// Gives back the room of a message of `bytes`.
    pub(crate) fn leave(&self, bytes: usize, events: &Events) {
        self.shares(bytes, events).for_each(Share::leave);
    }

    /// Takes room for `bytes` more of a message that is in, if there is some and nobody waits for it.
    pub(crate) fn try_grow(&self, bytes: usize, events: &Events) -> bool {
        let marks = BudgetMarks { events, quantity: Quantity::Bytes };
        self.bytes.as_ref().is_none_or(|level| level.0.try_take(bytes, marks) == Taking::Taken)
    }

    /// Gives back the room of so many messages, and of `bytes`.
    pub(crate) fn shrink(&self, messages: usize, bytes: usize, events: &Events) {
        let give = |level: &Option<CachePadded<Level>>, count, quantity| {
            if let Some(level) = level.as_ref().filter(|_| count > 0) {
                level.0.give(count, BudgetMarks { events, quantity });
            }
        };
        give(&self.messages, messages, Quantity::Messages);
        give(&self.bytes, bytes, Quantity::Bytes);
    }

    /// Shows how each sender is woken that waits for a part of it.
    pub(crate) fn look_at_waiting(&self, mut each: impl FnMut(&Waker)) {
        for level in self.messages.iter().chain(&self.bytes) {
            level.0.look_at_waiting(&mut each);
        }
    }

    /// Whether it limits bytes.
    pub(crate) fn counts_bytes(&self) -> bool {
        self.bytes.is_some()
    }

    /// Whether a message of `bytes` could never fit.
    pub(crate) fn is_too_large(&self, bytes: usize) -> bool {
        self.bytes.as_ref().is_some_and(|level| level.0.is_too_large(bytes))
    }

    /// What waits now: messages, and bytes.
    pub(crate) fn read(&self) -> [Option<Reading>; 2] {
        [&self.messages, &self.bytes].map(|level| level.as_ref().map(|level| level.0.read()))
    }
}

impl Share<'_> {
    pub(crate) fn enter_anyway(self) {
        self.level.take_anyway(self.count, self.marks);
    }

    fn leave(self) {
        self.level.give(self.count, self.marks);
    }
}

/// Tells of a system's budget.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BudgetMarks<'a> {
    events: &'a Events,
    quantity: Quantity,
}

impl Marks for BudgetMarks<'_> {
    fn rose(&self) {
        let quantity = self.quantity;
        self.events.counters.overloads.add_one();
        self.events.emit(|| Event::SystemOverloaded { quantity });
    }

    fn fell(&self) {
        let quantity = self.quantity;
        self.events.emit(|| Event::SystemRelieved { quantity });
    }

    fn alerted(&self) {}
}

/// An actor tells of its mailbox. Its own handler, if it waits to send something, is to look whether it
/// still has to.
impl Marks for &CellRef {
    fn rose(&self) {
        let actor = self.actor_id();
        self.core.events.counters.overloads.add_one();
        self.core.events.emit(|| Event::Overloaded { actor });
        self.wake();
    }

    fn fell(&self) {
        let actor = self.actor_id();
        self.core.events.emit(|| Event::Relieved { actor });
    }

    fn alerted(&self) {
        self.wake();
    }
}

impl Core {
    /// Gives back the room of a message of `bytes` in the budget of the system, if that has one.
    pub(crate) fn leave_budget(&self, bytes: usize) {
        if let Some(budget) = &self.budget {
            budget.leave(bytes, &self.events);
        }
    }

    /// Notes that there is an actor that can be overloaded.
    pub(crate) fn begin_slowing(&self) {
        // Relaxed: who may wait for that actor has its reference, which came after this.
        self.slows.store(true, Ordering::Relaxed);
    }

    /// Whether some sender may have to wait until a receiver is relieved.
    pub(crate) fn slows(&self) -> bool {
        // Relaxed: as above.
        self.slows.load(Ordering::Relaxed)
    }

    /// Whether a handler or hook runs on this thread, of an actor of this system.
    pub(crate) fn is_handling(&self) -> bool {
        current::worker_of(self)
            .is_some_and(|worker| self.watch.doing(worker as usize).is_handling())
    }

    /// Whether a handler or hook of that actor, which is of this system, runs on this thread.
    pub(crate) fn is_handling_of(&self, actor: &Header) -> bool {
        current::worker_of(self)
            .is_some_and(|worker| self.watch.doing(worker as usize).is_handling_of(actor))
    }
}
