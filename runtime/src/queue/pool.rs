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
//! 3. Blocks are carved from the global allocator a magazine at a time and never returned to it: the
//!    pool stays as large as the most that was in use at once.
//!
//! Under the sanitizers and the model checkers every block comes straight from the global allocator,
//! so that they see each use after free.

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
#[cfg(any(loom, shuttle, sanitized))]
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

/// What [`release_as`] needs to know of a block; worked out once where the type is known.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    layout: Layout,
    /// The class, or a number that is none.
    class: usize,
}

impl Shape {
    pub(crate) const fn of(layout: Layout) -> Self {
        let class = match class_of(layout) {
            Some(class) => class,
            None => usize::MAX,
        };
        Self { layout, class }
    }
}

/// Takes a block of that shape back.
///
/// # Safety
/// As [`release`], of the shape's layout.
#[inline(always)]
pub(crate) unsafe fn release_as(block: NonNull<u8>, shape: &Shape) {
    if shape.class < CLASS_BYTES.len() {
        // SAFETY: the caller's promise is passed on.
        unsafe { recycle::release(block, shape.class, shape.layout) };
    } else {
        // SAFETY: the block came from `fresh` with this same layout.
        unsafe { discard(block, shape.layout) };
    }
}

fn fresh(layout: Layout) -> NonNull<u8> {
    // SAFETY: the size is not zero: it is larger than the largest class, or rounded up.
    let block = unsafe { alloc(layout) };
    NonNull::new(block).unwrap_or_else(|| handle_alloc_error(layout))
}

/// # Safety
/// `block` came from [`fresh`] with `layout` and is used by nobody any more.
#[cold]
unsafe fn discard(block: NonNull<u8>, layout: Layout) {
    // SAFETY: the caller's promise.
    unsafe { dealloc(block.as_ptr(), layout) }
}

#[cfg(any(loom, shuttle, sanitized))]
mod recycle {
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

#[cfg(not(any(loom, shuttle, sanitized)))]
mod recycle {
    use super::{BLOCK_ALIGN, CLASS_BYTES, Layout, NonNull, fresh};
    use crate::sync::{Mutex, planted};
    use std::cell::Cell;

    /// Blocks in a full magazine.
    const MAGAZINE_BLOCKS: usize = 64;

    /// A chain of free blocks.
    #[derive(Clone, Copy)]
    struct Magazine {
        top: *mut Free,
        count: usize,
    }

    struct Free {
        next: *mut Self,
    }

    // SAFETY: a magazine owns its blocks; nobody else holds a pointer to them.
    unsafe impl Send for Magazine {}

    impl Magazine {
        const EMPTY: Self = Self { top: std::ptr::null_mut(), count: 0 };

        fn push(&mut self, block: NonNull<u8>) {
            self.top = chain(block, self.top);
            self.count += 1;
        }
    }

    /// Puts a free block in front of a chain.
    #[inline(always)]
    fn chain(block: NonNull<u8>, next: *mut Free) -> *mut Free {
        let free = block.as_ptr().cast::<Free>();
        // SAFETY: the block is unused, large enough for a word and aligned (invariant 1).
        unsafe { free.write(Free { next }) };
        free
    }

    static DEPOT: [Mutex<Vec<Magazine>>; CLASS_BYTES.len()] =
        [const { Mutex::new(Vec::new()) }; CLASS_BYTES.len()];

    /// What one thread keeps of one class: it works on the loaded magazine and swaps with `spare`. A
    /// thread that has not registered its [`Leaver`], or ends, has nothing loaded and room for nothing.
    struct Rack {
        /// The loaded magazine.
        top: Cell<*mut Free>,
        /// Blocks that the loaded magazine has room for.
        room: Cell<usize>,
        spare: Cell<Magazine>,
    }

    impl Rack {
        const fn unused() -> Self {
            Self {
                top: Cell::new(std::ptr::null_mut()),
                room: Cell::new(0),
                spare: Cell::new(Magazine::EMPTY),
            }
        }

