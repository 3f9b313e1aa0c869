//! Blocks of the real magazines, also where the rest of the crate does without them.

use super::{CLASS_BYTES, MAGAZINE_BLOCKS, acquire, release};
use crate::queue::pool::{BLOCK_ALIGN, Layout, NonNull};
use crate::sync::{rounds, thread};
use std::cell::Cell;
use std::sync::mpsc;

/// The class of the largest blocks.
const CLASS: usize = CLASS_BYTES.len() - 1;
const LAST_WORD: usize = CLASS_BYTES[CLASS] / size_of::<u64>() - 1;

/// A block in use, with a number in it.
struct Taken(NonNull<u64>);

// SAFETY: who has it is the only one to its block.
unsafe impl Send for Taken {}

impl Taken {
    fn new(number: u64) -> Self {
        let block = acquire(CLASS, layout()).cast::<u64>();
        assert_eq!(block.as_ptr().addr() % BLOCK_ALIGN, 0, "invariant 1");
        // SAFETY: the block has that many words, and is this one's.
        let last = unsafe { block.add(LAST_WORD) };
        // SAFETY: as above.
        unsafe { last.write(number) };
        // SAFETY: as above.
        unsafe { block.write(number) };
        Self(block)
    }

    /// Gives it back; what was in it.
    fn leave(self) -> u64 {
        // SAFETY: `new` wrote it.
        let first = unsafe { self.0.read() };
        // SAFETY: the block has that many words.
        let last = unsafe { self.0.add(LAST_WORD) };
        // SAFETY: `new` wrote it.
        assert_eq!(first, unsafe { last.read() }, "nobody else writes into it");
        // SAFETY: it came from `acquire`, and ends here.
        unsafe { release(self.0.cast(), CLASS, layout()) };
        first
    }
}

fn layout() -> Layout {
    Layout::from_size_align(CLASS_BYTES[CLASS], BLOCK_ALIGN).expect("a valid layout")
}

#[test]
fn blocks_in_use_are_nobody_elses() {
    let some = (rounds(40, 40, 2) * MAGAZINE_BLOCKS) as u64;
    let mut taken: Vec<_> = (0..some).map(Taken::new).collect();
    // Not in the order they came, so that the magazines are mixed.
    for index in (0..taken.len()).rev().step_by(3) {
        taken.swap_remove(index).leave();
    }
    taken.extend((some..2 * some).map(Taken::new));
    let mut left: Vec<_> = taken.into_iter().map(Taken::leave).collect();
    let count = left.len();
    left.sort_unstable();
    left.dedup();
    assert_eq!(left.len(), count, "each kept its own number");
}

#[test]
fn one_thread_takes_what_another_gives_back() {
    let some = rounds(100_000, 100_000, 2 * MAGAZINE_BLOCKS + 8) as u64;
    let (send, receive) = mpsc::sync_channel::<Taken>(2 * MAGAZINE_BLOCKS);
    let sender = thread::spawn(move || {
        for number in 0..some {
            send.send(Taken::new(number)).expect("a receiver");
        }
    });
    for number in 0..some {
        assert_eq!(receive.recv().expect("a sender").leave(), number);
    }
    sender.join().expect("no panic");
}

/// A thread's blocks outlive it: what it leaves goes to others, and so does what is given back while it ends.
#[test]
fn a_thread_that_ends_leaves_its_blocks_to_others() {
    /// Gives its block back when the thread's own magazines may be gone.
    struct Last(Cell<Option<Taken>>);
    impl Drop for Last {
        fn drop(&mut self) {
            assert_eq!(self.0.take().map(Taken::leave), Some(7));
            Taken::new(8).leave();
        }
    }
    thread_local!(static LAST: Last = const { Last(Cell::new(None)) });
    for _ in 0..3 {
        let thread = thread::spawn(|| {
            LAST.with(|last| last.0.set(Some(Taken::new(7))));
            Taken::new(1).leave();
        });
        thread.join().expect("no panic");
    }
    Taken::new(2).leave();
}
