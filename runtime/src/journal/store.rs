//! What a journal writes to.

use super::error::StoreError;
use std::borrow::Cow;

/// One event as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Which event it is.
    pub name: Cow<'static, str>,
    /// Which form of it.
    pub version: u32,
    /// What it says.
    pub payload: Vec<u8>,
}

impl Record {
    /// The bytes it takes, about.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.name.len() + size_of::<u32>() + self.payload.len()
    }
}

/// The bytes that records take, about.
pub(super) fn bytes_of(records: &[Record]) -> usize {
    records.iter().map(Record::bytes).sum()
}

/// A state, in place of the events up to a sequence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    /// The last event that is in it.
    pub sequence: u64,
    /// Which form of the state.
    pub version: u32,
    /// The state.
    pub payload: Vec<u8>,
}

/// The right to write to a key, until somebody claims it anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Claim {
    /// How often the key was claimed, this time included.
    pub epoch: u64,
    /// The sequence of the last event, zero before the first.
    pub last: u64,
}

/// One write; those of one commit belong to different keys or follow each other.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Write {
    /// Take a key over: from now on writes of earlier epochs are refused.
    Claim {
        /// The key.
        key: String,
    },
    /// Add events, all or none.
    Append {
        /// The key.
        key: String,
        /// The epoch of the claim.
        epoch: u64,
        /// The sequence of the first event, one after the key's last.
        first: u64,
        /// The events, in order.
        records: Vec<Record>,
    },
    /// Replace the key's snapshot.
    Snapshot {
        /// The key.
        key: String,
        /// The epoch of the claim.
        epoch: u64,
        /// The state.
        snapshot: Snapshot,
        /// Whether the events that are in it need not be kept.
        prune: bool,
    },
}

/// What became of one write of a commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Written {
    /// The key is claimed.
    Claimed(Claim),
    /// It is written.
    Done,
}

/// Why a store did not take one write, though others of its commit may be taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refused {
    /// Somebody has claimed the key since.
    #[error("another has taken the key over")]
    Fenced,
    /// The events do not follow the last one, or the snapshot is of events that are not there.
    #[error("the journal ends at event {last}, which does not fit what was to be written")]
    OutOfStep {
        /// The sequence of the key's last event.
        last: u64,
    },
}

/// Keeps events and snapshots by key. One thread uses it, and may block in it.
///
/// Check one of your own with [`store_conforms`](super::store_conforms).
pub trait Store: Send + 'static {
    /// Does all writes in one commit, in their order, and returns what became of each. When it returns,
    /// what it did survives a crash of the machine; what it refused has changed nothing.
    ///
    /// # Errors
    /// [`StoreError`] when the commit as a whole failed. It may be there or not, but as a whole.
    fn commit(&mut self, writes: &[Write]) -> Result<Vec<Result<Written, Refused>>, StoreError>;

    /// The snapshot of a key.
    ///
    /// # Errors
    /// [`StoreError`] when it cannot be read.
    fn snapshot(&mut self, key: &str) -> Result<Option<Snapshot>, StoreError>;

    /// The events of a key that follow `after`, in order, with their sequences: one at least, if there is
    /// one, and no more once they take `bytes_max`.
    ///
    /// # Errors
    /// [`StoreError`] when they cannot be read.
    fn read(
        &mut self,
        key: &str,
        after: u64,
        bytes_max: usize,
    ) -> Result<Vec<(u64, Record)>, StoreError>;
}

impl<S: Store + ?Sized> Store for Box<S> {
    fn commit(&mut self, writes: &[Write]) -> Result<Vec<Result<Written, Refused>>, StoreError> {
        (**self).commit(writes)
    }

    fn snapshot(&mut self, key: &str) -> Result<Option<Snapshot>, StoreError> {
        (**self).snapshot(key)
    }

    fn read(
        &mut self,
        key: &str,
        after: u64,
        bytes_max: usize,
    ) -> Result<Vec<(u64, Record)>, StoreError> {
        (**self).read(key, after, bytes_max)
    }
}
