//! How much mail waits, for whoever wants to know.

use crate::queue::level::Reading;

/// How much waits: for one actor ([`Ref::pressure`](crate::Ref::pressure)), or in a whole system
/// ([`System::pressure`](crate::System::pressure)).
///
/// What waits is counted from when its sender has a place for it until its handler begins, or it is a dead
/// letter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Pressure {
    /// How much waits now.
    pub waiting: usize,
    /// The most that ever waited at a time: the high-water mark.
    pub peak: usize,
    /// Whether who can wait is held back.
    pub is_overloaded: bool,
}

impl From<Reading> for Pressure {
    fn from(reading: Reading) -> Self {
        let Reading { count, peak, is_overloaded } = reading;
        Self { waiting: count, peak, is_overloaded }
    }
}

/// How much of its [budget](crate::Builder::budget_messages) a system uses; `None` where there is none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SystemPressure {
    /// Messages in all mailboxes.
    pub messages: Option<Pressure>,
    /// Bytes of those messages.
    pub bytes: Option<Pressure>,
}
