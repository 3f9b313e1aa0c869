//! Blocks that are recycled, as the [pool](super)'s invariants say.

mod quarry;

use super::{BLOCK_ALIGN, CLASS_BYTES, Layout, NonNull, fresh, try_fresh};
use crate::sync::{Mutex, planted};
use quarry::Quarry;
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

/// What no thread keeps of one class.
struct Depot {
    magazines: Vec<Magazine>,
    quarry: Quarry,
}

impl Depot {
    const fn new() -> Self {
        Self { magazines: Vec::new(), quarry: Quarry::new() }
    }
}

static DEPOT: [Mutex<Depot>; CLASS_BYTES.len()] =
    [const { Mutex::new(Depot::new()) }; CLASS_BYTES.len()];

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
        let magazines = &mut depot.magazines;
        let stored = planted!("pool-magazine-twice": magazines.pop() => magazines.last().copied());
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

/// Makes `count` new blocks or fewer, which are handed out in the order of their addresses.
#[cold]
fn carve(class: usize, count: usize) -> Magazine {
    let bytes = CLASS_BYTES[class];
    let cut = DEPOT[class].lock().quarry.cut(bytes, count);
    let (chunk, count) = match cut {
        Some((cut, count)) => {
            quarry::populate(cut, bytes * count);
            (cut, count)
        }
        None => {
            let layout =
                Layout::from_size_align(bytes * count, BLOCK_ALIGN).expect("a valid layout");
            (fresh(layout), count)
        }
    };
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
        DEPOT[class].lock().magazines.push(magazine);
    }
}

#[cfg(test)]
mod tests;
