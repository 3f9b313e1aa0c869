//! The packets of lines that go by queue pairs, sealed or in the same form.

use super::{PACKETS, Station, WORDS};
use crate::link::{Ecn, Lend, Time, is_worth_lending};
use crate::rdma::verbs::MTU_BYTES_MAX;
use crate::secure::aead::TAG_BYTES;
use crate::secure::endpoint::{AssociationId, Received};
use crate::secure::packet::NUMBER_MAX;
use crate::secure::reject::Reject;
use crate::secure::wire::{DataHeader, HEADER_BYTES, Kind, OVERHEAD_BYTES};
use crate::station::pairing::{Blocked, Pairing};
use crate::station::word::Word;
use std::ops::Range;

impl Station {
    /// Takes a packet that came by the queue pair of an association, and opens it in place.
    pub fn handle_paired<P: Lend + ?Sized>(
        &mut self,
        now: Time,
        id: AssociationId,
        packet: &mut P,
    ) {
        let Some(line) = self.lines.get_mut(&id) else { return };
        // Also of a line that ends, whose own packets go by UDP by now. [LINK-73]
        let is_used = |pairing: &Pairing| crate::planted!("rdma-close-deaf": pairing.is_used() => line.is_paired);
        if line.pairing.as_ref().is_some_and(|it| is_used(it) && it.is_plain()) {
            return match open_plain(packet.bytes()) {
                Ok((number, inside)) => self.take_inside(now, id, number, packet, inside),
                Err(why) => self.reject(id, why),
            };
        }
        // Whose queue pair it is says nothing of where the peer is, nor who wrote this. [RDMA-42]
        let Some(at) = self.endpoint.address(id) else { return };
        if let Err(why) = self.is_of(id, packet.bytes()) {
            return self.reject(id, why);
        }
        let received = self.endpoint.handle_beside(now, at, packet.bytes());
        self.take_events();
        let Received::Text { association, lane, number, text } = received else { return };
        if association != id {
            return;
        }
        match lane {
            PACKETS => self.take_inside(now, id, number, packet, text),
            WORDS => {
                let Some(text) = packet.bytes().get(text) else { return };
                let line = self.lines.get_mut(&id);
                let Some(pairing) = line.and_then(|line| line.pairing.as_mut()) else { return };
                if Word::decode(text) == Some(Word::Ready { attempt: pairing.attempt() }) {
                    let step = pairing.on_ready(now);
                    self.step(now, id, step);
                }
            }
            _ => {}
        }
    }

    /// Takes what is inside of a packet. Long messages stay where they lie, if that memory is lent.
    fn take_inside<P: Lend + ?Sized>(
        &mut self,
        now: Time,
        id: AssociationId,
        number: u64,
        packet: &mut P,
        inside: Range<usize>,
    ) {
        let Some(line) = self.lines.get_mut(&id) else { return };
        let Some(bytes) = packet.bytes().get(inside.clone()) else { return };
        let lent = if is_worth_lending(bytes) { packet.lend() } else { None };
        match lent {
            Some(lent) => {
                line.lane.on_packet_lent(now, number, &lent[inside], Ecn::NotCapable, &lent);
            }
            None => {
                let Some(bytes) = packet.bytes().get(inside) else { return };
                line.lane.on_packet(now, number, bytes, Ecn::NotCapable);
            }
        }
        self.touch(id);
    }

    /// Nothing goes by a queue pair but data of its association, on the lanes that do: any other packet, once opened, would
    /// be taken for a replay when it comes.
    fn is_of(&self, id: AssociationId, packet: &[u8]) -> Result<(), Reject> {
        data(packet)?;
        let header = DataHeader::decode(packet)?;
        if !matches!(header.lane, PACKETS | WORDS) {
            return Err(Reject::Lane);
        }
        if self.endpoint.goes_by(id, header.index) { Ok(()) } else { Err(Reject::Index) }
    }

    /// Passes on what has happened to lines with queue pairs. Those without room are asked for packets again.
    pub(in crate::station) fn settle_paired(&mut self) {
        self.pairs.touched.append(&mut self.pairs.blocked);
        for at in 0..self.pairs.touched.len() {
            self.settle(self.pairs.touched[at]);
        }
    }

    /// Whether there may be a packet for a queue pair.
    #[must_use]
    pub fn has_paired(&self) -> bool {
        !(self.pairs.touched.is_empty() && self.pairs.shows.is_empty())
    }

    /// The association that has a packet for its queue pair, if that has room; `None` for none by now. It is to be
    /// [written](Self::write_paired) next.
    pub fn poll_paired(
        &mut self,
        now: Time,
        has_room: &mut dyn FnMut(AssociationId) -> bool,
    ) -> Option<AssociationId> {
        self.now = now;
        // What finds no room is not shown by now, and others are.
        let shows = &self.pairs.shows;
        let mut may_show =
            |id: &AssociationId| crate::planted!("rdma-shows-without-room": has_room(*id) => true);
        if let Some(at) = shows.iter().position(&mut may_show) {
            self.pairs.shows.swap(0, at);
            return self.pairs.shows.front().copied();
        }
        while let Some(id) = self.pairs.touched.pop_front() {
            let Some(line) = self.lines.get_mut(&id) else { continue };
            let Some(pairing) = line.pairing.as_mut().filter(|_| line.is_paired) else {
                // It has moved to UDP since.
                self.touched.push_back(id);
                continue;
            };
            if has_room(id) {
                pairing.set_blocked(now, Blocked::No);
                self.pairs.touched.push_front(id);
                return Some(id);
            }
            pairing.set_blocked(now, Blocked::Yes);
            let until = pairing.timeout(line.lane.oldest_under_way());
            if self.ends_by_udp(id) {
                continue;
            }
            self.pairs.blocked.push_back(id);
            self.schedule(id, until);
        }
        None
    }

