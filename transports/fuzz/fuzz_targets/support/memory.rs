//! How much memory a parser of what others send may take.

#[path = "../../../../runtime/tests/support/counting.rs"]
mod counting;

use counting::{BYTES, PEAK};
use std::sync::atomic::Ordering;

/// Bytes that may be taken whatever the input is.
const ALWAYS: usize = 4 << 10;

/// Runs a parser, which may take so many bytes for each of the input's, and a few whatever it is: what a length claims that
/// no bytes stand for is not taken.
pub(crate) fn bounded(bytes: &[u8], each: usize, run: fn(&[u8])) {
    let before = BYTES.load(Ordering::Relaxed);
    PEAK.store(before, Ordering::Relaxed);
    run(bytes);
    let taken = PEAK.load(Ordering::Relaxed) - before;
    assert!(taken <= each * bytes.len() + ALWAYS, "{} bytes took {taken}", bytes.len());
}
