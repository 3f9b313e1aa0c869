//! How many messages a turn may handle and send.

use crate::queue::growth::DOUBLINGS_MAX;

/// Messages that a turn may await the sending of, for each that it may handle: sending costs less than
/// handling, and receivers handle many at once sooner than a few at a time.
const SENDS_PER_MESSAGE: u32 = 8;

/// How many messages turns may handle and send, their time aside.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Share {
    /// Messages in one turn at most, where mail does not [grow](crate::queue::growth).
    batch: u32,
    /// Messages in one turn at most where it does.
    most: u32,
    /// Messages that may be sent: in the lower half before the first look at whether to go on, in the upper
    /// half after it.
    pub(super) sends: u64,
}

impl Share {
    /// `batch` messages, and more for those whose mail grows.
    pub(crate) const fn growing(batch: u32) -> Self {
        let later = batch.saturating_mul(SENDS_PER_MESSAGE - 1);
        let sends = batch as u64 | (later as u64) << 32;
        Self { batch, most: batch.saturating_mul(1 << DOUBLINGS_MAX), sends }
    }

    /// `batch` messages, never more.
    pub(crate) const fn fixed(batch: u32) -> Self {
        Self { batch, most: batch, sends: batch as u64 }
    }

    /// What an actor may handle whose turns were doubled so often.
    pub(super) fn doubled(self, times: u32) -> u32 {
        self.batch.saturating_mul(1 << times).min(self.most)
    }
}
