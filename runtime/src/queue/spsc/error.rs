//! What the ends of a ring refuse. Nothing can be added to these, so they may be matched in full.

/// A value that did not get into the ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WriteError<T> {
    /// No slot is free. Try again when the receiver has taken something.
    #[error("the ring is full")]
    Full(T),
    /// The receiver is gone; nothing will ever be taken.
    #[error("the receiver is gone")]
    Disconnected(T),
}

impl<T> WriteError<T> {
    /// Hands the value back.
    #[must_use]
    pub fn into_inner(self) -> T {
        match self {
            Self::Full(value) | Self::Disconnected(value) => value,
        }
    }
}

/// Why no value came out of the ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TryRecvError {
    /// Nothing is there now.
    #[error("the ring is empty")]
    Empty,
    /// Nothing is there, and the sender is gone.
    #[error("the sender is gone")]
    Disconnected,
}

/// The other end is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the other end is gone")]
pub struct Disconnected;
