//! How messages get from one queue pair to another.

use super::super::verbs::{Completion, Endpoint, GRH_BYTES, Outcome, QueuePairState, Timing};
use super::events::{Datagram, Event};
use super::fabric::State;
use super::pair::{Kind, Payload, Send};
use crate::link::Time;
use std::time::Duration;

/// Why a message is not in the peer's memory.
enum Miss {
    Unanswered,
    NotReady,
    TooLong,
}

impl State {
    /// The doorbell: what waits is the device's now.
    pub(super) fn ring_sends(&mut self, pair: usize) {
        let Some(it) = self.pair(pair) else { return };
        let mut waiting = std::mem::take(&mut it.waiting);
        let is_datagram = it.is_datagram();
        for mut send in waiting.drain(..) {
            // A datagram leaves at once and travels by itself; messages keep their order all the way.
            let travel = if is_datagram { Duration::ZERO } else { self.travel() };
            let now = self.now();
            let Some(it) = self.pair(pair) else { return };
            it.last_due = it.last_due.max(now + travel);
            send.due = it.last_due;
            it.outgoing.push_back(send);
            let due = it.last_due;
            self.at(due, Event::Send(pair));
        }
        // Its memory is used again.
        if let Some(it) = self.pair(pair) {
            it.waiting = waiting;
        }
    }

    pub(super) fn on_send(&mut self, pair: usize) {
        let now = self.now();
        let Some(it) = self.pair(pair) else { return };
        let is_datagram = it.is_datagram();
        let is_due = it.outgoing.front().is_some_and(|send| send.due <= now);
        let host = it.host;
        if !is_due || it.blocked_until > now || self.alive(host).is_err() {
            return;
        }
        if is_datagram {
            self.send_datagram(pair);
        } else {
            self.send_message(pair);
        }
        // What came due while this one was waiting.
        let now = self.now();
        let Some(it) = self.pair(pair) else { return };
        if it.blocked_until <= now && it.outgoing.front().is_some_and(|send| send.due <= now) {
            self.at(now, Event::Send(pair));
        }
    }

    fn send_message(&mut self, pair: usize) {
        let is_last = self.random.below(1_000_000) < self.weather.failures_ppm;
        // It fails before the message arrives, or before the answer does.
        if is_last && self.random.below(2) == 0 {
            return self.fail(pair, Outcome::Unanswered);
        }
        let loss = self.weather.message_loss_permille;
        if loss > 0 && self.random.below(1000) < loss {
            return self.try_later(pair, 1);
        }
        match self.put_message(pair) {
            Ok(()) if is_last => self.fail(pair, Outcome::Unanswered),
            Ok(()) => self.done(pair),
            Err(Miss::TooLong) => self.fail(pair, Outcome::Refused),
            Err(Miss::NotReady) => {
                self.not_ready += 1;
                self.try_later(pair, 0);
            }
            Err(Miss::Unanswered) => self.try_later(pair, 1),
        }
    }

    fn try_later(&mut self, pair: usize, why: usize) {
        let now = self.now();
        let Some(it) = self.pair(pair) else { return };
        let Kind::Connected { timing, .. } = it.kind else { return };
        let (max, outcome, wait) = match why {
            0 => (timing.not_ready_retries, Outcome::ReceiverNotReady, NOT_READY_WAIT),
            _ => (timing.retries, Outcome::Unanswered, answer_wait(&timing)),
        };
        it.tries[why] += 1;
        // Seven is for ever, for a peer that is not ready.
        let is_endless = why == 0 && max == 7;
        if it.tries[why] > max && !is_endless {
            return self.fail(pair, outcome);
        }
        it.tries[why] = it.tries[why].min(8);
        it.blocked_until = now + wait;
        let until = it.blocked_until;
        self.at(until, Event::Send(pair));
    }

    /// Puts the first message of a queue pair into the memory of its peer.
    fn put_message(&mut self, pair: usize) -> Result<(), Miss> {
        let Some(it) = self.pair(pair) else { return Err(Miss::Unanswered) };
        let (host, here) = (it.host, Self::endpoint(it));
        let Kind::Connected { peer: Some(peer), .. } = it.kind else {
            return Err(Miss::Unanswered);
        };
        if !self.is_at(host, &here.gid) {
            return Err(Miss::Unanswered);
        }
        let target = self.reach(&peer.gid, peer.qpn).ok_or(Miss::Unanswered)?;
        let receiver = self.pair(target).ok_or(Miss::Unanswered)?;
        let hears = matches!(receiver.state, QueuePairState::Ready | QueuePairState::Receives);
        if !hears || !receiver.is_connected_to(&here) {
            return Err(Miss::Unanswered);
        }
        let queue = receiver.receives;
        let share = self.weather.not_ready_permille;
        let is_late = share > 0 && self.random.below(1000) < share;
        if is_late || !self.receives(queue).is_ready() {
            return Err(Miss::NotReady);
        }
        let mut bytes = std::mem::take(&mut self.scratch);
        self.read(pair, &mut bytes);
        // Its packets are as long as both ports take, whatever lies between them.
        let packet = bytes.len().min(here.mtu_bytes.min(peer.mtu_bytes).into());
        let is_carried = packet <= usize::from(self.weather.path_mtu_bytes);
        let fits = is_carried && self.put(target, &bytes, Completion::default());
        self.scratch = bytes;
        match (is_carried, fits) {
            (false, _) => Err(Miss::Unanswered),
            (true, false) => Err(Miss::TooLong),
            (true, true) => Ok(()),
        }
    }

