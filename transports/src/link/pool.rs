//! Buffers that are used again, so that messages cost no allocation in steady state.

/// Larger buffers are not kept: they are rare, and would be held for nothing.
const KEPT_CAPACITY_MAX: usize = 64 << 10;

/// The most bytes kept.
const KEPT_BYTES_MAX: usize = 4 << 20;

/// The least capacity of a new buffer, so that small messages can share all small buffers.
const CAPACITY_MIN: usize = 256;

/// Empty buffers.
#[derive(Debug, Default)]
pub(super) struct Pool {
    /// Those that a small message fits in, and larger ones, separately so that neither has to be
    /// searched for.
    small: Vec<Vec<u8>>,
    large: Vec<Vec<u8>>,
    kept: usize,
}

impl Pool {
    /// A buffer with these bytes.
    pub(super) fn copy(&mut self, bytes: &[u8]) -> Vec<u8> {
        let mut buffer = self.take(bytes.len());
        buffer.extend_from_slice(bytes);
        buffer
    }

    /// An empty buffer, of that capacity if one was kept.
    pub(super) fn take(&mut self, capacity: usize) -> Vec<u8> {
        let kept = if capacity <= CAPACITY_MIN { self.small.pop() } else { self.large.pop() };
        match kept {
            Some(buffer) => {
                self.kept -= buffer.capacity();
                buffer
            }
            None => Vec::with_capacity(capacity.max(CAPACITY_MIN)),
        }
    }

    /// Takes a buffer back.
    pub(super) fn give(&mut self, mut buffer: Vec<u8>) {
        let capacity = buffer.capacity();
        let fits = (CAPACITY_MIN..=KEPT_CAPACITY_MAX).contains(&capacity);
        if !fits || self.kept + capacity > KEPT_BYTES_MAX {
            return;
        }
        buffer.clear();
        self.kept += capacity;
        if capacity < 2 * CAPACITY_MIN {
            self.small.push(buffer);
        } else {
            self.large.push(buffer);
        }
    }

    /// Lets go of everything, when nothing has happened for a while.
    pub(super) fn trim(&mut self) {
        *self = Self::default();
    }
}
