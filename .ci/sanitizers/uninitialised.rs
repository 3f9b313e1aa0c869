//! A planted fault: a decision about a word that was never written. Memcheck must report it.

use std::alloc::{Layout, alloc, dealloc};

#[test]
fn asks_a_word_that_was_never_written() {
    let layout = Layout::new::<u64>();
    // SAFETY: a word has a size.
    let word = unsafe { alloc(layout) }.cast::<u64>();
    // SAFETY: none; that is the fault.
    let text = if unsafe { word.read_volatile() } == 7 { "seven" } else { "another" };
    println!("{text}");
    // SAFETY: the block is that of above.
    unsafe { dealloc(word.cast(), layout) };
}