        fn load(&self, magazine: Magazine) {
            self.top.set(magazine.top);
            self.room.set(MAGAZINE_BLOCKS - magazine.count);
        }

        fn unload(&self) -> Magazine {
            let top = self.top.replace(std::ptr::null_mut());
            let count = if top.is_null() { 0 } else { MAGAZINE_BLOCKS - self.room.get() };
            self.room.set(0);
            Magazine { top, count }
        }
    }

    thread_local! {
        // Without a drop of their own, so that using them costs no look at whether they are still there.
        static RACKS: [Rack; CLASS_BYTES.len()] = const { [const { Rack::unused() }; CLASS_BYTES.len()] };
        static LEAVER: Leaver = const { Leaver };
    }

    /// Gives what a thread has kept to the depot when the thread ends.
    struct Leaver;

    impl Drop for Leaver {
        fn drop(&mut self) {
            RACKS.with(|racks| {
                for (class, rack) in racks.iter().enumerate() {
                    deposit(class, rack.unload());
                    deposit(class, rack.spare.replace(Magazine::EMPTY));
                }
            });
        }
    }

    /// Whether the thread goes on, so that it may keep blocks.
    fn stays() -> bool {
        LEAVER.try_with(|_| ()).is_ok()
    }

    #[inline(always)]
    pub(super) fn acquire(class: usize, _layout: Layout) -> NonNull<u8> {
        RACKS.with(|racks| {
            let rack = &racks[class];
            let Some(free) = NonNull::new(rack.top.get()) else { return reload(rack, class) };
            // SAFETY: by invariant 2 a block in a magazine starts with its link.
            rack.top.set(unsafe { free.as_ref() }.next);
            rack.room.set(rack.room.get() + 1);
            free.cast()
        })
    }

    /// # Safety
    /// As [`super::release`].
    #[inline(always)]
    pub(super) unsafe fn release(block: NonNull<u8>, class: usize, _layout: Layout) {
        RACKS.with(|racks| {
            let rack = &racks[class];
            if rack.room.get() == 0 {
                return unload(rack, class, block);
            }
            rack.top.set(chain(block, rack.top.get()));
            rack.room.set(rack.room.get() - 1);
        });
    }

    #[cold]
    fn reload(rack: &Rack, class: usize) -> NonNull<u8> {
        if !stays() {
            return NonNull::new(carve(class, 1).top).expect("a magazine of one block").cast();
        }
        let mut loaded = rack.spare.replace(Magazine::EMPTY);
        if loaded.count == 0 {
            let mut depot = DEPOT[class].lock();
            let stored = planted!("pool-magazine-twice": depot.pop() => depot.last().copied());
            drop(depot);
            loaded = stored.unwrap_or_else(|| carve(class, MAGAZINE_BLOCKS));
        }
        rack.load(loaded);
        acquire(class, Layout::new::<()>())
    }

    /// Takes a block back when the loaded magazine has no room.
    #[cold]
    fn unload(rack: &Rack, class: usize, block: NonNull<u8>) {
        let mut single = Magazine::EMPTY;
        single.push(block);
        if stays() {
            deposit(class, rack.spare.replace(rack.unload()));
            rack.load(single);
        } else {
            deposit(class, single);
        }
    }

    /// Makes `count` new blocks, which are handed out in the order of their addresses.
    #[cold]
    fn carve(class: usize, count: usize) -> Magazine {
        let bytes = CLASS_BYTES[class];
        let layout = Layout::from_size_align(bytes * count, BLOCK_ALIGN).expect("a valid layout");
        let chunk = fresh(layout);
        let mut magazine = Magazine::EMPTY;
        for index in (0..count).rev() {
            // SAFETY: the chunk is `count` blocks long.
            magazine.push(unsafe { chunk.add(index * bytes) });
        }
        magazine
    }

    #[cold]
    fn deposit(class: usize, magazine: Magazine) {
        if magazine.count > 0 {
            DEPOT[class].lock().push(magazine);
        }
    }
}
