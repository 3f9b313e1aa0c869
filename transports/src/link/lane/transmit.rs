//! Packets that leave.
//!
//! What goes first: acknowledgements, credit, what was lost, what never waits at the receiver, mail, and
//! pieces of long messages in turn. After three packets without one the next begins with a piece, so that long messages
//! are not held up for ever by short ones. While short ones come, pieces leave a little of the window free: it
//! would be full again whenever one comes, which then waited a round trip. Order per pair does not depend on any of this.

use super::super::ack::ACK_LEN_MIN;
use super::super::close::{CloseReason, End};
use super::super::envelope::Class;
use super::super::frame::{
    Fragment, Frame, LANE_CREDIT_LEN_MAX, MAILBOX_CREDIT_LEN_MAX, Message, PATH_LEN,
};
use super::super::pacer::Pace;
use super::super::reassembly::PIECE_MIN;
use super::super::received::Ecn;
use super::super::sent::{Item, Purpose};
use super::super::time::Time;
use super::super::wire::{NoRoom, Writer};
use super::{Event, Lane, Phase};

/// Of so many packets in a row one has a piece of a long message, if there is one.
const PIECES_FIRST_EVERY: u32 = 4;

/// So many packets, and no more than a quarter of the window, are left to short messages by pieces of long ones. [LINK-37]
const SHORT_PACKETS: u64 = 2;

/// So many packets are remembered while one of them waits for its acknowledgement: more than any window
/// has. A peer that is heard, but acknowledges nothing, has memory used for each answer. [LINK-14]
const REMEMBERED_MAX: usize = 1 << 16;

/// A packet for the carrier to seal and send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transmit {
    /// Its number, by which the peer acknowledges it. Numbers ascend, go on when keys change, and some
    /// are left out.
    pub number: u64,
    /// How many bytes of the buffer are its inside.
    pub len: usize,
    /// Whether packets of this size may be too large for the path: it has to be sent alone.
    pub is_size_probe: bool,
}

impl Lane {
    /// The next packet to send, its inside written to the front of `buffer`; `None` for none by now.
    ///
    /// The carrier asks until there is none, after whatever else it did with the lane; then there may be events. The buffer
    /// should have room for [`Config::packet_len_max`] bytes; packets are no longer than it.
    ///
    /// [`Config::packet_len_max`]: super::super::Config::packet_len_max
    pub fn poll_transmit(&mut self, now: Time, buffer: &mut [u8]) -> Option<Transmit> {
        match self.phase {
            Phase::Open => {}
            Phase::Closing { .. } => return self.transmit_close(now, buffer),
            Phase::Ended => return None,
        }
        self.pace_until = None;
        let may_elicit = self.may_elicit(now);
        // A probe of the path does not hold up the first message after a pause.
        let is_busy = self.recovery.sent.bytes_in_flight() > 0;
        if may_elicit
            && is_busy
            && let Some(probe) = self.transmit_size_probe(now, buffer)
        {
            return Some(probe);
        }
        let ack_due = self.received.due().is_some_and(|due| due <= now);
        let elicits = may_elicit && (self.has_news(now) || self.probes > 0);
        if (ack_due || elicits)
            && let Some(packet) = self.transmit_frames(now, buffer, elicits)
        {
            return Some(packet);
        }
        if may_elicit { self.transmit_size_probe(now, buffer) } else { None }
    }

    /// The carrier has filled up a packet that it was just given, which leaves so many bytes longer.
    pub(crate) fn on_filled_up(&mut self, number: u64, bytes: usize) {
        self.recovery.sent.lengthen(number, bytes);
        self.pacer.on_sent(bytes as u64);
    }

    /// How the carrier is to mark the next packets, if it can. [LINK-36]
    #[must_use]
    pub const fn ecn(&self) -> Ecn {
        self.recovery.ecn()
    }

    fn transmit_frames(&mut self, now: Time, buffer: &mut [u8], elicits: bool) -> Option<Transmit> {
        let room = buffer.len().min(self.packet_len());
        let mut writer = Writer::new(&mut buffer[..room]);
        let acked_below = self.received.write(now, &mut writer);
        let eliciting = elicits && self.fill(now, &mut writer);
        if self.outbox.unsent.has_caught_up() {
            self.events.push_back(Event::Room);
        }
        let len = writer.written();
        if len == 0 {
            return None;
        }
        let purpose = if eliciting { Purpose::Frames } else { Purpose::Acks };
        Some(self.sent(now, len, purpose, acked_below))
    }

    /// Whether there is anything to send beside acknowledgements.
    fn has_news(&self, now: Time) -> bool {
        self.ping
            || self.has_credit_to_give()
            || self.challenge.is_some()
            || self.response.is_some()
            || self.outbox.has_whole()
            || self.outbox.has_pieces() && (self.is_turn_of_pieces() || self.may_send_pieces(now))
    }

