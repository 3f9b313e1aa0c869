//! The packets as bytes: what every datagram starts with, and where its parts lie. No secrets here.
//!
//! All numbers are little endian. The first byte is `01` in its two highest bits, the type in the next
//! three, and zero in the last three; what is otherwise is dropped unseen.
#![deny(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation
)]

use super::reject::Reject;

/// The version of this format.
pub const VERSION: u8 = 1;
/// How many bytes stand before the text of a data packet.
pub const HEADER_BYTES: usize = 16;
/// How many bytes a data packet has beside its text.
pub const OVERHEAD_BYTES: usize = 32;
/// How many bytes a packet that asks for a cookie has.
pub const COOKIE_BYTES: usize = 64;
/// How many bytes a reset has: less than any packet that calls one forth.
pub const RESET_BYTES: usize = 24;

/// What a datagram is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A sealed text of one lane.
    Data = 0,
    /// The first message of a handshake.
    Init = 1,
    /// The answer to it.
    Resp = 2,
    /// A cookie for one that asked too much.
    Cookie = 3,
    /// The receiver does not know the association, and proves that it is who it was.
    Reset = 4,
    /// The third message of a first contact.
    Finish = 6,
}

impl Kind {
    /// The first byte of its packets.
    #[must_use]
    pub const fn byte(self) -> u8 {
        0x40 | ((self as u8) << 3)
    }

    /// What the datagram says it is.
    ///
    /// # Errors
    ///
    /// [`Reject::Empty`], [`Reject::Fixed`] or [`Reject::Kind`].
    pub fn of(datagram: &[u8]) -> Result<Self, Reject> {
        let first = *datagram.first().ok_or(Reject::Empty)?;
        // [UDP-1]
        if first & 0b1100_0111 != 0x40 {
            return Err(Reject::Fixed);
        }
        let all = [Self::Data, Self::Init, Self::Resp, Self::Cookie, Self::Reset, Self::Finish];
        all.into_iter().find(|kind| kind.byte() == first).ok_or(Reject::Kind)
    }
}

/// What stands before the text of a data packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DataHeader {
    /// The lane, by which the kernel may choose the receiver's socket.
    pub lane: u8,
    /// Under what the receiver knows the keys.
    pub index: u32,
    /// The packet's number in its lane, which is its nonce.
    pub number: u64,
}

impl DataHeader {
    /// The header as bytes.
    #[must_use]
    pub fn encode(&self) -> [u8; HEADER_BYTES] {
        // As one number, the first byte lowest: each packet has a header, and byte by byte it would cost a good part of one.
        let start = u32::from_le_bytes([Kind::Data.byte(), self.lane, 0, 0]);
        let header =
            u128::from(start) | u128::from(self.index) << 32 | u128::from(self.number) << 64;
        header.to_le_bytes()
    }

    /// Reads the header of a data packet.
    ///
    /// # Errors
    ///
    /// [`Reject::Length`] if not even an empty text fits, [`Reject::Fixed`] if a reserved bit is set.
    pub fn decode(datagram: &[u8]) -> Result<Self, Reject> {
        if datagram.len() < OVERHEAD_BYTES {
            return Err(Reject::Length);
        }
        let &[_, lane, low, high, ref rest @ ..] = datagram else { return Err(Reject::Length) };
        // [UDP-2]
        if low != 0 || high != 0 {
            return Err(Reject::Fixed);
        }
        let (index, rest) = split_u32(rest).ok_or(Reject::Length)?;
        let (number, _) = rest.split_first_chunk().ok_or(Reject::Length)?;
        Ok(Self { lane, index, number: u64::from_le_bytes(*number) })
    }
}

/// Which handshake a first message begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u16)]
pub enum Suite {
    /// Noise IKpsk2 over X25519.
    Classic = 1,
    /// The same, and ML-KEM-768 through the psk: safe if either holds.
    Hybrid = 2,
    /// Noise XXpsk3, by which nodes that share a cluster key learn each other's keys.
    FirstContact = 3,
}

impl Suite {
    /// The suite with this number.
    #[must_use]
    pub fn of(number: u16) -> Option<Self> {
        [Self::Classic, Self::Hybrid, Self::FirstContact]
            .into_iter()
            .find(|it| *it as u16 == number)
    }
}

/// What stands before the Noise message of a handshake packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HandshakeHeader {
    /// Which message it is.
    pub kind: Kind,
    /// Which handshake.
    pub suite: Suite,
    /// Under what the sender will know the keys.
    pub sender: u32,
    /// Under what the receiver knows the handshake; not in a first message.
    pub receiver: Option<u32>,
}

impl HandshakeHeader {
    /// Appends the header.
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.extend([self.kind.byte(), VERSION]);
        out.extend((self.suite as u16).to_le_bytes());
        out.extend(self.sender.to_le_bytes());
        out.extend(self.receiver.into_iter().flat_map(u32::to_le_bytes));
    }

    /// Reads the header of a handshake packet of that kind; returns it with its length.
    ///
    /// # Errors
    ///
    /// [`Reject::Length`], [`Reject::Version`] or [`Reject::Suite`].
    pub fn decode(kind: Kind, datagram: &[u8]) -> Result<(Self, usize), Reject> {
        let &[_, version, low, high, ref rest @ ..] = datagram else { return Err(Reject::Length) };
        if version != VERSION {
            return Err(Reject::Version);
        }
        let suite = Suite::of(u16::from_le_bytes([low, high])).ok_or(Reject::Suite)?;
        let (sender, rest) = split_u32(rest).ok_or(Reject::Length)?;
        let (receiver, length) = match kind {
            Kind::Init => (None, 8),
            _ => (Some(split_u32(rest).ok_or(Reject::Length)?.0), 12),
        };
        Ok((Self { kind, suite, sender, receiver }, length))
    }
}

/// Reads what stands before a cookie or a reset token: the receiver's index.
///
/// # Errors
///
/// [`Reject::Length`] unless the datagram has `length` bytes, [`Reject::Fixed`] if a reserved byte is set.
pub fn short_index(datagram: &[u8], length: usize) -> Result<u32, Reject> {
    if datagram.len() != length {
        return Err(Reject::Length);
    }
    let &[_, a, b, c, ref rest @ ..] = datagram else { return Err(Reject::Length) };
    if [a, b, c] != [0; 3] {
        return Err(Reject::Fixed);
    }
    split_u32(rest).map(|(index, _)| index).ok_or(Reject::Length)
}

/// Appends what stands before a cookie or a reset token.
pub fn short_header(kind: Kind, index: u32, out: &mut Vec<u8>) {
    out.extend([kind.byte(), 0, 0, 0]);
    out.extend(index.to_le_bytes());
}

/// The number at the start of the bytes, and the rest.
pub(crate) fn split_u32(bytes: &[u8]) -> Option<(u32, &[u8])> {
    bytes.split_first_chunk().map(|(number, rest)| (u32::from_le_bytes(*number), rest))
}
