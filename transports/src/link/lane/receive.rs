//! Packets that come, and what is in them.

use super::super::ack::Ack;
use super::super::close::{CloseReason, End};
use super::super::congestion::Arrival;
use super::super::credit::Grant;
use super::super::envelope::Class;
use super::super::frame::{Frame, FrameError, Message};
use super::super::inbox::Taken;
use super::super::payload::Payloads;
use super::super::received::Ecn;
use super::super::sent::{Item, State};
use super::super::time::Time;
use super::super::wire::Reader;
use super::{Event, Lane, Phase};
use greenroom::net::Bytes;

impl Lane {
    /// Takes in a packet of the peer's that the carrier has opened: its number and its inside.
    ///
    /// Everything after this call is to be asked for: messages, events, packets, the next timeout. A
    /// packet that comes twice does nothing the second time. What no honest peer would send ends the
    /// lane. [LINK-3]
    pub fn on_packet(&mut self, now: Time, number: u64, inside: &[u8], ecn: Ecn) {
        self.on_packet_in(now, number, inside, ecn, None);
    }

    /// As [`on_packet`](Self::on_packet), of a packet whose memory may be kept for as long as anybody has a message in it: long
    /// ones are not copied. `inside` has to be a part of `lent`.
    pub fn on_packet_lent(
        &mut self,
        now: Time,
        number: u64,
        inside: &[u8],
        ecn: Ecn,
        lent: &Bytes,
    ) {
        self.on_packet_in(now, number, inside, ecn, Some(lent));
    }

    fn on_packet_in(
        &mut self,
        now: Time,
        number: u64,
        inside: &[u8],
        ecn: Ecn,
        lent: Option<&Bytes>,
    ) {
        match &mut self.phase {
            Phase::Open => {}
            Phase::Closing { due, heard, .. } => {
                // The first, second, fourth ... is answered, so that two that close do not chatter. [LINK-73]
                *heard += 1;
                *due |= heard.is_power_of_two();
                return self.on_packet_while_closing(inside);
            }
            Phase::Ended => return,
        }
        self.counts.packets_received += 1;
        if self.liveness.on_heard(now) {
            self.events.push_back(Event::Recovered);
        }
        match self.on_frames(now, inside, lent) {
            Ok(eliciting) => self.received.on_packet(now, number, eliciting, ecn),
            Err(reason) => self.end_with_notice(now, reason, End::Misbehaved(reason)),
        }
        for class in Class::ALL {
            self.renew_credit(now, class);
        }
        self.liveness.set_waiting(now, self.recovery.sent.is_waiting());
    }

    fn on_packet_while_closing(&mut self, inside: &[u8]) {
        let mut reader = Reader::new(inside);
        while let Ok(frame) = Frame::read(&mut reader) {
            if matches!(frame, Frame::Close(_)) {
                self.phase = Phase::Ended;
                return;
            }
        }
    }

    /// Says whether the packet asks for an acknowledgement.
    fn on_frames(
        &mut self,
        now: Time,
        inside: &[u8],
        lent: Option<&Bytes>,
    ) -> Result<bool, CloseReason> {
        let mut reader = Reader::new(inside);
        let (mut eliciting, mut acknowledges) = (false, false);
        if reader.is_empty() {
            return Err(self.bad_frame(FrameError::Empty));
        }
        while !reader.is_empty() && self.phase == Phase::Open {
            if let Some(message) = Message::next(&mut reader) {
                let message = message.map_err(|error| self.bad_frame(error))?;
                eliciting = true;
                self.on_message(&message, lent)?;
                continue;
            }
            let frame = Frame::read(&mut reader).map_err(|error| self.bad_frame(error))?;
            eliciting |= !matches!(frame, Frame::Pad | Frame::Ack(_) | Frame::Close(_));
            // Each may name all packets that are remembered, of which there may be many. [LINK-15]
            if matches!(frame, Frame::Ack(_)) && std::mem::replace(&mut acknowledges, true) {
                crate::planted!("link-acks-repeated": Err(self.bad_frame(FrameError::SecondAck)) => Ok(()))?;
            }
            self.on_frame(now, &frame)?;
        }
        Ok(eliciting)
    }

    /// What is wrong with the frame stays here: the peer is told that it was bad.
    const fn bad_frame(&mut self, error: FrameError) -> CloseReason {
        self.frame_error = Some(error);
        CloseReason::BadFrame
    }

