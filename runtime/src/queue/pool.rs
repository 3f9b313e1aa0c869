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
//! 3. The depot holds at most [`DEPOT_MAGAZINES_MAX`] magazines per class; the rest returns to the
//!    global allocator.
//!
//! Under the sanitizers and the model checkers every block comes straight from the global allocator,
//! so that they see each use after free.

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::ptr::NonNull;

/// Alignment of every block: a cache line, which also leaves six low bits of its address for tags.
pub(crate) const BLOCK_ALIGN: usize = 64;

/// Rounds `layout` up to what [`acquire`] really hands out.
const fn block_layout(layout: Layout) -> Layout {
    let size = match class_of(layout) {
        Some(class) => CLASS_BYTES[class],
        None => layout.size(),
    };
    let align = if layout.align() > BLOCK_ALIGN { layout.align() } else { BLOCK_ALIGN };
    match Layout::from_size_align(size, align) {
        Ok(layout) => layout,
        Err(_) => panic!("a valid layout stays valid when rounded up to a cache line"),
    }
}

/// Block sizes in bytes; larger requests go to the global allocator.
const CLASS_BYTES: [usize; 10] = [64, 128, 192, 256, 320, 384, 448, 512, 768, 1024];

const fn class_of(layout: Layout) -> Option<usize> {
    if layout.align() > BLOCK_ALIGN {
        return None;
    }
    match layout.size() {
        0..=64 => Some(0),
        size @ 65..=512 => Some(size.div_ceil(64) - 1),
        513..=768 => Some(8),
        769..=1024 => Some(9),
        _ => None,
    }
}

/// Hands out a block of at least `layout`, aligned to [`BLOCK_ALIGN`] or more; its content is
/// undefined. Does not allocate in steady state, up to 1024 bytes. Aborts when memory is exhausted.
#[inline]
pub(crate) fn acquire(layout: Layout) -> NonNull<u8> {
    match class_of(layout) {
        Some(class) => recycle::acquire(class, block_layout(layout)),
        None => fresh(block_layout(layout)),
    }
}

/// Takes a block back.
///
/// # Safety
/// `block` came from [`acquire`] with an equal `layout` and is used by nobody any more.
#[inline]
pub(crate) unsafe fn release(block: NonNull<u8>, layout: Layout) {
    match class_of(layout) {
        // SAFETY: the caller's promise is passed on.
        Some(class) => unsafe { recycle::release(block, class, block_layout(layout)) },
        // SAFETY: the block came from `fresh` with this same rounded layout.
        None => unsafe { discard(block, block_layout(layout)) },
    }
}

fn fresh(layout: Layout) -> NonNull<u8> {
    // SAFETY: a block layout is never of size zero: it is at least one cache line, or larger than
    // the largest class.
    let block = unsafe { alloc(layout) };
    NonNull::new(block).unwrap_or_else(|| handle_alloc_error(layout))
}

/// # Safety
/// `block` came from [`fresh`] with `layout` and is used by nobody any more.
unsafe fn discard(block: NonNull<u8>, layout: Layout) {
    // SAFETY: the caller's promise.
    unsafe { dealloc(block.as_ptr(), layout) }
}

#[cfg(any(loom, shuttle, sanitized))]
mod recycle {
    use super::{Layout, NonNull, discard, fresh};

    pub(super) fn acquire(_class: usize, layout: Layout) -> NonNull<u8> {
        fresh(layout)
    }

    /// # Safety
    /// As [`super::release`].
    pub(super) unsafe fn release(block: NonNull<u8>, _class: usize, layout: Layout) {
        // SAFETY: the caller's promise; every block here is fresh.
        unsafe { discard(block, layout) }
    }
}

#[cfg(not(any(loom, shuttle, sanitized)))]
mod recycle {
    use super::{CLASS_BYTES, Layout, NonNull, discard, fresh};
    use crate::sync::Mutex;
    use std::cell::Cell;

    /// Blocks in a full magazine.
    const MAGAZINE_BLOCKS: usize = 64;
    /// Magazines the depot keeps per class: 4 MiB of the smallest blocks.
    const DEPOT_MAGAZINES_MAX: usize = 1024;

