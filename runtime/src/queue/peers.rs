//! Which of several peers: a set that one thread has to itself, and one that peers put themselves into.
//!
//! Invariant 1: a peer puts itself into [`Told`] after it has left something; the owner takes the set
//! before it looks for what was left. Both are read-modify-writes of one word, so either the owner finds
//! the peer, and what it left, or the peer stays in the set for the next time.

use crate::sync::{AtomicU64, CachePadded, Ordering, planted};

const BITS: usize = u64::BITS as usize;

/// A set of peers.
#[derive(Debug)]
pub(crate) struct Peers {
    words: Box<[u64]>,
}

impl Peers {
    /// An empty set of as many as `peers` peers.
    pub(crate) fn new(peers: usize) -> Self {
        Self { words: vec![0; peers.div_ceil(BITS)].into() }
    }

    #[inline]
    pub(crate) fn insert(&mut self, peer: usize) {
        self.words[peer / BITS] |= 1 << (peer % BITS);
    }

    #[inline]
    pub(crate) fn remove(&mut self, peer: usize) {
        self.words[peer / BITS] &= !(1 << (peer % BITS));
    }

    /// Takes the first one out.
    #[inline]
    pub(crate) fn pop(&mut self) -> Option<usize> {
        let first = self.first_from(0)?;
        self.remove(first);
        Some(first)
    }

    /// The first one after `peer`, and after the last one the first again.
    #[inline]
    pub(crate) fn next_after(&self, peer: usize) -> Option<usize> {
        self.first_from(peer + 1).or_else(|| self.first_from(0))
    }

    #[inline]
    fn first_from(&self, peer: usize) -> Option<usize> {
        let mut mask = u64::MAX << (peer % BITS);
        for (at, word) in self.words.iter().enumerate().skip(peer / BITS) {
            if word & mask != 0 {
                return Some(at * BITS + (word & mask).trailing_zeros() as usize);
            }
            mask = u64::MAX;
        }
        None
    }
}

/// The peers that have left something for the owner.
#[derive(Debug)]
pub(crate) struct Told {
    words: Box<[CachePadded<AtomicU64>]>,
}

impl Told {
    /// Nobody of as many as `peers` peers.
    pub(crate) fn new(peers: usize) -> Self {
        let words = (0..peers.div_ceil(BITS)).map(|_| CachePadded(AtomicU64::new(0)));
        Self { words: words.collect() }
    }

    /// Puts `peer` in, which has left something.
    #[inline]
    pub(crate) fn tell(&self, peer: usize) {
        // Release: pairs with the Acquire in `take`; what was left is visible to the owner.
        let order = planted!("told-relaxed": Ordering::Release => Ordering::Relaxed);
        self.words[peer / BITS].fetch_or(1 << (peer % BITS), order);
    }

    /// Moves everyone over into `into`. One load per 64 peers where there is nobody. Owner only.
    #[inline]
    pub(crate) fn take(&self, into: &mut Peers) {
        for (word, into) in self.words.iter().zip(&mut into.words) {
            // Relaxed: a guess; who has just come is found the next time.
            let now = word.load(Ordering::Relaxed);
            if now != 0 {
                // Acquire: pairs with the Release in `tell`.
                *into |= planted!("told-bit-lost": word.swap(0, Ordering::Acquire) => {
                    let taken = word.load(Ordering::Acquire);
                    word.store(0, Ordering::Relaxed);
                    taken
                });
            }
        }
    }

    /// Bytes of the set.
    pub(crate) fn memory_bytes(&self) -> usize {
        size_of_val(&*self.words)
    }
}

#[cfg(all(test, loom))]
mod model;

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests;
