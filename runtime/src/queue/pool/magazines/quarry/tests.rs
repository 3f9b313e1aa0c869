//! What is cut from a quarry is nobody else's, whether its pieces are small or large.

use super::{PAGE, PART, PIECE, Quarry, populate};
use crate::queue::pool::{BLOCK_ALIGN, Layout, NonNull, discard};

const BYTES: usize = 96;
const COUNT: usize = 64;

#[test]
fn little_is_left_to_the_caller_to_allocate() {
    let mut quarry = Quarry::new();
    for _ in 0..PART * PIECE / (BYTES * COUNT) {
        assert_eq!(quarry.cut(BYTES, COUNT), None);
    }
    assert!(quarry.taken < PART * PIECE, "all but a magazine");
}

#[test]
fn much_is_cut_from_pieces_without_a_gap_or_an_overlap() {
    let mut quarry = Quarry { taken: PART * PIECE, ..Quarry::new() };
    let mut pieces = Vec::<NonNull<u8>>::new();
    let mut end = 0;
    while pieces.len() < 3 {
        let taken = quarry.taken;
        let (cut, count) = quarry.cut(BYTES, COUNT).expect("a piece is large enough");
        let start = cut.addr().get();
        assert!((1..=COUNT).contains(&count), "{count} blocks");
        assert!(start.is_multiple_of(BLOCK_ALIGN), "blocks are aligned");
        populate(cut, BYTES * count);
        // SAFETY: that much was cut.
        let last = unsafe { cut.add(BYTES * count - 1) };
        // SAFETY: as above.
        unsafe { last.write(1) };
        if quarry.taken == taken {
            assert_eq!(start, end, "no gap");
        } else {
            assert!(start.is_multiple_of(PAGE), "a new piece begins");
            pieces.push(cut);
        }
        end = start + BYTES * count;
    }
    assert_eq!(quarry.taken, (PART + 3) * PIECE, "each is a quarter, in whole units");
    for piece in pieces {
        let layout = Layout::from_size_align(PIECE, PAGE).expect("a valid layout");
        // SAFETY: it came from `fresh` with this layout, and nobody uses it.
        unsafe { discard(piece, layout) };
    }
}

#[test]
#[cfg_attr(miri, ignore = "Miri refuses no memory, but ends where there is none")]
fn a_piece_that_is_not_to_be_had_is_a_smaller_one() {
    // More than any address space has.
    let most = usize::MAX / 8 / PIECE * PIECE;
    let taken = PART * most;
    let mut quarry = Quarry { taken, ..Quarry::new() };
    let (piece, count) = quarry.cut(BYTES, COUNT).expect("there is some");
    assert_eq!(count, COUNT);
    let bytes = quarry.taken - taken;
    assert!(bytes.is_multiple_of(PIECE) && bytes < most);
    assert_eq!(quarry.left, bytes - BYTES * COUNT);
    let layout = Layout::from_size_align(bytes, PAGE).expect("a valid layout");
    // SAFETY: it came from `try_fresh` with this layout, and nobody uses it.
    unsafe { discard(piece, layout) };
}
