//! What was on the wires of a world, as a file that Wireshark and tcpdump read.
//!
//! It is pcapng with two interfaces: `sent` has each packet as its sender gave it to the wires, `arrived` as it
//! was put into a port; what is missing there was lost, and what is there twice was doubled. Times are
//! the world's, in nanoseconds. The wires carry payloads alone, so headers of IP and UDP are written
//! for them, without UDP's checksum: a packet that was damaged on its way is one that no network
//! has noticed.

use super::mark::Ecn;
use std::net::{IpAddr, SocketAddr};

/// The link type of packets that begin with a header of IP.
const LINKTYPE_RAW: u16 = 101;
const SECTION: u32 = 0x0A0D_0D0A;
const BYTE_ORDER: u32 = 0x1A2B_3C4D;
const INTERFACE: u32 = 1;
const PACKET: u32 = 6;
const OPTION_NAME: u16 = 2;
const OPTION_RESOLUTION: u16 = 9;
/// Times are in units of ten to the minus ninth of a second.
const NANOS: u8 = 9;
const UDP: u8 = 17;
const UDP_HEADER_LEN: usize = 8;
const V4_HEADER_LEN: usize = 20;
const HOPS: u8 = 64;

/// Where a packet was seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Seen {
    Sent,
    Arrived,
}

/// See the [module](self).
#[derive(Debug)]
pub(crate) struct Capture {
    bytes: Vec<u8>,
    packets: usize,
}

impl Capture {
    pub(super) fn new() -> Self {
        let mut this = Self { bytes: Vec::new(), packets: 0 };
        let mut section = Vec::from(BYTE_ORDER.to_le_bytes());
        // Version 1.0, of unknown length.
        section.extend([1, 0, 0, 0]);
        section.extend(u64::MAX.to_le_bytes());
        this.block(SECTION, &section);
        // In the order of `Seen`, which is their number.
        for name in ["sent", "arrived"] {
            let mut interface = Vec::from(LINKTYPE_RAW.to_le_bytes());
            // Reserved, and no limit to the length of a packet.
            interface.extend([0; 6]);
            option(&mut interface, OPTION_NAME, name.as_bytes());
            option(&mut interface, OPTION_RESOLUTION, &[NANOS]);
            option(&mut interface, 0, &[]);
            this.block(INTERFACE, &interface);
        }
        this
    }

    pub(super) fn is_empty(&self) -> bool {
        self.packets == 0
    }

    /// The file.
    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    pub(super) fn add(
        &mut self,
        seen: Seen,
        now: u64,
        [from, to]: [SocketAddr; 2],
        ecn: Ecn,
        payload: &[u8],
    ) {
        self.packets += 1;
        let packet = packet(from, to, ecn, payload);
        let len = u32::try_from(packet.len()).unwrap_or(u32::MAX);
        let mut block = Vec::from((seen as u32).to_le_bytes());
        // The upper half of the time comes first.
        block.extend(now.rotate_left(32).to_le_bytes());
        block.extend([len.to_le_bytes(); 2].concat());
        block.extend(packet);
        pad(&mut block);
        self.block(PACKET, &block);
    }

    /// A block's length stands before and behind it.
    fn block(&mut self, kind: u32, body: &[u8]) {
        let len = u32::try_from(body.len() + 12).unwrap_or(u32::MAX).to_le_bytes();
        for part in [&kind.to_le_bytes(), &len, body, &len] {
            self.bytes.extend(part);
        }
    }
}

fn option(block: &mut Vec<u8>, code: u16, value: &[u8]) {
    block.extend(code.to_le_bytes());
    block.extend(u16_of(value.len()).to_le_bytes());
    block.extend(value);
    pad(block);
}

fn pad(block: &mut Vec<u8>) {
    block.resize(block.len().next_multiple_of(4), 0);
}

/// A packet of IP and UDP. Where the addresses are of two families both are of version 6.
fn packet(from: SocketAddr, to: SocketAddr, ecn: Ecn, payload: &[u8]) -> Vec<u8> {
    let mut packet = match (from.ip(), to.ip()) {
        (IpAddr::V4(from), IpAddr::V4(to)) => {
            let len = u16_of(V4_HEADER_LEN + UDP_HEADER_LEN + payload.len());
            let mut header = vec![0x45, ecn as u8];
            header.extend(len.to_be_bytes());
            // Not in pieces, nor to be cut into them.
            header.extend([0, 0, 0x40, 0, HOPS, UDP, 0, 0]);
            header.extend(from.octets());
            header.extend(to.octets());
            let sum = checksum(&header).to_be_bytes();
            header[10..12].copy_from_slice(&sum);
            header
        }
        (from, to) => {
            let mut header = vec![0x60, (ecn as u8) << 4, 0, 0];
            header.extend(u16_of(UDP_HEADER_LEN + payload.len()).to_be_bytes());
            header.extend([UDP, HOPS]);
            for address in [from, to] {
                let address = match address {
                    IpAddr::V4(address) => address.to_ipv6_mapped(),
                    IpAddr::V6(address) => address,
                };
                header.extend(address.octets());
            }
            header
        }
    };
    for field in [from.port(), to.port(), u16_of(UDP_HEADER_LEN + payload.len()), 0] {
        packet.extend(field.to_be_bytes());
    }
    packet.extend(payload);
    packet
}

/// The complement of the sum, in ones' complement, of the header's words (RFC 791).
fn checksum(header: &[u8]) -> u16 {
    let words = header.chunks_exact(2).map(|word| u32::from(word[0]) << 8 | u32::from(word[1]));
    let sum: u32 = words.sum();
    let folded = (sum & 0xffff) + (sum >> 16);
    !u16::try_from((folded & 0xffff) + (folded >> 16)).unwrap_or(u16::MAX)
}

/// What does not fit cannot be said in a header of IP; simulated links take up to any length.
fn u16_of(len: usize) -> u16 {
    u16::try_from(len).unwrap_or(u16::MAX)
}

#[cfg(test)]
mod tests;
