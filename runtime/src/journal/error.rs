//! What can go wrong with a journal: one error per operation.

use crate::event::ExitReason;

/// Why a store cannot read or write; the text is its own.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct StoreError(String);

impl StoreError {
    /// An error with this text.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }
}

/// Why an event cannot be turned into bytes, or not back; the text says what is wrong with a field or the name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct EncodeError(pub(super) String);

/// Why stored bytes are no event of the type that is wanted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DecodeError {
    /// The type has no event of this name and version.
    #[error("there is no such event")]
    Unknown,
    /// The bytes are not what an event of this name and version has; the text says where.
    #[error("{0}")]
    Malformed(String),
}

/// Why events were not persisted. But for [`PersistError::Unencodable`] and [`PersistError::TooLarge`] the actor
/// ends after the running handler, because it cannot know what the journal has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PersistError {
    /// Another incarnation has opened the key, here or on another machine.
    #[error("another has taken the key over")]
    Fenced,
    /// The store failed. The events may be there when the key is opened next, all of them or none.
    #[error("the journal was not written: {0}")]
    Store(StoreError),
    /// The journal is closed.
    #[error("the journal is closed")]
    Closed,
    /// An event cannot be turned into bytes, or not back. Nothing was written, and the actor goes on.
    #[error("the event cannot be encoded: {0}")]
    Unencodable(EncodeError),
    /// The events that were handed in together are too large. Nothing was written, and the actor goes on.
    #[error("the events take {bytes} bytes, and {max} at most are written together")]
    TooLarge {
        /// The bytes that they take.
        bytes: usize,
        /// The bytes that they may take.
        max: usize,
    },
}

impl PersistError {
    /// Why the incarnation ends that could not write.
    pub(super) fn exit_reason(&self) -> ExitReason {
        match self {
            Self::Fenced => ExitReason::Fenced,
            other => ExitReason::NotPersisted(other.to_string()),
        }
    }
}

/// Why a key cannot be opened.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RecoverError {
    /// No store need keep such a key: it is longer than 1,024 bytes, or has a NUL in it.
    #[error("{0:?} is no key, which has 1,024 bytes at most and no NUL")]
    InvalidKey(String),
    /// The store failed. Worth another try.
    #[error("the journal cannot be read: {0}")]
    Store(StoreError),
    /// The journal is closed.
    #[error("the journal is closed")]
    Closed,
    /// The program does not know an event of the journal: an older program reads what a newer one wrote,
    /// or a variant was taken out that is still in use.
    #[error(
        "event {sequence} of {key:?} is {name:?} version {version}, which this program does not know"
    )]
    UnknownEvent {
        /// Whose event.
        key: String,
        /// Which one.
        sequence: u64,
        /// Its name.
        name: String,
        /// Its version.
        version: u32,
    },
    /// An event's fields are not those that were written under its name and version.
    #[error("event {sequence} of {key:?}, {name:?} version {version}, cannot be read: {text}")]
    MalformedEvent {
        /// Whose event.
        key: String,
        /// Which one.
        sequence: u64,
        /// Its name.
        name: String,
        /// Its version.
        version: u32,
        /// What is wrong.
        text: String,
    },
    /// The snapshot has another version than the program's, and the events before it are pruned.
    #[error("the snapshot of {key:?} has version {found}, and only {wanted} is known")]
    UnknownSnapshot {
        /// Whose snapshot.
        key: String,
        /// The version that it has.
        found: u32,
        /// The version that the program has.
        wanted: u32,
    },
    /// The snapshot cannot be read as the state it was taken of.
    #[error("the snapshot of {key:?} cannot be read: {text}")]
    MalformedSnapshot {
        /// Whose snapshot.
        key: String,
        /// What is wrong.
        text: String,
    },
    /// An event is missing: the store has lost it, or it is not the journal that it was.
    #[error("event {sequence} of {key:?} is missing")]
    MissingEvent {
        /// Whose event.
        key: String,
        /// Which one.
        sequence: u64,
    },
}
