//! What two nodes tell each other inside a handshake, sealed: 56 bytes each.

use super::identity::Token;
use std::time::Duration;

/// How many bytes a hello has.
pub const HELLO_BYTES: usize = 56;

/// What a node says of itself in a handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hello {
    /// When the initiator began the handshake; the responder gives the same back.
    pub time: Tai64n,
    /// The node's short name.
    pub node: u64,
    /// Drawn at the start of the process: another one is another life of the node.
    pub incarnation: u64,
    /// How many lanes it has.
    pub lanes: u16,
    /// The longest datagram it takes, in bytes.
    pub datagram_bytes_max: u16,
    /// How many bytes may be under way to it in each lane, by UDP.
    pub window_bytes: u64,
    /// By what it proves to have forgotten the association.
    pub token: Token,
}

impl Hello {
    /// As bytes.
    #[must_use]
    pub fn encode(&self) -> [u8; HELLO_BYTES] {
        let parts: [&[u8]; 7] = [
            &self.time.0,
            &self.node.to_le_bytes(),
            &self.incarnation.to_le_bytes(),
            &self.lanes.to_le_bytes(),
            &self.datagram_bytes_max.to_le_bytes(),
            &self.window_bytes.to_le_bytes(),
            &self.token.0,
        ];
        let mut bytes = [0; HELLO_BYTES];
        bytes.iter_mut().zip(parts.into_iter().flatten()).for_each(|(place, byte)| *place = *byte);
        bytes
    }

    /// From bytes; none if there are too few.
    #[must_use]
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let (time, bytes) = bytes.split_first_chunk()?;
        let (node, bytes) = bytes.split_first_chunk()?;
        let (incarnation, bytes) = bytes.split_first_chunk()?;
        let (lanes, bytes) = bytes.split_first_chunk()?;
        let (datagram, bytes) = bytes.split_first_chunk()?;
        let (window, bytes) = bytes.split_first_chunk()?;
        Some(Self {
            time: Tai64n(*time),
            node: u64::from_le_bytes(*node),
            incarnation: u64::from_le_bytes(*incarnation),
            lanes: u16::from_le_bytes(*lanes),
            datagram_bytes_max: u16::from_le_bytes(*datagram),
            window_bytes: u64::from_le_bytes(*window),
            token: Token(*bytes.first_chunk()?),
        })
    }
}

/// A time as TAI64N writes it: 12 bytes in big endian, which compare as times do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Tai64n(pub [u8; 12]);

impl Tai64n {
    /// The label of a time since 1970, leap seconds left out as everybody does.
    #[must_use]
    pub fn since_epoch(time: Duration) -> Self {
        // The label of 1970 is 2^62, and TAI was ten seconds ahead of UTC then.
        let seconds = (1_u64 << 62).saturating_add(10).saturating_add(time.as_secs());
        let mut bytes = [0; 12];
        bytes[..8].copy_from_slice(&seconds.to_be_bytes());
        bytes[8..].copy_from_slice(&time.subsec_nanos().to_be_bytes());
        Self(bytes)
    }

    /// Whether it is one that TAI64 has not given a meaning: later than any time that comes.
    #[must_use]
    pub fn is_reserved(self) -> bool {
        self.0[0] >= 0x80
    }

    /// The next label, a nanosecond later; the last one has none.
    #[must_use]
    pub fn next(self) -> Self {
        // Labels compare as bytes, so it does no harm if a second has more than its nanoseconds.
        let [a, b, c, d, e, f, g, h, i, j, k, l] = self.0;
        let label = u128::from_be_bytes([0, 0, 0, 0, a, b, c, d, e, f, g, h, i, j, k, l]);
        let [0, 0, 0, 0, next @ ..] = (label + 1).to_be_bytes() else { return self };
        Self(next)
    }
}
