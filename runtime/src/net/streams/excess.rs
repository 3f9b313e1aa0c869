//! What of the streams from another node waits to be read, beyond what windows bound: the rest of items that began
//! below what was granted, and all that is left of streams that are over.

use crate::sync::{Arc, AtomicU64, Ordering, planted};

/// Bytes of it at most, of all streams that come by one connection, beside what each has free. [ENV-20]
const BYTES_MAX: u64 = 256 << 20;
/// What each stream may have of it whatever the others have: the rest of an item that is no long one.
const FREE_BYTES: u64 = 64 << 10;

/// See the [module](self).
#[derive(Clone)]
pub(super) struct Excess(Arc<AtomicU64>);

impl Default for Excess {
    fn default() -> Self {
        Self(Arc::new(AtomicU64::new(0)))
    }
}

impl Excess {
    /// Whether there is so much that no more streams are taken.
    pub(super) fn is_too_much(&self) -> bool {
        // Relaxed: a number that nothing else depends on.
        planted!("net-streams-hoarded": self.0.load(Ordering::Relaxed) > BYTES_MAX => false)
    }

    /// That of a stream, by now nothing.
    pub(super) fn share(&self) -> Share {
        Share { excess: self.clone(), bytes: 0 }
    }
}

/// What one stream has of it, until it is dropped.
pub(super) struct Share {
    excess: Excess,
    bytes: u64,
}

impl Share {
    /// Whether the stream may have so many bytes.
    pub(super) fn may_be(&self, bytes: u64) -> bool {
        // Relaxed: as above. Only the session adds for items, and nobody else.
        let all = self.excess.0.load(Ordering::Relaxed);
        let fits = bytes <= self.bytes.max(FREE_BYTES)
            || (all + bytes).saturating_sub(self.bytes) <= BYTES_MAX;
        planted!("net-items-hoarded": fits => true)
    }

    /// Notes that the stream has so many bytes.
    pub(super) fn set(&mut self, bytes: u64) {
        if bytes == self.bytes {
            return;
        }
        // Relaxed: as above. It wraps around for what is less, and the sum is right.
        self.excess.0.fetch_add(bytes.wrapping_sub(self.bytes), Ordering::Relaxed);
        self.bytes = bytes;
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.set(0);
    }
}
