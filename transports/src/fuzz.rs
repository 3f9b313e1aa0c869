//! What fuzzers and tests do to parsers and state machines: functions of bytes that fail when a promise is
//! broken, whatever the bytes are.
//!
//! `transports/fuzz` runs them under libFuzzer and keeps what reached new code; `cargo test` runs what it kept
//! and random bytes.

mod runtime;
mod world;

pub use crate::link::fuzz::{acks, frames, lane, pair};
pub use crate::secure::endpoint::fuzz::{datagrams, handshakes};
pub use crate::secure::fuzz::{replay, wire};
pub use crate::station::fuzz::station;
pub use runtime::{messages, node_frames, settings};
pub use world::world;

/// What is run with bytes.
pub type Target = fn(&[u8]);

/// Every target of this crate and the runtime, by its name and that of its corpus.
pub const TARGETS: [(&str, Target); 13] = [
    ("frames", frames),
    ("acks", acks),
    ("lane", lane),
    ("pair", pair),
    ("wire", wire),
    ("replay", replay),
    ("datagrams", datagrams),
    ("handshakes", handshakes),
    ("station", station),
    ("node_frames", node_frames),
    ("messages", messages),
    ("settings", settings),
    ("world", world),
];

/// Bytes that decide what happens; zeros when they are used up.
#[derive(Debug)]
pub(crate) struct Choices<'a>(pub(crate) &'a [u8]);

impl<'a> Choices<'a> {
    pub(crate) const fn is_over(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn u8(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        *first
    }

    pub(crate) fn u16(&mut self) -> u16 {
        u16::from_le_bytes([self.u8(), self.u8()])
    }

    pub(crate) fn u32(&mut self) -> u32 {
        u32::from(self.u16()) | u32::from(self.u16()) << 16
    }

    /// A place in a list of that length, which is not zero.
    pub(crate) fn place(&mut self, length: usize) -> usize {
        usize::from(self.u16()) % length
    }

    /// So many bytes as they stand, or all that are left.
    pub(crate) fn take(&mut self, count: usize) -> &'a [u8] {
        let (taken, rest) = self.0.split_at(count.min(self.0.len()));
        self.0 = rest;
        taken
    }
}

#[cfg(test)]
mod tests;