    /// A chain of free blocks.
    #[derive(Clone, Copy)]
    struct Magazine {
        top: *mut Free,
        count: usize,
    }

    struct Free {
        next: *mut Free,
    }

    // SAFETY: a magazine owns its blocks; nobody else holds a pointer to them.
    unsafe impl Send for Magazine {}

    impl Magazine {
        const EMPTY: Self = Self { top: std::ptr::null_mut(), count: 0 };

        #[inline(always)]
        fn push(&mut self, block: NonNull<u8>) {
            let free = block.as_ptr().cast::<Free>();
            // SAFETY: the block is unused, large enough for a word and aligned (invariant 1).
            unsafe { free.write(Free { next: self.top }) };
            self.top = free;
            self.count += 1;
        }

        #[inline(always)]
        fn pop(&mut self) -> Option<NonNull<u8>> {
            let free = NonNull::new(self.top)?;
            // SAFETY: by invariant 2 a block in a magazine starts with its link.
            self.top = unsafe { free.as_ref() }.next;
            self.count -= 1;
            Some(free.cast())
        }
    }

    static DEPOT: [Mutex<Vec<Magazine>>; CLASS_BYTES.len()] =
        [const { Mutex::new(Vec::new()) }; CLASS_BYTES.len()];

    /// What one thread keeps of one class: it works on `loaded` and swaps with `spare`.
    struct Rack {
        loaded: Cell<Magazine>,
        spare: Cell<Magazine>,
    }

    struct Racks([Rack; CLASS_BYTES.len()]);

    thread_local! {
        static RACKS: Racks = const {
            Racks([const { Rack { loaded: Cell::new(Magazine::EMPTY), spare: Cell::new(Magazine::EMPTY) } };
                CLASS_BYTES.len()])
        };
    }

    impl Drop for Racks {
        fn drop(&mut self) {
            for (class, rack) in self.0.iter().enumerate() {
                deposit(class, rack.loaded.replace(Magazine::EMPTY));
                deposit(class, rack.spare.replace(Magazine::EMPTY));
            }
        }
    }

    #[inline]
    pub(super) fn acquire(class: usize, layout: Layout) -> NonNull<u8> {
        RACKS
            .try_with(|racks| {
                let rack = &racks.0[class];
                let mut loaded = rack.loaded.get();
                let block = loaded.pop();
                rack.loaded.set(loaded);
                block.or_else(|| reload(rack, class))
            })
            .ok()
            .flatten()
            .unwrap_or_else(|| fresh(layout))
    }

    /// # Safety
    /// As [`super::release`].
    #[inline]
    pub(super) unsafe fn release(block: NonNull<u8>, class: usize, layout: Layout) {
        let kept = RACKS.try_with(|racks| {
            let rack = &racks.0[class];
            let mut loaded = rack.loaded.get();
            if loaded.count == MAGAZINE_BLOCKS {
                deposit(class, rack.spare.replace(loaded));
                loaded = Magazine::EMPTY;
            }
            loaded.push(block);
            rack.loaded.set(loaded);
        });
        if kept.is_err() {
            // SAFETY: the thread is ending; every block is a fresh one of this layout.
            unsafe { discard(block, layout) };
        }
    }

    #[cold]
    fn reload(rack: &Rack, class: usize) -> Option<NonNull<u8>> {
        let mut loaded = rack.spare.replace(Magazine::EMPTY);
        if loaded.count == 0 {
            loaded = DEPOT[class].lock().pop()?;
        }
        let block = loaded.pop();
        rack.loaded.set(loaded);
        block
    }

    #[cold]
    fn deposit(class: usize, mut magazine: Magazine) {
        if magazine.count == 0 {
            return;
        }
        let mut depot = DEPOT[class].lock();
        if depot.len() < DEPOT_MAGAZINES_MAX {
            depot.push(magazine);
            return;
        }
        drop(depot);
        let layout = super::block_layout(Layout::new::<[u8; 1]>());
        let layout = Layout::from_size_align(CLASS_BYTES[class], layout.align())
            .expect("a class is a valid layout");
        while let Some(block) = magazine.pop() {
            // SAFETY: the magazine owned the block, which came from `fresh` with its class's layout.
            unsafe { discard(block, layout) };
        }
    }
}