    fn on_frame(&mut self, now: Time, frame: &Frame<'_>) -> Result<(), CloseReason> {
        match frame {
            Frame::Pad | Frame::Ping => {}
            Frame::Ack(ack) => self.on_ack(now, ack)?,
            Frame::Message(message) => self.on_message(message, None)?,
            Frame::Fragment(fragment) => {
                let (grants, pool) = (&mut self.grants, &mut self.pool);
                let taken = self.inbox.on_fragment(fragment, grants, pool)?;
                self.counts.duplicates += u64::from(taken == Taken::Duplicate);
            }
            Frame::LaneCredit { class, limit } => {
                if self.spends[*class as usize].raise(*limit) {
                    self.events.push_back(Event::Room);
                }
            }
            Frame::MailboxCredit { to, limit } => {
                if self.allowances.raise(*to, *limit) {
                    self.events.push_back(Event::MailboxRoom(*to));
                }
            }
            Frame::PathChallenge(token) => self.response = Some(*token),
            Frame::PathResponse(token) => {
                // What nobody has asked for proves nothing, and would be kept for the carrier.
                if self.proving.take_if(|asked| asked == token).is_some() {
                    self.events.push_back(Event::PathProven(*token));
                }
            }
            Frame::Close(reason) => self.end(End::ClosedByPeer(*reason)),
        }
        Ok(())
    }

    fn on_message(
        &mut self,
        message: &Message<'_>,
        lent: Option<&Bytes>,
    ) -> Result<(), CloseReason> {
        let payloads = &mut Payloads { pool: &mut self.pool, lent };
        let taken = self.inbox.on_message(message, &mut self.grants, payloads)?;
        self.counts.duplicates += u64::from(taken == Taken::Duplicate);
        Ok(())
    }

    fn on_ack(&mut self, now: Time, ack: &Ack<'_>) -> Result<(), CloseReason> {
        self.findings.clear();
        let in_flight = self.recovery.sent.bytes_in_flight();
        if !self.recovery.on_ack(now, ack, &mut self.findings)? {
            return Ok(());
        }
        self.probes = 0;
        self.on_arrivals(now, in_flight);
        // [LINK-35]
        if self.findings.congested {
            self.on_congestion(now, self.findings.acked_sent, false);
        }
        self.on_losses(now);
        Ok(())
    }

    /// Acts on what the findings say has arrived.
    fn on_arrivals(&mut self, now: Time, in_flight: u64) {
        self.received.on_acks_received(self.findings.acks_received_below);
        let mut room = false;
        for item in &self.findings.acked {
            room |= self.outbox.on_acked(*item);
        }
        room |= self.outbox.unsent.has_caught_up();
        if room {
            self.events.push_back(Event::Room);
        }
        self.mtu.on_arrival(self.findings.acked_size_max as usize);
        if let Some((bytes, State::Acked)) = self.findings.probe
            && self.mtu.on_probe_arrived(now, bytes as usize)
        {
            self.set_packet_len();
        }
        if let Some(sent) = self.findings.acked_sent {
            // Not of what the peer bounds: its window would grow with what it never lets go.
            let window_used = in_flight * 2 >= self.congestion.window();
            let (bytes, rtt) = (self.findings.acked_bytes, self.recovery.rtt.smoothed());
            self.congestion.on_arrival(now, &Arrival { bytes, sent, rtt, window_used });
        }
    }

    /// Acts on what the findings say is lost.
    pub(super) fn on_losses(&mut self, now: Time) {
        let lost = std::mem::take(&mut self.findings.lost);
        for item in &lost {
            self.send_again(*item);
        }
        self.findings.lost = lost;
        self.counts.packets_lost += self.findings.lost_packets;
        if let Some((_, State::Lost)) = self.findings.probe {
            self.mtu.on_probe_lost(now);
        }
        if self.findings.lost_sent.is_some() {
            let persistent = self.findings.persistent;
            self.on_congestion(now, self.findings.lost_sent, persistent);
            if self.mtu.on_loss(now, self.findings.lost_size_max as usize) {
                self.set_packet_len();
            }
        }
    }

    fn on_congestion(&mut self, now: Time, sent: Option<Time>, persistent: bool) {
        if let Some(sent) = sent {
            self.counts.congestions += 1;
            self.congestion.on_congestion(now, sent, persistent);
        }
    }

    /// Queues what was in a packet once more; credit as it is by now.
    pub(super) fn send_again(&mut self, item: Item) {
        match item {
            Item::Messages { .. } | Item::Fragment { .. } => self.outbox.on_lost(item),
            Item::LaneCredit(class) => self.credit_news[class as usize] = true,
            Item::MailboxCredit(to) => self.placements.on_lost(to),
            Item::PathChallenge(token) => {
                let is_asked = self.proving == Some(token);
                self.challenge = self.challenge.or(is_asked.then_some(token));
            }
        }
    }

    pub(super) fn limit_of(&self, class: usize) -> u64 {
        self.grants.get(class).map_or(0, Grant::limit)
    }
}
