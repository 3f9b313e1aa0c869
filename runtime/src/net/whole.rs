//! The frame that is being decoded as a whole, so that an argument may keep its memory instead of a copy.
//!
//! serde and codecs hand on slices. So the frame is noted for the running thread while it is taken apart, and whoever
//! wants bytes to keep asks for the part of it that they have. Short frames are copied: that costs less than to share
//! them, and their memory is used again.

use super::frame_buf::FrameBuf;
use crate::sync::{Arc, planted, thread_local};
use bytes::Bytes;
use std::cell::Cell;
use std::ops::Range;

/// The least that is worth keeping.
const KEPT_BYTES_MIN: usize = 1024;

thread_local! {
    static WHOLE: Cell<Option<Arc<FrameBuf>>> = const { Cell::new(None) };
}

/// Notes what is taken apart by `work`.
pub(super) fn noted<T>(whole: &Arc<FrameBuf>, work: impl FnOnce() -> T) -> T {
    /// Forgets it, also when a codec panics.
    struct Noted;
    impl Drop for Noted {
        fn drop(&mut self) {
            WHOLE.with(Cell::take);
        }
    }
    if whole.len() < KEPT_BYTES_MIN {
        return work();
    }
    WHOLE.with(|noted| noted.set(Some(whole.clone())));
    let _noted = Noted;
    work()
}

/// A part of a frame, with the frame's memory; or a copy.
pub(super) struct Part {
    whole: Arc<FrameBuf>,
    place: Range<usize>,
}

impl Part {
    /// These bytes to keep.
    pub(super) fn of(bytes: &[u8]) -> Self {
        Self::noted(bytes).unwrap_or_else(|| Self {
            whole: Arc::new(bytes.to_vec().into()),
            place: 0..bytes.len(),
        })
    }

    /// A part of the noted frame, if it is most of the frame's memory, so that no more than twice its own is kept; or if that is
    /// lent, for whoever lends it knows how much of that there may be.
    fn noted(bytes: &[u8]) -> Option<Self> {
        WHOLE.with(|noted| {
            let whole = noted.take();
            let part = whole.as_ref().and_then(|whole| Self::of_most(whole, bytes));
            noted.set(whole);
            part
        })
    }

    fn of_most(whole: &Arc<FrameBuf>, bytes: &[u8]) -> Option<Self> {
        let (inner, outer) = (bytes.as_ptr_range(), whole.as_ptr_range());
        let is_inside = outer.start <= inner.start && inner.end <= outer.end;
        let is_most = whole.is_lent() || bytes.len() * 2 >= whole.capacity();
        let is_worth_it = bytes.len() >= KEPT_BYTES_MIN && is_most;
        if !is_inside || planted!("net-whole-for-little": !is_worth_it => false) {
            return None;
        }
        let start = inner.start.addr() - outer.start.addr();
        Some(Self { whole: whole.clone(), place: start..start + bytes.len() })
    }

    /// Bytes of memory that nobody else has while this is kept. What is lent may be many others' as well, and there is
    /// only so much of it.
    pub(super) fn held(&self) -> usize {
        if self.whole.is_lent() { self.place.len() } else { self.whole.capacity() }
    }

    /// What it lies in.
    pub(super) const fn whole(&self) -> &Arc<FrameBuf> {
        &self.whole
    }
}

impl AsRef<[u8]> for Part {
    fn as_ref(&self) -> &[u8] {
        self.whole.get(self.place.clone()).unwrap_or_default()
    }
}

/// These bytes to keep, in the memory of the noted frame where that is not much more than they take.
pub(super) fn keep(bytes: &[u8]) -> Bytes {
    Part::noted(bytes).map_or_else(|| Bytes::copy_from_slice(bytes), Bytes::from_owner)
}
