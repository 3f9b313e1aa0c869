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
        let most = batch.saturating_mul(1 << DOUBLINGS_MAX);
        Self { batch, most, sends: sends(batch, SENDS_PER_MESSAGE) }
    }

    /// `batch` messages, never more.
    pub(crate) const fn fixed(batch: u32) -> Self {
        Self { batch, most: batch, sends: batch as u64 }
    }

    /// Whether turns are doubled where mail grows.
    pub(super) fn may_grow(self) -> bool {
        self.most > self.batch
    }

    /// As many messages and an ordinary turn's.
    pub(super) fn after_batch(self, messages: u32) -> u32 {
        messages.saturating_add(self.batch)
    }

    /// As `sends`, of an actor whose turns were doubled so often.
    pub(super) fn sends_doubled(self, times: u32) -> u64 {
        if self.may_grow() { sends(self.batch, SENDS_PER_MESSAGE << times) } else { self.sends }
    }

    /// What an actor may handle whose turns were doubled so often.
    pub(super) fn doubled(self, times: u32) -> u32 {
        self.batch.saturating_mul(1 << times).min(self.most)
    }
}

/// `batch` messages before the first look, `times` as many in all.
const fn sends(batch: u32, times: u32) -> u64 {
    // Never all bits, which stand for no turn.
    let later = batch.saturating_mul(times - 1) & !1;
    batch as u64 | (later as u64) << 32
}
