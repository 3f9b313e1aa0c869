//! The client's end of a session.

use super::super::sends::SendError;
use super::seal::{Protection, Seals};
use super::timely::Timely;
use super::wire::{HEADER_BYTES, Header, Kind};
use super::{Called, Carrier, Config, Event};
use crate::link::Time;
use std::time::Duration;

/// A request slot.
#[derive(Clone, Copy, Debug)]
struct Slot {
    /// Of the request in it, or of the last one.
    number: u64,
    user: u64,
    sent: Time,
    len: u32,
    repeats: u8,
    is_open: bool,
    /// Whether it is among those that leave next.
    is_leaving: bool,
}

#[derive(Debug)]
pub(super) struct Client<P> {
    pub(super) peer: P,
    /// Until the session is connected.
    protection: Option<Protection>,
    /// None as long as the server's number of the session is not known: there are no keys.
    connected: Option<Connected>,
    slots: Box<[Slot]>,
    /// Slots without a request.
    free: Vec<u16>,
    /// What is asked, for each slot, to be sent again.
    requests: Box<[u8]>,
    bytes_max: usize,
    repeat_after: Duration,
    repeats_max: u8,
    timely: Timely,
}

#[derive(Debug)]
struct Connected {
    /// What the server calls the session.
    remote: u32,
    seals: Seals,
}

/// A call that got its reply.
pub(super) struct Answered {
    pub(super) user: u64,
    pub(super) rate_changed: bool,
}

impl<P: Copy> Client<P> {
    pub(super) fn new(peer: P, protection: Protection, config: &Config) -> Self {
        let slot = |at: u16| Slot {
            number: at.into(),
            user: 0,
            sent: Time::default(),
            len: 0,
            repeats: 0,
            is_open: false,
            is_leaving: false,
        };
        Self {
            peer,
            protection: Some(protection),
            connected: None,
            slots: (0..config.slots).map(slot).collect(),
            free: (0..config.slots).rev().collect(),
            requests: vec![0; usize::from(config.slots) * config.message_bytes_max].into(),
            bytes_max: config.message_bytes_max,
            repeat_after: config.repeat_after,
            repeats_max: config.repeats_max,
            timely: Timely::new(config),
        }
    }

    /// The session, which this end calls `own`, has that number at the server. Another number, later, does nothing.
    pub(super) fn connect(&mut self, own: u32, remote: u32) {
        let Some(protection) = self.protection.take() else { return };
        let seals = Seals::new(protection, Kind::Request, own, remote);
        self.connected = Some(Connected { remote, seals });
    }

    /// What is in a packet, opened in place. None if it is not protected as the session's are, or those have no keys yet.
    #[inline]
    pub(super) fn unseal<'p>(&self, header: &Header, packet: &'p mut [u8]) -> Option<&'p [u8]> {
        self.connected.as_ref()?.seals.open(header, packet)
    }

    pub(super) fn has_calls(&self) -> bool {
        self.free.len() < self.slots.len()
    }

    /// Whether it is paced.
    pub(super) const fn is_slowed(&self) -> bool {
        self.timely.is_slowed()
    }

    /// When the pace lets the next request go, if that is later than `now`.
    pub(super) fn next_after(&self, now: Time) -> Option<Time> {
        self.timely.next_after(now)
    }

    /// Takes a request into a slot.
    pub(super) fn call(
        &mut self,
        now: Time,
        user: u64,
        fill: impl FnOnce(&mut [u8]) -> usize,
    ) -> Option<Called> {
        self.connected.as_ref()?;
        if !self.timely.may_send(now) {
            return None;
        }
        let index = self.free.pop()?;
        let start = usize::from(index) * self.bytes_max;
        let room = &mut self.requests[start..start + self.bytes_max];
        let len = fill(room).min(self.bytes_max);
        self.timely.on_sent(now, HEADER_BYTES + len);
        let step = self.slots.len() as u64;
        let slot = &mut self.slots[usize::from(index)];
        // One that had its outcome before it left waits there still.
        let is_new = !slot.is_leaving;
        #[expect(clippy::cast_possible_truncation, reason = "a packet is shorter")]
        let len = len as u32;
        let number = slot.number + step;
        *slot = Slot { number, user, sent: now, len, repeats: 0, is_open: true, is_leaving: true };
        Some(Called { slot: index, is_new })
    }

    /// Sends the request in that slot, if it has one.
    pub(super) fn transmit<C: Carrier<Peer = P>>(
        &mut self,
        now: Time,
        carrier: &mut C,
        index: u16,
    ) -> Result<(), SendError> {
        let slot = &mut self.slots[usize::from(index)];
        slot.is_leaving = false;
        let Some(Connected { remote, seals }) = &self.connected else { return Ok(()) };
        if !slot.is_open {
            return Ok(());
        }
        let start = usize::from(index) * self.bytes_max;
        let payload = &self.requests[start..start + slot.len as usize];
        let header = Header {
            kind: Kind::Request,
            is_sealed: seals.is_sealed(),
            session: *remote,
            number: slot.number,
        };
        let sent = carrier.send(self.peer, |packet| seals.write(&header, payload, packet));
        slot.is_leaving = sent == Err(SendError::Full);
        // What it waited for here is no part of the round trip.
        slot.sent = now;
        sent.map(|_| ())
    }

    /// The call that this reply is for, if it is open.
    pub(super) fn on_reply(&mut self, now: Time, number: u64) -> Option<Answered> {
        let mask = self.slots.len() as u64 - 1;
        let slot = &mut self.slots[(number & mask) as usize];
        // [RDMA-33] A reply to a call that was given up, or that has its outcome, is for nobody.
        let is_its = crate::planted!("rpc-late-reply": slot.number == number => true);
        if !slot.is_open || !is_its {
            return None;
        }
        slot.is_open = false;
        // What was sent twice says nothing about the round trip (Karn).
        let rtt = (slot.repeats == 0).then(|| now.since(slot.sent));
        #[expect(clippy::cast_possible_truncation, reason = "there are at most 2^15")]
        self.free.push((number & mask) as u16);
        let rate_changed = rtt.is_some_and(|rtt| self.timely.on_reply(rtt));
        Some(Answered { user: slot.user, rate_changed })
    }

    /// Repeats requests that are not answered, and gives up those that were repeated often enough; says
    /// how many.
    pub(super) fn scan(
        &mut self,
        now: Time,
        sink: &mut impl FnMut(Event<'_>),
        mut repeat: impl FnMut(u16),
    ) -> u64 {
        let mut given_up = 0;
        for (index, slot) in (0..).zip(&mut self.slots) {
            let patience = self.repeat_after.saturating_mul(1 << slot.repeats.min(16));
            if !slot.is_open || slot.is_leaving || now.since(slot.sent) < patience {
                continue;
            }
            if slot.repeats == self.repeats_max {
                slot.is_open = false;
                self.free.push(index);
                given_up += 1;
                sink(Event::Unanswered { user: slot.user });
            } else {
                slot.repeats += 1;
                slot.is_leaving = true;
                repeat(index);
            }
        }
        given_up
    }

    /// Ends all calls; says how many.
    pub(super) fn close(self, sink: &mut impl FnMut(Event<'_>)) -> u64 {
        let open = self.slots.iter().filter(|slot| slot.is_open);
        open.map(|slot| sink(Event::Unanswered { user: slot.user })).count() as u64
    }
}
