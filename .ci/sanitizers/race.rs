//! A planted fault: two threads write one plain word. ThreadSanitizer must report it.

use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

struct Slot(UnsafeCell<u64>);

// SAFETY: none; that is the fault.
unsafe impl Sync for Slot {}

static SLOT: Slot = Slot(UnsafeCell::new(0));
static READY: AtomicUsize = AtomicUsize::new(0);

#[test]
fn two_threads_write_one_word() {
    let threads = [thread::spawn(write), thread::spawn(write)];
    for thread in threads {
        thread.join().expect("the writes succeed");
    }
}

fn write() {
    // Relaxed: the threads shall run together, and nothing shall order them.
    READY.fetch_add(1, Ordering::Relaxed);
    while READY.load(Ordering::Relaxed) < 2 {
        thread::yield_now();
    }
    for _ in 0..1000 {
        // SAFETY: none; that is the fault.
        unsafe { *SLOT.0.get() += 1 };
    }
}
