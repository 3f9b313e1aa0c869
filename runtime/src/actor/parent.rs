//! How an actor knows its parent.

use crate::task::cell::{CellRef, Header};
use std::mem::ManuallyDrop;
use std::ptr::NonNull;

/// The address of an actor's parent, which counts no reference: a parent waits for its last child to leave
/// before it ends, and so is there for as long as a child has not left.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Parent(NonNull<Header>);

// SAFETY: it stands for a reference, which may be sent to and used on any thread.
unsafe impl Send for Parent {}
// SAFETY: as above.
unsafe impl Sync for Parent {}

impl Parent {
    /// # Safety
    /// The value is used only while the actor at `header` runs its handler or hook, or by one of its
    /// children that has not left it.
    pub(super) unsafe fn new(header: NonNull<Header>) -> Self {
        Self(header)
    }

    /// The address of its cell.
    pub(super) fn as_ptr(self) -> NonNull<Header> {
        self.0
    }

    /// The reference that it stands for, which is not to be dropped.
    pub(super) fn borrow(self) -> ManuallyDrop<CellRef> {
        // SAFETY: the maker's promise.
        unsafe { CellRef::lent(self.0) }
    }
}
