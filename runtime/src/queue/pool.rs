//! Recycled memory blocks for messages, pending futures, replies and cells.
//!
//! A thread keeps two magazines of free blocks per size class and works on them without any atomic.
//! Full magazines go to a shared depot and empty ones come back from it, one lock per
//! [`MAGAZINE_BLOCKS`] blocks, so a thread that only sends and a thread that only receives still
//! recycle each other's blocks. The scheme is the magazine layer of Bonwick and Adams (USENIX 2001).
//!
//! Invariants:
//! 1. A block of class `c` has `CLASS_BYTES[c]` bytes and is aligned to [`BLOCK_ALIGN`].
//! 2. A free block is in exactly one magazine; its first word links to the next block there.
//! 3. Blocks are carved a magazine at a time from memory of the global allocator (`magazines::quarry`) and never
//!    returned to it: the pool stays as large as the most that was in use at once.
//!
//! Under the sanitizers, shuttle and Miri every block comes straight from the global allocator, so that they see each use
//! after free. Under loom a block is kept for a while (`kept`), so that no address is seen twice while a model is repeated.

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::ptr::NonNull;

/// Alignment of every block; it leaves low bits of its address for tags.
pub(crate) const BLOCK_ALIGN: usize = 32;

/// Block sizes in bytes; larger requests go to the global allocator.
const CLASS_BYTES: [usize; 18] =
    [32, 64, 96, 128, 160, 192, 224, 256, 288, 320, 352, 384, 416, 448, 480, 512, 768, 1024];

const fn class_of(layout: Layout) -> Option<usize> {
    if layout.align() > BLOCK_ALIGN {
        return None;
    }
    match layout.size() {
        0..=32 => Some(0),
        size @ 33..=512 => Some(size.div_ceil(32) - 1),
        513..=768 => Some(16),
        769..=1024 => Some(17),
        _ => None,
    }
}

/// Rounds `layout` up to what [`acquire`] really hands out.
#[cfg(any(loom, shuttle, sanitized, miri))]
const fn block_layout(layout: Layout) -> Layout {
    let align = if layout.align() > BLOCK_ALIGN { layout.align() } else { BLOCK_ALIGN };
    let size = if layout.size() == 0 { 1 } else { layout.size() };
    match Layout::from_size_align(size, align) {
        Ok(layout) => layout,
        Err(_) => panic!("a valid layout stays valid when rounded up to a cache line"),
    }
}

/// Hands out a block of at least `layout`, aligned to [`BLOCK_ALIGN`] or more; its content is
/// undefined. Does not allocate in steady state, up to 1024 bytes. Aborts when memory is exhausted.
#[inline(always)]
pub(crate) fn acquire(layout: Layout) -> NonNull<u8> {
    match class_of(layout) {
        Some(class) => recycle::acquire(class, layout),
        None => fresh(layout),
    }
}

/// Takes a block back.
///
/// # Safety
/// `block` came from [`acquire`] with an equal `layout` and is used by nobody any more.
#[inline(always)]
pub(crate) unsafe fn release(block: NonNull<u8>, layout: Layout) {
    // SAFETY: the caller's promise.
    unsafe { release_as(block, &Shape::of(layout)) };
}

/// Takes a block back when it is dropped, also if a panic does that.
pub(crate) struct Release(NonNull<u8>, Layout);

impl Release {
    /// # Safety
    /// As [`release`], when this is dropped.
    pub(crate) unsafe fn new(block: NonNull<u8>, layout: Layout) -> Self {
        Self(block, layout)
    }
}

impl Drop for Release {
    fn drop(&mut self) {
        // SAFETY: the promise of who made this.
        unsafe { release(self.0, self.1) };
    }
}

/// What [`release_as`] needs to know of a block; worked out once where the type is known.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    layout: Layout,
    /// The class, or [`LARGE`] or [`NOTHING`]: one number tells all cases apart.
    class: usize,
}

/// In place of a class: the block is larger than those of any.
const LARGE: usize = usize::MAX;
/// In place of a class: there is no block, or it is given back in another way.
const NOTHING: usize = LARGE - 1;

impl Shape {
    /// That of what is not to be given back.
    pub(crate) const NONE: Self = Self { layout: Layout::new::<()>(), class: NOTHING };

    pub(crate) const fn of(layout: Layout) -> Self {
        let class = match class_of(layout) {
            Some(class) => class,
            None => LARGE,
        };
        Self { layout, class }
    }
}

/// Takes a block of that shape back, if that is one of a block.
///
/// # Safety
/// As [`release`], of the shape's layout.
#[inline(always)]
pub(crate) unsafe fn release_as(block: NonNull<u8>, shape: &Shape) {
    if shape.class < CLASS_BYTES.len() {
        // SAFETY: the caller's promise is passed on.
        unsafe { recycle::release(block, shape.class, shape.layout) };
    } else if shape.class == LARGE {
        // SAFETY: the block came from `fresh` with this same layout.
        unsafe { discard(block, shape.layout) };
    }
}

fn fresh(layout: Layout) -> NonNull<u8> {
    try_fresh(layout).unwrap_or_else(|| handle_alloc_error(layout))
}

/// As [`fresh`]; `None` if there is no such memory.
fn try_fresh(layout: Layout) -> Option<NonNull<u8>> {
    // SAFETY: the size is not zero: it is larger than the largest class, or rounded up.
    NonNull::new(unsafe { alloc(layout) })
}

/// # Safety
/// `block` came from [`fresh`] with `layout` and is used by nobody any more.
#[cold]
unsafe fn discard(block: NonNull<u8>, layout: Layout) {
    // SAFETY: the caller's promise.
    unsafe { dealloc(block.as_ptr(), layout) }
}

#[cfg(all(any(shuttle, sanitized, miri), not(loom)))]
use direct as recycle;
#[cfg(loom)]
use kept as recycle;
#[cfg(not(any(loom, shuttle, sanitized, miri)))]
use magazines as recycle;

#[cfg(loom)]
mod kept;

#[cfg(all(any(shuttle, sanitized, miri), not(loom)))]
mod direct {
    use super::{Layout, NonNull, block_layout, discard, fresh};

    pub(super) fn acquire(_class: usize, layout: Layout) -> NonNull<u8> {
        fresh(block_layout(layout))
    }

    /// # Safety
    /// As [`super::release`].
    pub(super) unsafe fn release(block: NonNull<u8>, _class: usize, layout: Layout) {
        // SAFETY: the caller's promise; every block here is fresh.
        unsafe { discard(block, block_layout(layout)) }
    }
}

#[cfg(any(all(test, miri), not(any(loom, shuttle, sanitized, miri))))]
mod magazines;
