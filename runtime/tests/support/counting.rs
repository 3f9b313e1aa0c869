//! An allocator that counts, for programs that measure the whole process.

#![allow(dead_code, reason = "each test program uses a part of it")]

use std::alloc::{GlobalAlloc, Layout, System as Heap};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Passes everything on to the system's allocator, and counts it.
struct Counting;

/// Allocations since the start, bytes that are in use, and the most that were since somebody set it back.
pub(crate) static ALLOCATIONS: AtomicUsize = AtomicUsize::new(0);
pub(crate) static BYTES: AtomicUsize = AtomicUsize::new(0);
pub(crate) static PEAK: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call is passed on as it is. `realloc` and `alloc_zeroed` are the default ones, which
// come here.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        let before = BYTES.fetch_add(layout.size(), Ordering::Relaxed);
        PEAK.fetch_max(before + layout.size(), Ordering::Relaxed);
        // SAFETY: the caller's promise.
        unsafe { Heap.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        BYTES.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller's promise; the block came from `alloc`.
        unsafe { Heap.dealloc(block, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;
