//! Blocks while loom tries the interleavings of a model, which must do the same again when it is repeated.
//!
//! A compare-and-swap of an address that is in use again succeeds, and fails if the allocator gave another one, which
//! depends on what other tests do. Nothing here is wrong in either case, but loom loses its way. So a block is kept until
//! so many others were released that no repetition of a model lasts as long.

use super::{Layout, NonNull, block_layout, discard, fresh};
use std::cell::RefCell;
use std::collections::VecDeque;

/// Far more than one repetition of a model releases.
const KEPT: usize = 1_024;

thread_local! {
    /// All threads of a model are coroutines of the test's, which is what keeps its blocks apart from others'.
    static BLOCKS: RefCell<VecDeque<(NonNull<u8>, Layout)>> = const { RefCell::new(VecDeque::new()) };
}

pub(super) fn acquire(_class: usize, layout: Layout) -> NonNull<u8> {
    fresh(block_layout(layout))
}

/// # Safety
/// As [`super::release`].
pub(super) unsafe fn release(block: NonNull<u8>, _class: usize, layout: Layout) {
    BLOCKS.with_borrow_mut(|blocks| {
        blocks.push_back((block, block_layout(layout)));
        if blocks.len() > KEPT {
            let (block, layout) = blocks.pop_front().expect("one was just put in");
            // SAFETY: the promise of who released it; every block here is fresh.
            unsafe { discard(block, layout) };
        }
    });
}
