//! Buffers that are used again, so that messages cost no allocation in steady state. [LINK-80]

/// Larger buffers are not kept: they are rare, and would be held for nothing.
const KEPT_CAPACITY_MAX: usize = 64 << 10;

/// The most bytes kept.
const KEPT_BYTES_MAX: usize = 4 << 20;

/// The least capacity of a new buffer, so that small messages can share all small buffers.
const CAPACITY_MIN: usize = 256;

/// Capacities from one power of two to the next are a class, from the least to the largest that is kept.
const CLASSES: usize = (KEPT_CAPACITY_MAX / CAPACITY_MIN).ilog2() as usize + 1;

/// Empty buffers.
#[derive(Debug, Default)]
pub(super) struct Pool {
    /// By class, so that a message takes none that is far longer than it: what is held for a peer would not be bounded by
    /// what it sent. [LINK-42]
    classes: [Vec<Vec<u8>>; CLASSES],
    kept: usize,
}

/// The class of a buffer with that capacity, which is not below the least.
const fn class_of(capacity: usize) -> usize {
    (capacity / CAPACITY_MIN).ilog2() as usize
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
        let capacity = match capacity {
            // All of a class have room for what is taken from it.
            ..=KEPT_CAPACITY_MAX => capacity.next_power_of_two().max(CAPACITY_MIN),
            _ => return Vec::with_capacity(capacity),
        };
        match self.classes[class_of(capacity)].pop() {
            Some(buffer) => {
                self.kept -= buffer.capacity();
                buffer
            }
            None => Vec::with_capacity(capacity),
        }
    }

    /// Takes a buffer back.
    pub(super) fn give(&mut self, mut buffer: Vec<u8>) {
        let capacity = buffer.capacity();
        if !(CAPACITY_MIN..=KEPT_CAPACITY_MAX).contains(&capacity) {
            return;
        }
        let class = crate::planted!("link-buffers-mixed": class_of(capacity) => 0);
        while self.kept + capacity > KEPT_BYTES_MAX {
            // Those of other classes make room: a flow that is over would have all of it.
            let mut others = self.classes.iter_mut().enumerate().rev().filter(|it| it.0 != class);
            let Some(other) = others.find_map(|(_, kept)| kept.pop()) else { return };
            self.kept -= other.capacity();
        }
        buffer.clear();
        self.kept += capacity;
        self.classes[class].push(buffer);
    }

    /// Lets go of everything, when nothing has happened for a while.
    pub(super) fn trim(&mut self) {
        *self = Self::default();
    }

    /// How many bytes are kept.
    #[cfg(test)]
    pub(super) const fn kept(&self) -> usize {
        self.kept
    }

    #[cfg(test)]
    fn buffers(&self) -> impl Iterator<Item = &Vec<u8>> {
        self.classes.iter().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Whatever was kept, a message takes no more than four times its length, or the least of two buffers: what is
        /// held for a peer is bounded by what it sent.
        // [LINK-42]
        #[test]
        fn a_message_holds_no_buffer_far_longer_than_it(
            given in prop::collection::vec(0..100_000_usize, 0..40),
            taken in prop::collection::vec(0..80_000_usize, 1..40),
        ) {
            let mut pool = Pool::default();
            given.iter().for_each(|capacity| pool.give(Vec::with_capacity(*capacity)));
            for len in taken {
                let held = pool.copy(&vec![7; len]).capacity();
                prop_assert!(held >= len && held <= (4 * len).max(2 * CAPACITY_MIN), "{held} for {len}");
            }
            let kept: usize = pool.buffers().map(Vec::capacity).sum();
            prop_assert_eq!(pool.kept(), kept);
        }

        /// In steady state nothing is allocated, also after other lengths have filled the pool.
        // [LINK-42]
        #[test]
        fn what_was_given_back_is_used_again(before in 0..80_000_usize, len in 1..KEPT_CAPACITY_MAX) {
            let mut pool = Pool::default();
            for _ in 0..2 * KEPT_BYTES_MAX / KEPT_CAPACITY_MAX {
                pool.give(Vec::with_capacity(before));
            }
            let first = pool.copy(&vec![7; len]);
            let capacity = first.capacity();
            pool.give(first);
            let kept = pool.kept();
            prop_assert!(kept <= KEPT_BYTES_MAX);
            prop_assert_eq!(pool.copy(&vec![7; len]).capacity(), capacity);
            prop_assert_eq!(pool.kept(), kept - capacity);
        }
    }
}
