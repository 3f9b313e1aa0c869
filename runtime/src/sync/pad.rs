//! Keeps what one thread writes off the cache lines that another reads.

use std::ops::Deref;

/// A value on cache lines of its own: 128 bytes, because x86 prefetches lines in pairs.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct CachePadded<T>(pub(crate) T);

impl<T> Deref for CachePadded<T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        &self.0
    }
}