    /// Whether window and pace let a packet go that asks for an acknowledgement.
    fn may_elicit(&mut self, now: Time) -> bool {
        if self.probes > 0 {
            return true;
        }
        let packet_size = self.mtu.current() as u64;
        let window = self.congestion_window();
        let in_flight = self.recovery.sent.bytes_in_flight();
        if in_flight + packet_size > window {
            return false;
        }
        // A window that is half empty holds nothing back, and is not worth a look at the pace. But after a pause more than the
        // first window would find no room where the path is narrow (RFC 9002, section 7.7).
        let first_window = self.config.initial_window_packets * packet_size;
        if in_flight < (window / 2).min(first_window) {
            return true;
        }
        let is_probing = self.congestion.is_probing();
        let pace = Pace { window, rtt: self.recovery.rtt.smoothed(), packet_size, is_probing };
        let wait = self.pacer.wait(now, &pace);
        self.pace_until = wait;
        wait.is_none()
    }

    /// Notes a packet that is complete.
    fn sent(&mut self, now: Time, len: usize, purpose: Purpose, acked_below: u64) -> Transmit {
        let number = self.recovery.sent.next();
        self.recovery.on_sent(now, len, purpose, acked_below);
        self.counts.packets_sent += 1;
        if purpose != Purpose::Acks {
            self.pacer.on_sent(len as u64);
            self.liveness.set_waiting(now, true);
            self.probes = self.probes.saturating_sub(1);
        }
        self.skip_sometimes(now);
        if self.recovery.sent.count() > REMEMBERED_MAX {
            let reason = CloseReason::NothingAcked;
            self.end_with_notice(now, reason, End::Misbehaved(reason));
        }
        Transmit { number, len, is_size_probe: purpose == Purpose::MtuProbe }
    }

    /// Leaves a packet number out now and then: who acknowledges it has not waited for it. [LINK-11]
    fn skip_sometimes(&mut self, now: Time) {
        if self.config.skip_every == 0 {
            return;
        }
        if self.skip_in == 0 {
            self.recovery.sent.skip(now);
            self.skip_in = self.random.below(2 * self.config.skip_every);
        } else {
            self.skip_in -= 1;
        }
    }

    fn transmit_close(&mut self, now: Time, buffer: &mut [u8]) -> Option<Transmit> {
        let Phase::Closing { reason, due, .. } = &mut self.phase else { return None };
        if !std::mem::take(due) {
            return None;
        }
        let mut writer = Writer::new(buffer);
        Frame::Close(*reason).write(&mut writer).ok()?;
        let len = writer.written();
        Some(self.sent(now, len, Purpose::Acks, 0))
    }

    fn transmit_size_probe(&mut self, now: Time, buffer: &mut [u8]) -> Option<Transmit> {
        if self.probes > 0 || self.size_probe_due().is_none_or(|due| due > now) {
            return None;
        }
        self.mtu.limit(buffer.len());
        let size = self.mtu.probe(now)?;
        let packet = &mut buffer[..size];
        packet.fill(0);
        Frame::Ping.write(&mut Writer::new(packet)).ok()?;
        self.mtu.on_probe_sent(size);
        Some(self.sent(now, size, Purpose::MtuProbe, 0))
    }

    /// Fills a packet; says whether anything in it asks for an acknowledgement.
    fn fill(&mut self, now: Time, writer: &mut Writer<'_>) -> bool {
        let before = writer.written();
        // There is always room for the first of these; what finds none waits for the next packet.
        let filled = self.fill_control(writer).and_then(|()| self.fill_messages(now, writer));
        debug_assert_eq!(filled, Ok(()), "room is looked at before");
        let is_asking = self.ping || self.probes > 0;
        if writer.written() == before && is_asking && Frame::Ping.write(writer).is_err() {
            return false;
        }
        if writer.written() > before {
            self.ping = false;
        }
        writer.written() > before
    }

    fn fill_control(&mut self, writer: &mut Writer<'_>) -> Result<(), NoRoom> {
        if writer.room() >= PATH_LEN
            && let Some(token) = self.response.take()
        {
            Frame::PathResponse(token).write(writer)?;
        }
        if writer.room() >= PATH_LEN
            && let Some(token) = self.challenge.take()
        {
            Frame::PathChallenge(token).write(writer)?;
            self.proving = Some(token);
            self.recovery.sent.add_item(Item::PathChallenge(token));
        }
        for class in Class::ALL {
            if self.credit_news[class as usize] && writer.room() >= LANE_CREDIT_LEN_MAX {
                self.credit_news[class as usize] = false;
                let limit = self.limit_of(class as usize);
                Frame::LaneCredit { class, limit }.write(writer)?;
                self.recovery.sent.add_item(Item::LaneCredit(class));
            }
        }
        while writer.room() >= MAILBOX_CREDIT_LEN_MAX
            && let Some((to, limit)) = self.placements.next_news()
        {
            Frame::MailboxCredit { to, limit }.write(writer)?;
            self.recovery.sent.add_item(Item::MailboxCredit(to));
        }
        Ok(())
    }

