//! What waits behind the message for which an actor has no room, in order.

use super::Origin;
use crate::net::frame::Envelope;
use crate::net::remote::Fence;
use crate::net::whole::Part;
use std::collections::VecDeque;

/// See the [module](self).
#[derive(Default)]
pub(super) struct Parking {
    messages: VecDeque<Parked>,
    /// What happens when it is dropped, each behind so many messages.
    fences: VecDeque<(u64, Fence)>,
    /// Messages that were taken.
    taken: u64,
}

/// A message that waits.
pub(super) struct Parked {
    pub(super) origin: Origin,
    pub(super) version: u16,
    pub(super) schema: u32,
    pub(super) arguments: Part,
}

impl Parked {
    pub(super) fn new(envelope: &Envelope<'_>, origin: Origin) -> Self {
        let Envelope { version, schema, arguments, .. } = *envelope;
        Self { origin, version, schema, arguments: Part::of(arguments) }
    }

    /// The memory that it takes.
    pub(super) fn bytes(&self) -> usize {
        size_of::<Self>() + self.arguments.whole().capacity()
    }
}

impl Parking {
    pub(super) fn park(&mut self, message: Parked) {
        self.messages.push_back(message);
    }

    /// Lets `fence` go when all that is here has been taken, and has found room.
    pub(super) fn put(&mut self, fence: Fence) {
        self.fences.push_back((self.taken + self.messages.len() as u64, fence));
    }

    /// Lets those fences go that nothing is in front of, when what was taken has found room; then takes the first message,
    /// unless it is a question and those are not to go on.
    pub(super) fn next(&mut self, is_pressed: impl FnOnce() -> bool) -> Option<Parked> {
        while self.fences.front().is_some_and(|(behind, _)| *behind <= self.taken) {
            self.fences.pop_front();
        }
        let is_question = self.messages.front()?.origin.question.is_some();
        if is_question && is_pressed() {
            return None;
        }
        self.taken += 1;
        self.messages.pop_front()
    }

    /// Messages that are here.
    pub(super) fn len(&self) -> usize {
        self.messages.len()
    }

    /// Whether nothing is here.
    pub(super) fn is_empty(&self) -> bool {
        self.messages.is_empty() && self.fences.is_empty()
    }
}
