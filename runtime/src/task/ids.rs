//! Numbers that are unique in a system.
//!
//! A worker takes them from the count that all share a block at a time, so that workers which start many actors at
//! once do not wait for each other.

use crate::sync::{AtomicU64, CachePadded, Ordering};

/// Numbers in a block.
const BLOCK: u64 = 64;

/// See the [module](self).
#[derive(Debug)]
pub(super) struct Ids {
    next: CachePadded<AtomicU64>,
    blocks: Box<[CachePadded<Block>]>,
}

/// What a worker has left of its block. Its own, and atomic only to be shareable.
#[derive(Debug, Default)]
struct Block {
    next: AtomicU64,
    end: AtomicU64,
}

// Relaxed everywhere: only uniqueness matters.
impl Ids {
    pub(super) fn new(workers: usize) -> Self {
        let blocks = (0..workers).map(|_| CachePadded(Block::default())).collect();
        Self { next: CachePadded(AtomicU64::new(1)), blocks }
    }

    /// A number above all that were taken by this before.
    pub(super) fn next(&self) -> u64 {
        self.next.fetch_add(1, Ordering::Relaxed)
    }

    /// A number, above or below others. For worker `worker`, which no two threads are at once.
    pub(super) fn next_on(&self, worker: u32) -> u64 {
        let block = &self.blocks[worker as usize];
        let mut id = block.next.load(Ordering::Relaxed);
        if id == block.end.load(Ordering::Relaxed) {
            id = self.next.fetch_add(BLOCK, Ordering::Relaxed);
            block.end.store(id + BLOCK, Ordering::Relaxed);
        }
        block.next.store(id + 1, Ordering::Relaxed);
        id
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::{BLOCK, Ids};
    use crate::sync::thread;
    use std::collections::BTreeSet;

    #[test]
    fn no_number_comes_twice_whoever_takes_it() {
        let (ids, each) = (Ids::new(2), 5 * BLOCK + 7);
        let take = |next: &dyn Fn() -> u64| (0..each).map(|_| next()).collect::<Vec<_>>();
        let taken = thread::scope(|scope| {
            let workers = [0, 1].map(|worker| {
                let (ids, take) = (&ids, &take);
                scope.spawn(move || take(&|| ids.next_on(worker)))
            });
            let others = take(&|| ids.next());
            assert!(others.is_sorted(), "without a worker they go up");
            let by_workers = workers.into_iter().flat_map(|it| it.join().expect("no panic"));
            by_workers.chain(others).collect::<Vec<_>>()
        });
        assert_eq!(taken.iter().collect::<BTreeSet<_>>().len(), taken.len());
        assert!(!taken.contains(&0), "zero is nobody's");
    }
}