    /// Writes the packet of the association that [`poll_paired`](Self::poll_paired) named, sealed where it is to lie; says how
    /// many bytes that is, or zero for none.
    pub fn write_paired(&mut self, id: AssociationId, slot: &mut [u8]) -> usize {
        if self.pairs.shows.front() == Some(&id) {
            self.pairs.shows.pop_front();
            return self.write_ready(id, slot);
        }
        self.pairs.touched.pop_front();
        let written = self.write_packet(id, slot);
        if written > 0 {
            // The others have their turn before it has another one.
            self.pairs.touched.push_back(id);
        } else {
            self.rest(id);
        }
        written
    }

    fn write_ready(&mut self, id: AssociationId, slot: &mut [u8]) -> usize {
        let pairing = self.lines.get(&id).and_then(|line| line.pairing.as_ref());
        let Some((attempt, bytes)) = pairing.map(|it| (it.attempt(), it.bytes())) else { return 0 };
        let mut text = Word::Ready { attempt }.encode();
        // A switch may take shorter packets than both ports; then this one is lost as those of the link would be.
        let len = (bytes as usize).saturating_sub(OVERHEAD_BYTES).min(MTU_BYTES_MAX);
        text.resize(crate::planted!("rdma-ready-short": len => 0).max(text.len()), 0);
        let sealed = self.seal_text(self.now, id, &text);
        let Some((_, packet)) = sealed else { return 0 };
        let Some(into) = slot.get_mut(..packet.len()) else { return 0 };
        into.copy_from_slice(&packet);
        packet.len()
    }

    /// Without keys nothing leaves, and the packet is lost like any other.
    fn write_packet(&mut self, id: AssociationId, slot: &mut [u8]) -> usize {
        let Some(line) = self.lines.get_mut(&id) else { return 0 };
        let is_plain = line.pairing.as_ref().is_some_and(Pairing::is_plain);
        let room = slot.len().saturating_sub(OVERHEAD_BYTES);
        let Some(inside) = slot.get_mut(HEADER_BYTES..HEADER_BYTES + room) else { return 0 };
        let Some(transmit) = line.lane.poll_transmit(self.now, inside) else { return 0 };
        let (number, len) = (transmit.number, transmit.len + OVERHEAD_BYTES);
        let packet = &mut slot[..len];
        let sealed = if is_plain {
            plain(number, packet)
        } else {
            self.endpoint.seal(self.now, id, PACKETS, number, packet).ok().map(|_| ())
        };
        sealed.map_or(0, |()| len)
    }
}

/// Whether a datagram would be a packet of those that go by queue pairs alone.
pub(in crate::station) fn is_by_pair(datagram: &[u8]) -> bool {
    data(datagram).and_then(|()| DataHeader::decode(datagram)).is_ok_and(|it| it.lane == PACKETS)
}

/// Nothing but data goes by a queue pair.
fn data(packet: &[u8]) -> Result<(), Reject> {
    if Kind::of(packet)? == Kind::Data { Ok(()) } else { Err(Reject::Kind) }
}

/// The number of a packet that is not sealed, and where its inside is. [RDMA-49]
fn open_plain(packet: &[u8]) -> Result<(u64, Range<usize>), Reject> {
    data(packet)?;
    let DataHeader { lane, index, number } = DataHeader::decode(packet)?;
    let (front, tag) = packet.split_last_chunk::<TAG_BYTES>().ok_or(Reject::Length)?;
    let inside = HEADER_BYTES..front.len();
    if inside.start > inside.end {
        return Err(Reject::Length);
    }
    let wrongs = [
        (lane != PACKETS, Reject::Lane),
        (index != 0, Reject::Index),
        (number >= NUMBER_MAX, Reject::Number),
        (crate::planted!("rdma-plain-unchecked": *tag != [0; TAG_BYTES] => false), Reject::Forged),
    ];
    match wrongs.into_iter().find(|(is_wrong, _)| *is_wrong) {
        Some((_, why)) => Err(why),
        None => Ok((number, inside)),
    }
}

/// Puts the number of a packet where it stands in one that is sealed.
fn plain(number: u64, packet: &mut [u8]) -> Option<()> {
    let header = DataHeader { lane: PACKETS, index: 0, number }.encode();
    packet.get_mut(..HEADER_BYTES)?.copy_from_slice(&header);
    let text_end = packet.len().checked_sub(OVERHEAD_BYTES - HEADER_BYTES)?;
    packet.get_mut(text_end..)?.fill(0);
    Some(())
}
