//! Datagrams that leave together: one after the other in one buffer, of one length but the last, as the kernel
//! cuts them.

use crate::link::{Ecn, Lane, Time};
use crate::secure::wire::{HEADER_BYTES, OVERHEAD_BYTES};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::num::NonZeroUsize;

/// What leaves with one call at most: what an IPv4 packet holds.
const BYTES_MAX: usize = 65_507;

/// What every path carries whole, as QUIC has it (RFC 9000, section 14).
const EVERYWHERE_BYTES: usize = 1200;

/// A packet of a lane that has to leave alone, behind those that the lane gave before it.
#[derive(Debug)]
pub(super) struct Alone {
    number: u64,
    inside: Vec<u8>,
}

/// Datagrams to one address.
#[derive(Debug)]
pub struct Outgoing {
    to: SocketAddr,
    source: Option<IpAddr>,
    ecn: Ecn,
    bytes: Vec<u8>,
    /// How many of them are in use.
    len: usize,
    segment: NonZeroUsize,
    /// Whether routers may cut it up.
    may_be_cut: bool,
    packets: Vec<(u64, usize)>,
}

impl Outgoing {
    /// Nothing yet.
    #[must_use]
    pub fn new() -> Self {
        Self {
            to: SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0)),
            source: None,
            ecn: Ecn::NotCapable,
            bytes: Vec::new(),
            len: 0,
            segment: NonZeroUsize::MIN,
            may_be_cut: false,
            packets: Vec::new(),
        }
    }

    /// Where they go.
    #[must_use]
    pub fn to(&self) -> SocketAddr {
        self.to
    }

    /// From which address of this machine they go, if that is not for the kernel to choose.
    #[must_use]
    pub fn source(&self) -> Option<IpAddr> {
        self.source
    }

    pub(super) fn set_source(&mut self, source: Option<IpAddr>) {
        self.source = source;
    }

    /// How they are to be marked.
    #[must_use]
    pub fn ecn(&self) -> Ecn {
        self.ecn
    }

    pub(super) fn set_ecn(&mut self, ecn: Ecn) {
        self.ecn = ecn;
    }

    /// The datagrams, one after the other.
    #[must_use]
    pub fn datagrams(&self) -> &[u8] {
        &self.bytes[..self.len]
    }

    /// How long each is, but for the last, which may be shorter.
    #[must_use]
    pub fn segment(&self) -> NonZeroUsize {
        self.segment
    }

    /// Whether IP may cut the datagram up, because nothing shorter would do: a long message of a handshake. [UDP-33]
    #[must_use]
    pub fn may_be_cut(&self) -> bool {
        self.may_be_cut
    }

    /// Drops those that were sent; the others stay.
    pub fn sent(&mut self, bytes: usize) {
        self.bytes.copy_within(bytes..self.len, 0);
        self.len -= bytes;
    }

    /// Takes one datagram.
    pub(super) fn set(&mut self, to: SocketAddr, packet: Vec<u8>) {
        self.to = to;
        // Whoever sends a message of a handshake again does not learn what becomes of marks.
        self.ecn = Ecn::NotCapable;
        self.len = packet.len();
        self.segment = NonZeroUsize::MIN.saturating_add(self.len.saturating_sub(1));
        self.bytes = packet;
        self.may_be_cut = self.len > EVERYWHERE_BYTES;
    }

    /// Takes what the lane has to send, at most so many datagrams, sealed; `false` if it is nothing.
    ///
    /// Packets that are nearly full are filled up with zeros, which mean nothing, so that they have one length. One
    /// that is not is the last: behind it the lane has no more.
    pub(super) fn fill(
        &mut self,
        now: Time,
        lane: &mut Lane,
        alone: &mut Option<Alone>,
        segments: usize,
        mut seal: impl FnMut(u64, &mut [u8]) -> Option<SocketAddr>,
    ) -> bool {
        self.packets.clear();
        self.may_be_cut = false;
        if let Some(Alone { number, inside }) = alone.take() {
            return self.set_alone(number, &inside, seal);
        }
        let full = lane.packet_len();
        let stride = full + OVERHEAD_BYTES;
        let segments = segments.min(BYTES_MAX / stride).max(1);
        // A probe of the path's size is longer than other packets.
        self.bytes.resize((segments - 1) * stride + lane.packet_len_max() + OVERHEAD_BYTES, 0);
        while self.packets.len() < segments {
            let start = self.packets.len() * stride + HEADER_BYTES;
            let room = lane.packet_len_max();
            let Some(inside) = self.bytes.get_mut(start..start + room) else { break };
            let Some(transmit) = lane.poll_transmit(now, inside) else { break };
            if transmit.is_size_probe {
                let inside = inside[..transmit.len].to_vec();
                if self.packets.is_empty() {
                    return self.set_alone(transmit.number, &inside, seal);
                }
                *alone = Some(Alone { number: transmit.number, inside });
                break;
            }
            if let Some((number, len)) = self.packets.last() {
                lane.on_filled_up(*number, full - len);
            }
            self.packets.push((transmit.number, transmit.len));
            // One that asks after silence is short, and stays so only if nothing is behind it.
            if transmit.len < full - full / 4 || lane.packet_len() != full {
                break;
            }
        }
        self.seal(full, &mut seal)
    }

    /// Seals the packets that were put down, each but the last as long as a full one.
    fn seal(
        &mut self,
        full: usize,
        seal: &mut impl FnMut(u64, &mut [u8]) -> Option<SocketAddr>,
    ) -> bool {
        let stride = full + OVERHEAD_BYTES;
        self.segment = NonZeroUsize::MIN.saturating_add(stride - 1);
        self.len = 0;
        let last = self.packets.len().saturating_sub(1);
        for (at, (number, len)) in self.packets.iter().copied().enumerate() {
            let start = at * stride;
            let filled = if at < last { full } else { len };
            let inside = start + HEADER_BYTES;
            self.bytes[inside + len..inside + filled].fill(0);
            let end = start + filled + OVERHEAD_BYTES;
            // Without keys nothing leaves, and the packet is lost like any other.
            let Some(to) = seal(number, &mut self.bytes[start..end]) else { return self.len > 0 };
            (self.to, self.len) = (to, end);
        }
        if last == 0 {
            self.segment = NonZeroUsize::MIN.saturating_add(self.len.saturating_sub(1));
        }
        self.len > 0
    }

    fn set_alone(
        &mut self,
        number: u64,
        inside: &[u8],
        mut seal: impl FnMut(u64, &mut [u8]) -> Option<SocketAddr>,
    ) -> bool {
        let len = inside.len() + OVERHEAD_BYTES;
        self.bytes.resize(len.max(self.bytes.len()), 0);
        self.bytes[HEADER_BYTES..HEADER_BYTES + inside.len()].copy_from_slice(inside);
        let Some(to) = seal(number, &mut self.bytes[..len]) else { return false };
        (self.to, self.len) = (to, len);
        self.segment = NonZeroUsize::MIN.saturating_add(len - 1);
        true
    }
}

impl Default for Outgoing {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests;
