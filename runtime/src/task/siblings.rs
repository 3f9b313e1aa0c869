//! Siblings, linked through their headers: the children of the system, and those of an actor.

use super::cell::{CellRef, Header, Links};
use crate::queue::locked_ptr::{Guard, LockedPtr};
use std::ptr::{self, NonNull};

/// A list of siblings, the newest first: one word, which is its lock too.
pub(crate) struct Siblings(LockedPtr<Header>);

// SAFETY: the list owns no more than addresses of live cells, which are shared anyway.
unsafe impl Send for Siblings {}
// SAFETY: as above; the links are used by who holds the lock.
unsafe impl Sync for Siblings {}

/// The list, for who holds its lock.
#[must_use = "the list is unlocked at once"]
pub(crate) struct Listed<'a>(Guard<'a, Header>);

impl Siblings {
    /// Nobody.
    pub(crate) fn new() -> Self {
        Self(LockedPtr::new())
    }

    /// Waits for whoever links, takes out or lists some.
    #[inline]
    pub(crate) fn lock(&self) -> Listed<'_> {
        Listed(self.0.lock())
    }
}

impl Listed<'_> {
    /// The newest of them.
    fn first(&self) -> Option<NonNull<Header>> {
        NonNull::new(self.0.pointer)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.first().is_none()
    }

    /// References to all of them.
    pub(crate) fn all(&self) -> Vec<CellRef> {
        let mut cells = Vec::new();
        let mut next = self.first();
        while let Some(cell) = next {
            // SAFETY: a listed cell holds a reference to itself, or is about to be taken out.
            cells.push(unsafe { CellRef::to(cell) });
            // SAFETY: as above; the lock is held.
            next = unsafe { links(cell) }.next;
        }
        cells
    }

    /// Puts `cell` at the front.
    ///
    /// # Safety
    /// `cell` is live and in no list.
    pub(crate) unsafe fn link(&mut self, cell: NonNull<Header>) {
        let next = self.first();
        if let Some(next) = next {
            // SAFETY: the list links live cells, and its lock is held.
            unsafe { links(next) }.previous = Some(cell);
        }
        // SAFETY: the caller's promise.
        *unsafe { links(cell) } = Links { previous: None, next };
        self.0.pointer = cell.as_ptr();
    }

    /// Takes `cell` out.
    ///
    /// # Safety
    /// `cell` is in the list.
    pub(crate) unsafe fn unlink(&mut self, cell: NonNull<Header>) {
        // SAFETY: the list links live cells, and its lock is held.
        let Links { previous, next } = *unsafe { links(cell) };
        if let Some(next) = next {
            // SAFETY: as above.
            unsafe { links(next) }.previous = previous;
        }
        match previous {
            // SAFETY: as above.
            Some(previous) => unsafe { links(previous) }.next = next,
            None => self.0.pointer = next.map_or(ptr::null_mut(), NonNull::as_ptr),
        }
    }
}

/// The neighbours of a cell.
///
/// # Safety
/// The cell is live, the caller guards its list, and uses the reference for one step only.
unsafe fn links<'a>(cell: NonNull<Header>) -> &'a mut Links {
    // SAFETY: the caller's promise.
    let links = unsafe { cell.as_ref() }.links.with_mut(|links| links);
    // SAFETY: as above.
    unsafe { &mut *links }
}
