//! The header of a request or a reply, 16 bytes, little-endian.

/// Bytes in front of each message.
pub const HEADER_BYTES: usize = 16;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Request = 1,
    Reply = 2,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) kind: Kind,
    /// What the receiver calls the session.
    pub(super) session: u32,
    /// What the client calls the request: ascends in each slot, which its lowest bits name.
    pub(super) number: u64,
}

impl Header {
    /// The header and what is behind it. None for what no honest peer sends. [RDMA-30]
    pub(super) fn read(packet: &[u8]) -> Option<(Self, &[u8])> {
        let (first, rest) = packet.split_first_chunk()?;
        let (session, rest) = rest.split_first_chunk()?;
        let (number, payload) = rest.split_first_chunk()?;
        let kind = match u32::from_le_bytes(*first) {
            1 => Kind::Request,
            2 => Kind::Reply,
            _ => return None,
        };
        let (session, number) = (u32::from_le_bytes(*session), u64::from_le_bytes(*number));
        Some((Self { kind, session, number }, payload))
    }

    /// Writes header and payload; how many bytes that is, or zero if there is no room.
    pub(super) fn write(&self, payload: &[u8], into: &mut [u8]) -> usize {
        let len = HEADER_BYTES + payload.len();
        let Some(into) = into.get_mut(..len) else { return 0 };
        let (header, rest) = into.split_at_mut(HEADER_BYTES);
        header[..4].copy_from_slice(&(self.kind as u32).to_le_bytes());
        header[4..8].copy_from_slice(&self.session.to_le_bytes());
        header[8..].copy_from_slice(&self.number.to_le_bytes());
        rest.copy_from_slice(payload);
        len
    }
}
