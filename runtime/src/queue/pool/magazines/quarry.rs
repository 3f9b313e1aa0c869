//! Memory that blocks are carved from.
//!
//! A class that has taken little takes what it needs from the global allocator. One that has taken much takes pieces
//! of a quarter of that, or smaller ones where there is not so much, and cuts them up as blocks are needed. What was
//! cut is written to at once, so the system is asked for its pages in one call: most of what new memory costs are the
//! faults, of which there would be one for each page. A page that nothing was cut from is not there yet. Figures are
//! in `book/src/decisions/0036-births.md`.

use super::{BLOCK_ALIGN, Layout, NonNull, try_fresh};

/// Bytes of the smallest piece; others are a multiple of it.
const PIECE: usize = 2 << 20;
/// How pieces are aligned, and what the system is asked for. Where its pages are larger, it says no.
const PAGE: usize = 4096;
/// Which part of what a class has taken its next piece is.
const PART: usize = 4;

/// What the blocks of one class are carved from.
pub(super) struct Quarry {
    /// What is left of the latest piece.
    next: *mut u8,
    left: usize,
    /// All that was taken, in bytes.
    taken: usize,
}

// SAFETY: a quarry owns the rest of its piece; nobody else holds a pointer to it.
unsafe impl Send for Quarry {}

impl Quarry {
    pub(super) const fn new() -> Self {
        Self { next: std::ptr::null_mut(), left: 0, taken: 0 }
    }

    /// Room for `count` blocks of `bytes` each, or for fewer, but for one at least; and for how many. Nothing, if the
    /// caller is to allocate it.
    pub(super) fn cut(&mut self, bytes: usize, count: usize) -> Option<(NonNull<u8>, usize)> {
        if self.left < bytes && !self.open() {
            self.taken += bytes * count;
            return None;
        }
        let count = count.min(self.left / bytes);
        let cut = NonNull::new(self.next).expect("a piece is open");
        self.left -= bytes * count;
        // SAFETY: the piece has that many bytes more.
        self.next = unsafe { self.next.add(bytes * count) };
        Some((cut, count))
    }

    /// Opens a piece, if it is time for one: half of it, and so on, where there is no such memory. Otherwise `false`.
    #[cold]
    fn open(&mut self) -> bool {
        let mut bytes = self.taken / PART / PIECE * PIECE;
        while bytes > 0 {
            let layout = Layout::from_size_align(bytes, PAGE).expect("a valid layout");
            if let Some(piece) = try_fresh(layout) {
                (self.next, self.left) = (piece.as_ptr(), bytes);
                self.taken += bytes;
                return true;
            }
            bytes = bytes / 2 / PIECE * PIECE;
        }
        false
    }
}

/// Asks for the pages of what was cut, which is about to be written to.
#[cfg(all(target_os = "linux", not(miri)))]
pub(super) fn populate(cut: NonNull<u8>, bytes: usize) {
    let ahead = cut.addr().get() % PAGE;
    // By both roundings it stays in the piece, which is aligned to pages and made of them.
    let pages = cut.as_ptr().wrapping_sub(ahead).cast();
    let bytes = (ahead + bytes).next_multiple_of(PAGE);
    // An error means that each page comes when it is written to.
    // SAFETY: the pages are there to be written to, and what is in them stays.
    let _ = unsafe { libc::madvise(pages, bytes, libc::MADV_POPULATE_WRITE) };
}

#[cfg(not(all(target_os = "linux", not(miri))))]
pub(super) fn populate(_cut: NonNull<u8>, _bytes: usize) {}

const _: () = assert!(PAGE.is_multiple_of(BLOCK_ALIGN), "pieces are aligned for blocks");

#[cfg(test)]
mod tests;
