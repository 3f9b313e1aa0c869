//! How much memory a parser of what others send may take.

use std::alloc::{GlobalAlloc, Layout, System as Heap};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Bytes that may be taken whatever the input is.
const ALWAYS: usize = 4 << 10;

/// Bytes that are in use, and the most that were since the last input.
static BYTES: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

/// Passes everything on to the system's allocator, and counts it.
struct Counting;

// SAFETY: every call is passed on as it is. `realloc` and `alloc_zeroed` are the default ones, which come here.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
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

/// Runs a parser, which may take so many bytes for each of the input's, and a few whatever it is: what a length claims that
/// no bytes stand for is not taken.
pub(crate) fn bounded(bytes: &[u8], each: usize, run: fn(&[u8])) {
    let before = BYTES.load(Ordering::Relaxed);
    PEAK.store(before, Ordering::Relaxed);
    run(bytes);
    let taken = PEAK.load(Ordering::Relaxed) - before;
    assert!(taken <= each * bytes.len() + ALWAYS, "{} bytes took {taken}", bytes.len());
}
