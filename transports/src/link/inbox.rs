//! Messages that came from the peer, until their turn to be delivered has come.
//!
//! The receiver keeps no state for pairs of actors. Each message says how far back the last one of its
//! pair is; it is delivered once that one is, so a lost message holds up its own pair alone. [LINK-50]
//!
//! Invariants:
//! 1. All messages up to the floor are delivered; `slots[i]` is that of the message `floor + 1 + i`.
//!    The first one is not delivered, or there is none.
//! 2. A message is delivered once: whatever comes for a delivered or held one is dropped. [LINK-52]
//! 3. A held message is named as the successor by the slot of the one it waits for.

use super::close::CloseReason;
use super::config::{Config, MESSAGE_COST};
use super::credit::Grant;
use super::envelope::Envelope;
use super::frame::{Fragment, Head, Message};
use super::payload::Payloads;
use super::pool::Pool;
use super::reassembly::Partial;
use greenroom::net::FrameBuf;
use std::collections::VecDeque;

#[derive(Debug)]
pub(super) struct Inbox {
    floor: u64,
    slots: VecDeque<Slot>,
    ready: VecDeque<(u64, Envelope, FrameBuf)>,
    window: u64,
    message_len_max: u64,
    partials: usize,
    partials_max: usize,
}

#[derive(Debug, Default)]
struct Slot {
    state: State,
    /// How far above the message is that waits for this one; 0 for none.
    successor: u16,
}

#[derive(Debug, Default)]
enum State {
    #[default]
    Missing,
    Partial(Box<Partial>),
    /// All of it is there, and its predecessor is not delivered.
    Held(Envelope, FrameBuf),
    Delivered,
}

/// What a frame did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Taken {
    New,
    /// It was there already.
    Duplicate,
}

impl Inbox {
    pub(super) fn new(config: &Config) -> Self {
        Self {
            floor: 0,
            slots: VecDeque::new(),
            ready: VecDeque::new(),
            window: config.window_messages,
            message_len_max: config.message_len_max as u64,
            partials: 0,
            partials_max: config.reassemblies_max,
        }
    }

    /// The next message whose turn has come.
    pub(super) fn pop(&mut self) -> Option<(u64, Envelope, FrameBuf)> {
        self.ready.pop_front()
    }

    /// How many there are.
    pub(super) fn ready(&self) -> usize {
        self.ready.len()
    }

    /// All messages up to this one are delivered.
    pub(super) const fn floor(&self) -> u64 {
        self.floor
    }

    /// Takes a whole message in.
    ///
    /// # Errors
    /// No honest peer would send it.
    pub(super) fn on_message(
        &mut self,
        message: &Message<'_>,
        grants: &mut [Grant; 2],
        payloads: &mut Payloads<'_>,
    ) -> Result<Taken, CloseReason> {
        let Some(sequence) = self.locate(message.sequence)? else { return Ok(Taken::Duplicate) };
        let len = message.payload.len() as u64;
        if self.slots.is_empty() && sequence == self.floor + 1 {
            return self.on_next(message, grants, payloads);
        }
        let mut counted = 0;
        match self.slot(sequence).map(|slot| &slot.state) {
            Some(State::Held(..) | State::Delivered) => {
                if crate::planted!("link-dedup-off": true => false) {
                    return Ok(Taken::Duplicate);
                }
            }
            // Its pieces were sent after it, which it has overtaken now.
            Some(State::Partial(partial)) if !partial.is_of(&message.head, len) => {
                return Err(CloseReason::BadFragment);
            }
            Some(State::Partial(partial)) => counted = partial.counted(),
            Some(State::Missing) | None => {}
        }
        if len > self.message_len_max {
            return Err(CloseReason::MessageTooBig);
        }
        let grant = &mut grants[message.head.envelope.kind.class() as usize];
        grant.on_received((len + MESSAGE_COST).saturating_sub(counted))?;
        let payload = payloads.keep(message.payload);
        self.complete(sequence, message.head, payload)?;
        Ok(Taken::New)
    }

    /// Takes in what most messages are: the next one, where nothing is missing. What it names as its predecessor is
    /// delivered, as all are that came.
    fn on_next(
        &mut self,
        message: &Message<'_>,
        grants: &mut [Grant; 2],
        payloads: &mut Payloads<'_>,
    ) -> Result<Taken, CloseReason> {
        let len = message.payload.len() as u64;
        if len > self.message_len_max {
            return Err(CloseReason::MessageTooBig);
        }
        let Head { envelope, predecessor } = message.head;
        grants[envelope.kind.class() as usize].on_received(len + MESSAGE_COST)?;
        if u64::from(predecessor) > self.floor {
            return Err(CloseReason::BadOrder);
        }
        self.floor += 1;
        self.ready.push_back((self.floor, envelope, payloads.keep(message.payload)));
        Ok(Taken::New)
    }

