//! The sending half of a queue pair: room in its queue, what is signalled, when the doorbell rings.

use super::verbs::{DeviceError, PostError, QueuePair, Via};

/// So many sends wait for one doorbell at most.
const DOORBELL_MAX: u32 = 16;

/// Why a packet is not sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SendError {
    /// There is no room for now: all slots are under way, or the peer has no receives left.
    #[error("there is no room for now")]
    Full,
    /// The queue pair is gone, or was never connected.
    #[error("the queue pair is not there")]
    Ended,
}

#[derive(Debug)]
pub(super) struct Sends {
    max: u32,
    /// Sends since the last one that was signalled.
    unsignalled: u32,
    signal_every: u32,
    /// Sends that wait for the doorbell.
    waiting: u32,
}

impl Sends {
    /// At most `max` sends at a time.
    pub(super) fn new(max: u32) -> Self {
        // [RDMA-5] A full queue always has one that is signalled, so that it empties again.
        let signal_every = crate::planted!("rdma-signal-rarely": (max / 4).max(1) => max * 2);
        Self { max, unsignalled: 0, signal_every, waiting: 0 }
    }

    pub(super) fn has_room<Q: QueuePair>(&self, pair: &Q) -> bool {
        pair.sends_posted() < self.max as usize
    }

    /// Has the next one signalled, if the last was not; says whether that is so.
    pub(super) const fn signal_next(&mut self) -> bool {
        let is_due = self.unsignalled > 0;
        if is_due {
            self.unsignalled = self.signal_every;
        }
        is_due
    }

    /// Sends what `fill` writes into a slot of those that are free, unless that is nothing; says how many bytes that
    /// is.
    pub(super) fn send<Q: QueuePair>(
        &mut self,
        pair: &mut Q,
        free: &mut Vec<Q::Slot>,
        via: Via<'_, Q::Address>,
        fill: impl FnOnce(&mut [u8]) -> usize,
    ) -> Result<usize, SendError>
    where
        Q::Slot: AsRef<[u8]> + AsMut<[u8]>,
    {
        if !self.has_room(pair) {
            return Err(SendError::Full);
        }
        let mut slot = free.pop().ok_or(SendError::Full)?;
        let bytes = fill(slot.as_mut()).min(slot.as_ref().len());
        if bytes == 0 {
            free.push(slot);
            return Ok(0);
        }
        // Whoever has the last slot brings it back, for there may be no others.
        let is_last = crate::planted!("rdma-last-unsignalled": free.is_empty() => false);
        let signalled = is_last || self.unsignalled + 1 >= self.signal_every;
        if bytes <= pair.inline_bytes_max() {
            let pushed = pair.push_inline(&slot.as_ref()[..bytes], via, signalled);
            free.push(slot);
            pushed.map_err(|error| Self::refused(&error))?;
        } else if let Err(error) = pair.push_send(slot, 0..bytes, via, signalled) {
            let refused = Self::refused(&error);
            free.push(error.into_slot());
            return Err(refused);
        }
        self.unsignalled = if signalled { 0 } else { self.unsignalled + 1 };
        self.waiting += 1;
        if self.waiting >= DOORBELL_MAX {
            self.ring(pair).map_err(|_| SendError::Ended)?;
        }
        Ok(bytes)
    }

    fn refused<T>(error: &PostError<T>) -> SendError {
        match error {
            PostError::Full(_) => SendError::Full,
            PostError::TooLong(_) | PostError::State(_) | PostError::Foreign(_) => SendError::Ended,
        }
    }

    pub(super) fn ring<Q: QueuePair>(&mut self, pair: &mut Q) -> Result<(), DeviceError> {
        match std::mem::take(&mut self.waiting) {
            0 => Ok(()),
            _ => pair.ring_sends(),
        }
    }
}
