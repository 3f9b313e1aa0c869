//! What waits behind the message for which an actor has no room, in order.

use super::Origin;
use crate::net::frame::Envelope;
use crate::net::remote::Fence;
use crate::net::whole::Part;
use std::collections::VecDeque;

/// Memory of all messages that wait: while they have more, an actor gets no more of them than its part of this. [ENV-11]
const BYTES_MAX: usize = 128 << 20;

/// What waits for all actors of a connection.
#[derive(Default)]
pub(super) struct Load {
    bytes: usize,
    /// Those for which something waits.
    actors: usize,
}

impl Load {
    /// Whether so many bytes more are too many for an actor. As the parts become smaller the more actors there are, what waits
    /// for `n` of them is less than `BYTES_MAX * (1 + ln n)`, and a message.
    pub(super) fn is_too_much(&self, of: &Parking, more: usize) -> bool {
        let actors = self.actors + usize::from(of.messages.is_empty());
        self.bytes > BYTES_MAX && of.bytes + more > BYTES_MAX / actors
    }
}

/// See the [module](self).
#[derive(Default)]
pub(super) struct Parking {
    messages: VecDeque<Parked>,
    /// The memory of these.
    bytes: usize,
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
        size_of::<Self>() + self.arguments.held()
    }
}

impl Parking {
    pub(super) fn park(&mut self, message: Parked, load: &mut Load) {
        load.actors += usize::from(self.messages.is_empty());
        load.bytes += message.bytes();
        self.bytes += message.bytes();
        self.messages.push_back(message);
    }

    /// Lets `fence` go when all that is here has been taken, and has found room.
    pub(super) fn put(&mut self, fence: Fence) {
        self.fences.push_back((self.taken + self.messages.len() as u64, fence));
    }

    /// Lets those fences go that nothing is in front of, when what was taken has found room; then takes the first message,
    /// unless it is a question and those are not to go on.
    pub(super) fn next(
        &mut self,
        is_pressed: impl FnOnce() -> bool,
        load: &mut Load,
    ) -> Option<Parked> {
        while self.fences.front().is_some_and(|(behind, _)| *behind <= self.taken) {
            self.fences.pop_front();
        }
        let is_question = self.messages.front()?.origin.question.is_some();
        if is_question && is_pressed() {
            return None;
        }
        self.taken += 1;
        let message = self.messages.pop_front()?;
        self.bytes -= message.bytes();
        load.bytes -= message.bytes();
        load.actors -= usize::from(self.messages.is_empty());
        Some(message)
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
