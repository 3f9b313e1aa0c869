//! The messages: preallocated, one cache line each, named by index so that nothing here is unsafe.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

/// Nodes that one producer cycles through: 256 KiB, more than a first-level cache.
pub(crate) const BLOCK: u32 = 4096;
/// The first block has the nodes that no producer owns: the one that stands for "none", and stubs.
pub(crate) const BLOCKS: usize = 4;
const NODES: usize = BLOCKS * BLOCK as usize;

/// A message.
#[derive(Debug)]
#[repr(align(64))]
pub(crate) struct Node {
    pub(crate) next: AtomicU32,
    pub(crate) value: AtomicU64,
}

static ALL: [Node; NODES] =
    [const { Node { next: AtomicU32::new(0), value: AtomicU64::new(0) } }; NODES];

/// The node of that index; the mask takes the bounds check away.
#[inline(always)]
pub(crate) fn node(index: u32) -> &'static Node {
    &ALL[index as usize & (NODES - 1)]
}

/// Writes `value` into the node `index`, which the caller owns.
#[inline(always)]
pub(crate) fn fill(index: u32, value: u64) {
    // Relaxed: the push that follows publishes it.
    node(index).value.store(value, Relaxed);
}

/// Spreads the turns over the block, as a pool in use does: no prefetcher follows it.
const STRIDE: u64 = 1663;

/// The `turn`-th node of producer `producer`, counted from zero.
#[inline(always)]
pub(crate) fn of_producer(producer: u32, turn: u64) -> u32 {
    #[expect(clippy::cast_possible_truncation, reason = "the remainder is below BLOCK")]
    let place = (turn.wrapping_mul(STRIDE) % u64::from(BLOCK)) as u32;
    (producer + 1) * BLOCK + place
}

/// The block that a node is from.
#[inline(always)]
pub(crate) fn block_of(index: u32) -> usize {
    (index / BLOCK) as usize & (BLOCKS - 1)
}
