//! Room for the data that commands bring, taken before any of it is stored.
//!
//! `Shared::memory_used` is the sum of what the shards use and of what is taken here, and what is taken never makes it
//! pass the limit: commands that come at one time have what is left together, not each of them.

use std::sync::Arc;

use super::shared::Shared;
use super::store::Args;

/// What a word of a command takes beside its own bytes once it is stored, about: a key and its value have an entry, and
/// an allocation each.
const WORD_BYTES: usize = 48;

/// Returns about how many bytes of data a command brings.
pub(crate) fn brought(args: Args<'_>) -> usize {
    args.extent() + args.len() * WORD_BYTES
}

/// Returns the same of words that will be a command, and lie in different places.
pub(crate) fn brought_by<'a>(words: impl Iterator<Item = &'a [u8]>) -> usize {
    words.map(|word| word.len() + WORD_BYTES).sum()
}

/// Bytes taken from what is left of the memory. Those that are not spent go back when it is dropped.
#[derive(Debug)]
pub(crate) struct Room {
    shared: Arc<Shared>,
    bytes: u64,
}

impl Room {
    /// Takes so many bytes; none if fewer are left.
    pub(crate) fn take(shared: &Arc<Shared>, bytes: u64) -> Option<Self> {
        let max = shared.memory_max.get();
        let bytes = if max == 0 { 0 } else { bytes };
        let has = max == 0 || shared.memory_used.add_if_within(bytes, max);
        has.then(|| Self { shared: Arc::clone(shared), bytes })
    }

    /// Takes a part of it out, or what there is if that is less.
    pub(crate) fn part(&mut self, bytes: u64) -> Self {
        let bytes = self.spend(bytes);
        Self { shared: Arc::clone(&self.shared), bytes }
    }

    /// Puts another one to it.
    pub(crate) fn join(&mut self, mut other: Self) {
        self.bytes += other.spend(u64::MAX);
    }

    /// Hands bytes over to who counts them from now on, or what there is if that is less; returns how many.
    pub(crate) fn spend(&mut self, bytes: u64) -> u64 {
        let spent = self.bytes.min(bytes);
        self.bytes -= spent;
        spent
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        self.shared.memory_used.subtract(self.bytes);
    }
}
