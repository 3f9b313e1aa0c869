//! The header of a request or a reply, 16 bytes, little-endian.

/// Bytes in front of each message.
pub const HEADER_BYTES: usize = 16;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Request = 1,
    Reply = 2,
}

/// What is added to the kind of a packet that is sealed.
const SEALED: u32 = 2;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) kind: Kind,
    pub(super) is_sealed: bool,
    /// What the receiver calls the session.
    pub(super) session: u32,
    /// What the client calls the request: ascends in each slot, which its lowest bits name.
    pub(super) number: u64,
}

impl Header {
    /// None for what no honest peer sends. [RDMA-30]
    #[inline]
    pub(super) fn read(packet: &[u8]) -> Option<Self> {
        let (first, rest) = packet.split_first_chunk()?;
        let (session, rest) = rest.split_first_chunk()?;
        let (number, _) = rest.split_first_chunk()?;
        let (kind, is_sealed) = match u32::from_le_bytes(*first) {
            1 => (Kind::Request, false),
            2 => (Kind::Reply, false),
            3 => (Kind::Request, true),
            4 => (Kind::Reply, true),
            _ => return None,
        };
        let (session, number) = (u32::from_le_bytes(*session), u64::from_le_bytes(*number));
        Some(Self { kind, is_sealed, session, number })
    }

    #[inline]
    pub(super) fn encode(&self) -> [u8; HEADER_BYTES] {
        let kind = self.kind as u32 + if self.is_sealed { SEALED } else { 0 };
        let mut bytes = [0; HEADER_BYTES];
        bytes[..4].copy_from_slice(&kind.to_le_bytes());
        bytes[4..8].copy_from_slice(&self.session.to_le_bytes());
        bytes[8..].copy_from_slice(&self.number.to_le_bytes());
        bytes
    }
}