    fn fill_messages(&mut self, now: Time, writer: &mut Writer<'_>) -> Result<(), NoRoom> {
        self.outbox.begin_packet();
        let before = writer.written();
        if self.is_turn_of_pieces() {
            self.whole_in_a_row = 0;
            self.fill_pieces(writer)?;
            if writer.written() > before {
                return Ok(());
            }
        }
        self.fill_whole(writer)?;
        let whole = writer.written();
        if whole > before {
            self.whole_in_a_row += 1;
            self.short_at = Some(now);
        }
        if self.outbox.has_pieces() && self.may_send_pieces(now) {
            self.fill_pieces(writer)?;
        }
        if writer.written() > whole {
            self.whole_in_a_row = 0;
        }
        Ok(())
    }

    /// Whether the next packet begins with a piece, if there is one.
    const fn is_turn_of_pieces(&self) -> bool {
        self.whole_in_a_row >= PIECES_FIRST_EVERY - 1
    }

    /// Whether the window has room for pieces beside that for short messages, if there were any of late. With nothing under
    /// way it has: no acknowledgement would come for which they could wait.
    fn may_send_pieces(&self, now: Time) -> bool {
        let lately = 2 * self.recovery.rtt.smoothed();
        let in_flight = self.recovery.sent.bytes_in_flight();
        let is_mixed = self.short_at.is_some_and(|at| now.since(at) <= lately);
        if !is_mixed || self.probes > 0 || in_flight == 0 {
            return true;
        }
        let (window, packet_size) = (self.congestion_window(), self.mtu.current() as u64);
        let reserve = (SHORT_PACKETS * packet_size).min(window / 4);
        let reserve = crate::planted!("link-window-unreserved": reserve => 0);
        in_flight + packet_size + reserve <= window
    }

    fn fill_whole(&mut self, writer: &mut Writer<'_>) -> Result<(), NoRoom> {
        // What is written beside a message at its largest, so that it fits into some packet.
        let room_max = self.mtu.current() - ACK_LEN_MIN;
        while let Some(next) = self.outbox.next_whole(room_max) {
            let message = self.outbox.peek(next);
            let kind = message.head.envelope.kind;
            if !self.spends[kind.class() as usize].covers(message.end) {
                self.outbox.lacks_credit(kind.class());
                continue;
            }
            if Message::frame_len(kind, message.bytes.len()) > writer.room() {
                return Ok(());
            }
            #[expect(clippy::cast_possible_truncation, reason = "the low bits go into the packet")]
            let low = next.sequence as u32;
            let payload = self.outbox.payload(message);
            Message { sequence: low, head: message.head, payload }.write(writer)?;
            self.outbox.sent_whole(next);
            self.recovery.sent.add_message(next.sequence);
        }
        Ok(())
    }

    fn fill_pieces(&mut self, writer: &mut Writer<'_>) -> Result<(), NoRoom> {
        while let Some((sequence, missing)) = self.outbox.next_piece() {
            let Some(message) = self.outbox.get(sequence) else { return Ok(()) };
            let (kind, len) = (message.head.envelope.kind, message.bytes.len());
            let sendable = self.spends[kind.class() as usize].sendable(message.end, len) as u64;
            let overhead = Fragment::overhead(kind, len as u64, missing.start);
            let room = writer.room().saturating_sub(overhead) as u64;
            let end = missing.end.min(missing.start + room);
            let worthwhile = end == missing.end || end - missing.start >= PIECE_MIN as u64;
            if room == 0 || !worthwhile {
                return Ok(());
            }
            // Credit for a little is waited for, unless it is the beginning: that asks for more.
            let end = end.min(sendable);
            let enough = end >= missing.end.min(missing.start + PIECE_MIN as u64)
                || (missing.start == 0 && end > 0);
            if !enough {
                self.outbox.pass_turn();
                continue;
            }
            self.write_piece(writer, sequence, missing.start..end)?;
        }
        Ok(())
    }

    fn write_piece(
        &mut self,
        writer: &mut Writer<'_>,
        sequence: u64,
        bytes: std::ops::Range<u64>,
    ) -> Result<(), NoRoom> {
        let message = self.outbox.get(sequence).expect("a message with bytes to send is there");
        let (start, end) = (index(bytes.start), index(bytes.end));
        let fragment = Fragment {
            #[expect(clippy::cast_possible_truncation, reason = "the low bits go into the packet")]
            sequence: sequence as u32,
            class: message.head.envelope.kind.class(),
            total: message.bytes.len() as u64,
            offset: bytes.start,
            head: (start == 0).then_some(message.head),
            payload: &self.outbox.payload(message)[start as usize..end as usize],
        };
        fragment.write(writer)?;
        self.recovery.sent.add_item(Item::Fragment { sequence, start, end });
        self.outbox.sent_piece(sequence, bytes);
        Ok(())
    }
}

/// A place in a message, which has at most 4 GiB.
fn index(at: u64) -> u32 {
    u32::try_from(at).expect("a message has at most 4 GiB")
}
