//! The frame that is being decoded as a whole, so that an argument may keep its memory instead of a copy.
//!
//! serde and codecs hand on slices. So the frame is noted for the running thread while it is taken apart, and whoever
//! wants bytes to keep asks for the part of it that they have. Short frames are copied: that costs less than to share
//! them, and their memory is used again.

use crate::sync::{planted, thread_local};
use bytes::Bytes;
use std::cell::Cell;

/// The least that is worth keeping.
const KEPT_BYTES_MIN: usize = 1024;

thread_local! {
    static WHOLE: Cell<Option<Bytes>> = const { Cell::new(None) };
}

/// Has `work` take a frame apart. If no argument has kept the frame, its memory stays in it, to be used again.
pub(super) fn taken_apart<T>(frame: &mut Vec<u8>, work: impl FnOnce(&[u8]) -> T) -> T {
    if frame.len() < KEPT_BYTES_MIN {
        return work(frame);
    }
    let whole = Bytes::from(std::mem::take(frame));
    let outcome = noted(&whole, || work(&whole));
    if let Ok(mut unused) = whole.try_into_mut() {
        unused.clear();
        *frame = unused.into();
    }
    outcome
}

/// Notes what is taken apart by `work`.
pub(super) fn noted<T>(whole: &Bytes, work: impl FnOnce() -> T) -> T {
    /// Forgets it, also when a codec panics.
    struct Noted;
    impl Drop for Noted {
        fn drop(&mut self) {
            WHOLE.with(Cell::take);
        }
    }
    WHOLE.with(|noted| noted.set(Some(whole.clone())));
    let _noted = Noted;
    work()
}

/// These bytes to keep: a part of the noted frame if they are most of it, so that no more than twice their memory is
/// kept, or else a copy.
pub(super) fn keep(part: &[u8]) -> Bytes {
    let kept = WHOLE.with(|noted| {
        let whole = noted.take();
        let kept = whole.as_ref().filter(|whole| is_most(part, whole));
        let kept = kept.map(|whole| whole.slice_ref(part));
        noted.set(whole);
        kept
    });
    kept.unwrap_or_else(|| Bytes::copy_from_slice(part))
}

fn is_most(part: &[u8], whole: &Bytes) -> bool {
    let (inner, outer) = (part.as_ptr_range(), whole.as_ptr_range());
    let is_inside = outer.start <= inner.start && inner.end <= outer.end;
    let is_long = part.len() >= KEPT_BYTES_MIN && part.len() * 2 >= whole.len();
    is_inside && planted!("net-whole-for-little": is_long => true)
}
