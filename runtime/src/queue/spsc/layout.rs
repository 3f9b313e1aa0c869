//! Where the receiver learns that a slot holds a value.

use crate::sync::{AtomicUsize, Ordering, planted};
use std::fmt;

mod sealed {
    #[expect(unnameable_types, reason = "it cannot be named, so it cannot be implemented")]
    pub trait Sealed {}
    impl Sealed for super::Indexed {}
    impl Sealed for super::Flagged {}
}

/// How a ring tells its receiver of values: [`Indexed`] or [`Flagged`]. Not to be implemented.
pub trait Layout: sealed::Sealed + Send + Sync + fmt::Debug + 'static {
    /// Whether slots carry marks.
    #[doc(hidden)]
    const MARKS: bool;

    /// A mark that fits no position that is reached before the slot is first written.
    #[doc(hidden)]
    fn new() -> Self;

    /// Says that the value of `position` is in the slot.
    #[doc(hidden)]
    fn set(&self, position: usize);

    /// Whether the value of `position` is in the slot.
    #[doc(hidden)]
    fn is_set(&self, position: usize) -> bool;
}

/// The receiver reads an index on a line of its own; slots hold values and nothing else.
#[derive(Debug)]
pub struct Indexed(());

impl Layout for Indexed {
    const MARKS: bool = false;

    fn new() -> Self {
        Self(())
    }

    #[inline(always)]
    fn set(&self, _: usize) {}

    #[inline(always)]
    fn is_set(&self, _: usize) -> bool {
        true
    }
}

/// Each slot carries a mark beside its value: the position after the value's.
#[derive(Debug)]
pub struct Flagged(AtomicUsize);

impl Layout for Flagged {
    const MARKS: bool = true;

    fn new() -> Self {
        Self(AtomicUsize::new(0))
    }

    #[inline(always)]
    fn set(&self, position: usize) {
        // Release: publishes this slot's value and those behind it; pairs with the Acquire in `is_set`.
        let order = planted!("spsc-mark-relaxed": Ordering::Release => Ordering::Relaxed);
        self.0.store(position.wrapping_add(1), order);
    }

    #[inline(always)]
    fn is_set(&self, position: usize) -> bool {
        // Acquire: pairs with the Release in `set`.
        self.0.load(Ordering::Acquire) == position.wrapping_add(1)
    }
}