    /// Puts bytes into the next slot that is posted there; says whether they fit.
    fn put(&mut self, target: usize, bytes: &[u8], completion: Completion) -> bool {
        let wanted = &self.wanted;
        let is_there = !wanted.is_empty() && bytes.windows(wanted.len()).any(|it| it == wanted);
        self.sightings += u64::from(is_there);
        let Some(queue) = self.pair(target).map(|it| it.receives) else { return false };
        let queue = self.receives(queue);
        let Some(work) = queue.next() else { return false };
        let room = queue.slots.get_mut(work).and_then(|slot| slot.as_mut().get_mut(..bytes.len()));
        let fits = room.map(|room| room.copy_from_slice(bytes)).is_some();
        #[expect(clippy::cast_possible_truncation, reason = "a slot is shorter")]
        let len = bytes.len() as u32;
        let outcome = if fits { Outcome::Done } else { Outcome::TooLong };
        self.complete(target, Completion { work, outcome, bytes: len, ..completion });
        if !fits {
            self.fail(target, Outcome::Flushed);
        }
        fits
    }

    /// What the device reads of the first send, at this moment.
    fn read(&mut self, pair: usize, into: &mut Vec<u8>) {
        into.clear();
        let Some(it) = self.pair(pair) else { return };
        let Some(send) = it.outgoing.front() else { return };
        match &send.payload {
            Payload::Inline(bytes) => into.extend_from_slice(bytes),
            Payload::Slot(range) => {
                let slot =
                    it.slots.get(send.work).and_then(|slot| slot.as_ref().get(range.clone()));
                match slot {
                    Some(bytes) => into.extend_from_slice(bytes),
                    // Memory that was given back too early holds something else by now.
                    None => into.resize(range.len(), 0xdd),
                }
            }
        }
    }

    /// The first send of a queue pair is done.
    fn done(&mut self, pair: usize) {
        let Some(it) = self.pair(pair) else { return };
        it.tries = [0, 0];
        let Some(Send { work, payload, signalled, .. }) = it.outgoing.pop_front() else { return };
        self.reclaim(payload);
        if signalled {
            self.complete(pair, Completion { work, ..Completion::default() });
        }
    }

    fn send_datagram(&mut self, pair: usize) {
        let mut bytes = self.buffer();
        self.read(pair, &mut bytes);
        let Some(it) = self.pair(pair) else { return };
        let (host, from) = (it.host, Self::endpoint(it));
        let target = it.outgoing.front().and_then(|send| send.target);
        // Whatever becomes of it: it was sent.
        self.done(pair);
        let is_lost = self.random.below(1000) < self.weather.datagram_loss_permille;
        let fits = bytes.len() <= usize::from(self.weather.path_mtu_bytes);
        match target {
            Some(target) if !is_lost && fits && self.is_at(host, &from.gid) => {
                let at = self.now() + self.travel();
                let (gid, qpn, qkey) = (target.gid, target.qpn, target.qkey);
                self.at(at, Event::Datagram(Datagram { from, gid, qpn, qkey, bytes }));
            }
            _ => self.give_back(bytes),
        }
    }

    pub(super) fn on_datagram(&mut self, datagram: Datagram) {
        let Datagram { from, gid, qpn, qkey, bytes } = datagram;
        if let Some(target) = self.takes_datagram(&gid, qpn, qkey) {
            let said = Completion { from: from.qpn, has_grh: true, ..Completion::default() };
            let mut whole = std::mem::take(&mut self.scratch);
            route_header(&from, &gid, &bytes, &mut whole);
            self.put(target, &whole, said);
            self.scratch = whole;
        }
        self.give_back(bytes);
    }

    /// The queue pair that takes this datagram, if there is one; nobody is told if there is none.
    fn takes_datagram(&mut self, gid: &[u8; 16], qpn: u32, key: u32) -> Option<usize> {
        let target = self.reach(gid, qpn)?;
        let it = self.pair(target)?;
        let takes = matches!(it.kind, Kind::Datagram { qkey } if qkey == key);
        let queue = it.receives;
        let is_ready = it.state == QueuePairState::Ready && takes;
        (is_ready && self.receives(queue).is_ready()).then_some(target)
    }
}

/// A datagram as it lies in a slot: behind a header of IPv4, as RoCE has it, and that behind bytes that mean nothing.
fn route_header(from: &Endpoint, to: &[u8; 16], bytes: &[u8], whole: &mut Vec<u8>) {
    whole.clear();
    whole.resize(GRH_BYTES, 0xa5);
    whole[20] = 0x45;
    whole[32..36].copy_from_slice(&from.gid[12..]);
    whole[36..].copy_from_slice(&to[12..]);
    whole.extend_from_slice(bytes);
}

/// How long a device waits for a peer that is not ready.
const NOT_READY_WAIT: Duration = Duration::from_micros(640);

/// How long a device waits for an answer.
fn answer_wait(timing: &Timing) -> Duration {
    Duration::from_nanos(4096 << timing.timeout.min(31))
}

/// Before anything was ever posted.
pub(super) const NEVER: Time = Time::from_nanos(0);