    /// Takes a piece of a message in.
    ///
    /// # Errors
    /// No honest peer would send it.
    pub(super) fn on_fragment(
        &mut self,
        fragment: &Fragment<'_>,
        grants: &mut [Grant; 2],
        pool: &mut Pool,
    ) -> Result<Taken, CloseReason> {
        let Some(sequence) = self.locate(fragment.sequence)? else { return Ok(Taken::Duplicate) };
        if fragment.total > self.message_len_max {
            return Err(CloseReason::MessageTooBig);
        }
        let grant = &mut grants[fragment.class as usize];
        self.extend_to(sequence);
        let (partials, partials_max) = (self.partials, self.partials_max);
        let slot = self.slot_mut(sequence).expect("the slots reach as far");
        if matches!(slot.state, State::Missing) {
            // [LINK-61]
            if partials >= partials_max {
                return Err(CloseReason::ReassemblyExceeded);
            }
            let partial = Partial::new(fragment.class, fragment.total, pool);
            grant.on_received(partial.counted())?;
            grant.make_room_for(fragment.total);
            slot.state = State::Partial(Box::new(partial));
            self.partials += 1;
        }
        let slot = self.slot_mut(sequence).expect("the slots reach as far");
        let State::Partial(partial) = &mut slot.state else { return Ok(Taken::Duplicate) };
        let before = partial.counted();
        partial.insert(fragment)?;
        grant.on_received(partial.counted() - before)?;
        partial.write(fragment);
        let Some((head, payload)) = partial.take_complete() else { return Ok(Taken::New) };
        self.complete(sequence, head, payload.into())?;
        Ok(Taken::New)
    }

    /// The full number of a message, of which the packet has the low bits; `None` for one that was
    /// delivered long ago. [LINK-53]
    fn locate(&self, low: u32) -> Result<Option<u64>, CloseReason> {
        #[expect(clippy::cast_possible_truncation, reason = "the low bits are what is compared")]
        let ahead = low.wrapping_sub(self.floor as u32).cast_signed();
        match u64::try_from(ahead) {
            Ok(0) | Err(_) => Ok(None),
            Ok(ahead) if ahead > self.window => Err(CloseReason::WindowExceeded),
            Ok(ahead) => Ok(Some(self.floor + ahead)),
        }
    }

    fn slot(&self, sequence: u64) -> Option<&Slot> {
        self.slots.get(usize::try_from(sequence - self.floor - 1).ok()?)
    }

    fn slot_mut(&mut self, sequence: u64) -> Option<&mut Slot> {
        self.slots.get_mut(usize::try_from(sequence - self.floor - 1).ok()?)
    }

    fn extend_to(&mut self, sequence: u64) {
        let len = usize::try_from(sequence - self.floor).expect("a window has 32768 messages");
        if self.slots.len() < len {
            self.slots.resize_with(len, Slot::default);
        }
    }

    /// All of a message is there: it is delivered, or waits for its predecessor. [LINK-54]
    fn complete(
        &mut self,
        sequence: u64,
        head: Head,
        payload: FrameBuf,
    ) -> Result<(), CloseReason> {
        if let Some(Slot { state: State::Partial(_), .. }) = self.slot(sequence) {
            self.partials -= 1;
        }
        let back = crate::planted!("link-order-ignored": u64::from(head.predecessor) => 0);
        if back >= sequence {
            return Err(CloseReason::BadOrder);
        }
        let before = sequence - back;
        let waits = back > 0
            && before > self.floor
            && !self.slot(before).is_some_and(|slot| matches!(slot.state, State::Delivered));
        if !waits {
            self.deliver(sequence, head.envelope, payload);
            return Ok(());
        }
        self.extend_to(sequence);
        let slot = self.slot_mut(before).expect("it lies below one that is there");
        if slot.successor != 0 {
            return Err(CloseReason::BadOrder);
        }
        slot.successor = head.predecessor;
        let slot = self.slot_mut(sequence).expect("the slots reach as far");
        slot.state = State::Held(head.envelope, payload);
        Ok(())
    }

    /// Delivers a message, and those that waited for it.
    fn deliver(&mut self, sequence: u64, envelope: Envelope, payload: FrameBuf) {
        self.ready.push_back((sequence, envelope, payload));
        self.extend_to(sequence);
        let mut delivered = sequence;
        loop {
            let slot = self.slot_mut(delivered).expect("the slots reach as far");
            slot.state = State::Delivered;
            if slot.successor == 0 {
                break;
            }
            delivered += u64::from(slot.successor);
            let slot = self.slot_mut(delivered).expect("a successor is there");
            let State::Held(envelope, payload) = std::mem::take(&mut slot.state) else {
                unreachable!("a successor is held until its predecessor is delivered")
            };
            self.ready.push_back((delivered, envelope, payload));
        }
        while let Some(Slot { state: State::Delivered, .. }) = self.slots.front() {
            self.slots.pop_front();
            self.floor += 1;
        }
    }
}

#[cfg(test)]
mod tests;
