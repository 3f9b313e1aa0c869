//! What an actor declares about its mailbox.

use crate::queue::permits::Permits;

/// What a full mailbox does with a message that is told without waiting (`.tell()`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Full {
    /// The sender is to wait: `.await` does, and `.tell()`, which cannot, gets the message back.
    Wait,
    /// As [`Wait`](Self::Wait), by another name: `.tell()` gets the message back, and `.await` waits.
    Reject,
    /// The message is dropped and reported as a dead letter.
    DropNewest,
    /// The message that waited longest is dropped and reported as a dead letter.
    DropOldest,
}

/// How much mail may wait for an actor.
///
/// ```
/// use greenroom::{Full, Mailbox};
/// let mailbox = Mailbox::bounded(1024).bytes(1 << 20).full(Full::Reject);
/// assert_eq!(mailbox.messages_max(), Some(1024));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mailbox {
    messages_max: usize,
    bytes_max: usize,
    full: Full,
    overload: usize,
}

impl Mailbox {
    /// More messages than this cannot be bounded: their permits are counted in one word.
    const LIMIT: usize = Permits::MAX;
    /// Stands for no number.
    const NONE: usize = usize::MAX;

    /// Any number of messages.
    #[must_use]
    pub const fn unbounded() -> Self {
        let full = Full::Wait;
        Self { messages_max: Self::NONE, bytes_max: Self::NONE, full, overload: Self::NONE }
    }

    /// At most `messages` that are not yet being handled; senders wait.
    ///
    /// # Panics
    /// If `messages` is zero or above 2^29 - 1; in a constant, when compiled.
    #[must_use]
    pub const fn bounded(messages: usize) -> Self {
        assert!(messages > 0, "a mailbox holds at least one message");
        assert!(messages <= Self::LIMIT, "a mailbox is bounded to 2^29 - 1 messages at most");
        Self { messages_max: messages, ..Self::unbounded() }
    }

    /// Also at most `bytes`, counting each message's size and its
    /// [`heap_bytes`](crate::Message::heap_bytes).
    ///
    /// # Panics
    /// If `bytes` is zero or above 2^29 - 1; in a constant, when compiled.
    #[must_use]
    pub const fn bytes(mut self, bytes: usize) -> Self {
        assert!(bytes > 0, "a mailbox holds at least one byte");
        assert!(bytes <= Self::LIMIT, "a mailbox is bounded to 2^29 - 1 bytes at most");
        self.bytes_max = bytes;
        self
    }

    /// From `messages` that wait on, the actor is *overloaded*: awaited tells to it are held back, in
    /// order, until half as many wait. Those of an actor that is overloaded itself, or for whose room
    /// others wait, are not, so that no circle of actors stands still; nor is anything but an awaited
    /// tell.
    ///
    /// ```
    /// use greenroom::Mailbox;
    /// assert_eq!(Mailbox::unbounded().overload(1000).overload_at(), Some(1000));
    /// ```
    ///
    /// # Panics
    /// If `messages` is zero or above 2^29 - 1; in a constant, when compiled.
    #[must_use]
    pub const fn overload(mut self, messages: usize) -> Self {
        assert!(messages > 0, "an actor without mail is not overloaded");
        assert!(messages <= Self::LIMIT, "an overload is 2^29 - 1 messages at most");
        self.overload = messages;
        self
    }

    /// How many messages wait when the actor is overloaded, if a number is declared.
    #[must_use]
    pub const fn overload_at(&self) -> Option<usize> {
        if self.overload == Self::NONE { None } else { Some(self.overload) }
    }

    /// What happens to a message that does not fit and does not wait.
    #[must_use]
    pub const fn full(mut self, full: Full) -> Self {
        self.full = full;
        self
    }

    /// The greatest number of messages that wait, if there is one.
    #[must_use]
    pub const fn messages_max(&self) -> Option<usize> {
        if self.messages_max == Self::NONE { None } else { Some(self.messages_max) }
    }

    /// The greatest number of bytes that wait, if there is one.
    #[must_use]
    pub const fn bytes_max(&self) -> Option<usize> {
        if self.bytes_max == Self::NONE { None } else { Some(self.bytes_max) }
    }

    /// What happens to a message that does not fit and does not wait.
    #[must_use]
    pub const fn when_full(&self) -> Full {
        self.full
    }

    /// Whether there is any bound.
    pub(crate) const fn is_bounded(&self) -> bool {
        self.messages_max != Self::NONE || self.bytes_max != Self::NONE
    }
}
