//! Data packets of one lane and direction: sealed and opened where they lie, without allocation.
//!
//! A packet is `header 16 | text | tag 16`. The header is authenticated. The number in it is the nonce: it
//! grows with each packet, never comes back under a key, and goes on over a change of keys.

use super::aead::{Aead, Cipher, TAG_BYTES};
use super::key::Key;
use super::reject::Reject;
use super::replay::{Replay, Window};
use super::wire::{DataHeader, HEADER_BYTES, OVERHEAD_BYTES};
use std::fmt;
use std::ops::Range;

/// No key is used for a packet with this number or a higher one.
pub const NUMBER_MAX: u64 = 1 << 48;
/// After so many packets that did not open, a key opens none (RFC 9001, section 6.6).
pub const FORGERIES_MAX: u64 = 1 << 36;

/// A packet was not sealed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SealError {
    /// The key has been used as often as it may be; nothing but new keys helps.
    #[error("the key is used up")]
    Exhausted,
    /// The buffer has no room for the header and the tag.
    #[error("the buffer is too short")]
    Short,
    /// The number was used, or passed over.
    #[error("the number is not new")]
    Used,
}

/// The sending half of a lane.
pub struct Sealer {
    cipher: Cipher,
    #[cfg(test)]
    watched: watch::Watched,
    lane: u8,
    index: u32,
    next: u64,
}

impl Sealer {
    /// Seals under `key` for the one who knows it by `index`, with numbers from `next` on.
    #[must_use]
    pub fn new(key: &Key, lane: u8, index: u32, next: u64) -> Self {
        Self {
            cipher: Cipher::new(key),
            #[cfg(test)]
            watched: watch::Watched::new(key),
            lane,
            index,
            next,
        }
    }

    /// The number of the next packet, if none is passed over.
    #[must_use]
    pub fn next(&self) -> u64 {
        self.next
    }

    /// Seals the packet whose text stands in `packet[16..len - 16]`, and returns its number.
    ///
    /// # Errors
    ///
    /// [`SealError::Short`] or [`SealError::Exhausted`]; the packet is as it was.
    pub fn seal(&mut self, packet: &mut [u8]) -> Result<u64, SealError> {
        let number = self.next;
        self.seal_as(number, packet)?;
        Ok(number)
    }

    /// Seals the packet under a number of the caller's choice, at least [`next`](Self::next).
    ///
    /// # Errors
    ///
    /// As [`seal`](Self::seal), and [`SealError::Used`] if the number is not new.
    pub fn seal_as(&mut self, number: u64, packet: &mut [u8]) -> Result<(), SealError> {
        // [UDP-10] A number below `next` is one that may have been used.
        if number < self.next {
            return Err(SealError::Used);
        }
        if number >= NUMBER_MAX {
            return Err(SealError::Exhausted);
        }
        let text_end = packet.len().checked_sub(TAG_BYTES).ok_or(SealError::Short)?;
        let (front, tag) = packet.split_at_mut(text_end);
        let (header, text) = front.split_at_mut_checked(HEADER_BYTES).ok_or(SealError::Short)?;
        header.copy_from_slice(&DataHeader { lane: self.lane, index: self.index, number }.encode());
        #[cfg(test)]
        self.watched.seals(number);
        tag.copy_from_slice(&self.cipher.seal(number, header, text));
        self.next = crate::planted!("nonce-stays": number + 1 => number);
        Ok(())
    }
}

impl fmt::Debug for Sealer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sealer")
            .field("lane", &self.lane)
            .field("next", &self.next)
            .finish_non_exhaustive()
    }
}

/// A packet that was opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opened {
    /// Its number.
    pub number: u64,
    /// Whether it is the highest so far.
    pub newest: bool,
    /// Where its text stands in the datagram.
    pub text: Range<usize>,
}

/// The receiving half of a lane.
pub struct Opener {
    cipher: Cipher,
    window: Window,
    forgeries: u64,
}

impl Opener {
    /// Opens what was sealed under `key`.
    #[must_use]
    pub fn new(key: &Key) -> Self {
        Self { cipher: Cipher::new(key), window: Window::new(), forgeries: 0 }
    }

    /// How many packets did not open.
    #[must_use]
    pub fn forgeries(&self) -> u64 {
        self.forgeries
    }

    /// What has come so far.
    #[must_use]
    pub fn window(&self) -> &Window {
        &self.window
    }

    /// Opens a packet in place. Unless it is authentic, only the count of forgeries changes.
    ///
    /// # Errors
    ///
    /// [`Reject`], with what `packet` holds after the header not defined.
    pub fn open(&mut self, header: &DataHeader, packet: &mut [u8]) -> Result<Opened, Reject> {
        let DataHeader { number, .. } = *header;
        if number >= NUMBER_MAX {
            return Err(Reject::Number);
        }
        // [UDP-11] Looked up before the packet is opened, marked only after.
        self.window.check(number).map_err(|replay| match replay {
            Replay::Seen => Reject::Replayed,
            Replay::TooOld => Reject::TooOld,
        })?;
        if crate::planted!("mark-before-open": false => true) {
            self.window.mark(number);
        }
        if packet.len() < OVERHEAD_BYTES {
            return Err(Reject::Length);
        }
        if self.forgeries >= FORGERIES_MAX {
            return Err(Reject::Expired);
        }
        let text = HEADER_BYTES..packet.len() - TAG_BYTES;
        let newest = self.window.highest().is_none_or(|highest| number > highest);
        self.decipher(number, packet)?;
        self.window.mark(number);
        Ok(Opened { number, newest, text })
    }

    fn decipher(&mut self, number: u64, packet: &mut [u8]) -> Result<(), Reject> {
        let (front, tag) = packet.split_last_chunk_mut::<TAG_BYTES>().ok_or(Reject::Length)?;
        let (header, text) = front.split_at_mut_checked(HEADER_BYTES).ok_or(Reject::Length)?;
        self.cipher.open(number, header, text, tag).map_err(|_| {
            self.forgeries += 1;
            Reject::Forged
        })
    }
}

impl fmt::Debug for Opener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Opener");
        shown.field("highest", &self.window.highest()).field("forgeries", &self.forgeries);
        shown.finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
#[cfg(test)]
pub(crate) mod watch;
