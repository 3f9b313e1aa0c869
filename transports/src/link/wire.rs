//! Integers and byte strings as packets hold them.
//!
//! Fixed integers are little-endian. A varint is that of RFC 9000, section 16: the two highest bits of
//! the first byte say how many bytes there are, 1, 2, 4 or 8, the rest is big-endian.
//!
//! Invariants:
//! 1. A value has one form: a varint that is longer than it need be is refused. [LINK-2]
//! 2. Reading moves on only when it succeeds, and allocates nothing.
//! 3. Writing puts down the whole or reports that there is no room.

#![deny(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation,
    clippy::wildcard_enum_match_arm
)]

use super::frame::FrameError;

/// The largest value of a varint.
pub(super) const VARINT_MAX: u64 = (1 << 62) - 1;

/// Takes values off the front of a packet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    pub(super) const fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    pub(super) const fn rest(&self) -> &'a [u8] {
        self.rest
    }

    #[inline]
    pub(super) fn array<const N: usize>(&mut self) -> Result<[u8; N], FrameError> {
        let (head, rest) = self.rest.split_first_chunk().ok_or(FrameError::Truncated)?;
        self.rest = rest;
        Ok(*head)
    }

    /// Skips a byte if it is that one; says whether it was.
    #[inline]
    pub(super) fn skip_byte(&mut self, byte: u8) -> bool {
        match self.rest.split_first() {
            Some((first, rest)) if *first == byte => {
                self.rest = rest;
                true
            }
            _ => false,
        }
    }

    #[inline]
    pub(super) fn u8(&mut self) -> Result<u8, FrameError> {
        Ok(u8::from_le_bytes(self.array()?))
    }

    pub(super) fn u32(&mut self) -> Result<u32, FrameError> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    pub(super) fn u64(&mut self) -> Result<u64, FrameError> {
        Ok(u64::from_le_bytes(self.array()?))
    }

    /// So many bytes as they stand.
    #[inline]
    pub(super) fn bytes(&mut self, count: u64) -> Result<&'a [u8], FrameError> {
        let count = usize::try_from(count).map_err(|_| FrameError::Truncated)?;
        let (head, rest) = self.rest.split_at_checked(count).ok_or(FrameError::Truncated)?;
        self.rest = rest;
        Ok(head)
    }

    /// Skips the bytes at the front that are zero.
    pub(super) fn skip_zeros(&mut self) {
        let zeros = self.rest.iter().take_while(|byte| **byte == 0).count();
        self.rest = self.rest.get(zeros..).unwrap_or_default();
    }

    #[inline]
    pub(super) fn varint(&mut self) -> Result<u64, FrameError> {
        let first = *self.rest.first().ok_or(FrameError::Truncated)?;
        let (value, least) = match first >> 6 {
            0 => return Ok(u64::from(self.u8()?)),
            1 => (u64::from(u16::from_be_bytes(self.array()?)) & 0x3fff, 1 << 6),
            2 => (u64::from(u32::from_be_bytes(self.array()?)) & 0x3fff_ffff, 1 << 14),
            _ => (u64::from_be_bytes(self.array()?) & VARINT_MAX, 1 << 30),
        };
        if value < least { Err(FrameError::LongVarint) } else { Ok(value) }
    }
}

/// How many bytes the varint takes.
#[inline]
pub(super) const fn varint_len(value: u64) -> usize {
    match value {
        0..0x40 => 1,
        0x40..0x4000 => 2,
        0x4000..0x4000_0000 => 4,
        _ => 8,
    }
}

/// Puts values behind one another into a packet.
#[derive(Debug)]
pub(super) struct Writer<'a> {
    rest: &'a mut [u8],
    written: usize,
}

/// There is no room left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NoRoom;

impl<'a> Writer<'a> {
    pub(super) const fn new(bytes: &'a mut [u8]) -> Self {
        Self { rest: bytes, written: 0 }
    }

    pub(super) const fn room(&self) -> usize {
        self.rest.len()
    }

    pub(super) const fn written(&self) -> usize {
        self.written
    }

    /// So many bytes, to be set by the caller.
    #[inline]
    pub(super) fn array<const N: usize>(&mut self) -> Result<&'a mut [u8; N], NoRoom> {
        let rest = std::mem::take(&mut self.rest);
        let Some((head, tail)) = rest.split_first_chunk_mut() else { return Err(NoRoom) };
        self.rest = tail;
        self.written = self.written.saturating_add(N);
        Ok(head)
    }

    #[inline]
    pub(super) fn bytes(&mut self, bytes: &[u8]) -> Result<(), NoRoom> {
        let rest = std::mem::take(&mut self.rest);
        let Some((head, tail)) = rest.split_at_mut_checked(bytes.len()) else {
            return Err(NoRoom);
        };
        head.copy_from_slice(bytes);
        self.rest = tail;
        self.written = self.written.saturating_add(bytes.len());
        Ok(())
    }

    pub(super) fn u8(&mut self, value: u8) -> Result<(), NoRoom> {
        self.bytes(&[value])
    }

    pub(super) fn u32(&mut self, value: u32) -> Result<(), NoRoom> {
        self.bytes(&value.to_le_bytes())
    }

    pub(super) fn u64(&mut self, value: u64) -> Result<(), NoRoom> {
        self.bytes(&value.to_le_bytes())
    }

    /// # Panics
    /// In a debug build, if the value is more than a varint holds.
    #[inline]
    pub(super) fn varint(&mut self, value: u64) -> Result<(), NoRoom> {
        debug_assert!(value <= VARINT_MAX, "{value} is no varint");
        let bytes = value.to_be_bytes();
        let [.., c, d, e, f, g, h] = bytes;
        match varint_len(value) {
            1 => self.bytes(&[h]),
            2 => self.bytes(&[g | 0x40, h]),
            4 => self.bytes(&[e | 0x80, f, g, h]),
            _ => {
                let [a, b, ..] = bytes;
                self.bytes(&[a | 0xc0, b, c, d, e, f, g, h])
            }
        }
    }
}
