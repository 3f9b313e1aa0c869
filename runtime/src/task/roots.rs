//! Siblings, linked through their headers: the children of the system, and those of an actor.

use super::cell::{CellRef, Header, Links};
use crate::queue::gate::{Gate, Leave};
use crate::sync::{CachePadded, Mutex};
use std::ptr::NonNull;

/// Lists of the system's own children; more than one, so that spawning threads seldom meet.
const ROOT_LISTS: u64 = 16;

/// The children of the system itself, linked through their headers.
pub(crate) struct Roots {
    lists: Box<[CachePadded<Mutex<RootList>>]>,
    /// Counts them; sealed when no more may come.
    pub(super) gate: Gate,
    /// Told when the last child has ended.
    pub(super) empty: tokio::sync::Notify,
}

struct RootList(Option<NonNull<Header>>);

// SAFETY: the list owns no more than addresses of live cells, which are shared anyway.
unsafe impl Send for RootList {}

impl Roots {
    pub(super) fn new() -> Self {
        Self {
            lists: (0..ROOT_LISTS).map(|_| CachePadded(Mutex::new(RootList(None)))).collect(),
            gate: Gate::new(),
            empty: tokio::sync::Notify::new(),
        }
    }

    fn list(&self, header: &Header) -> &Mutex<RootList> {
        &self.lists[usize::try_from(header.id % ROOT_LISTS).expect("fewer than sixteen")]
    }

    /// Adds a cell; otherwise the system takes no more, and `Err(true)` says that the workers are to
    /// end now.
    pub(super) fn add(&self, cell: &CellRef) -> Result<(), bool> {
        // SAFETY: the links of a root are guarded by its list's lock.
        let entered = self.gate.enter(self.list(cell), |list| unsafe {
            link(&mut list.0, cell.as_ptr());
        });
        entered.map_err(|leave| self.tell(leave))
    }

    /// Removes a cell that has ended; `true` if the workers are to end now.
    pub(super) fn remove(&self, header: NonNull<Header>) -> bool {
        // SAFETY: the caller, who ends the cell, still holds a reference.
        let mut list = self.list(unsafe { header.as_ref() }).lock();
        // SAFETY: the links of a root are guarded by its list's lock.
        unsafe { unlink(&mut list.0, header) };
        drop(list);
        self.tell(self.gate.leave())
    }

    fn tell(&self, leave: Leave) -> bool {
        if leave != Leave::Others {
            self.empty.notify_waiters();
        }
        leave == Leave::Orphan
    }

    /// Refuses every later child.
    pub(crate) fn seal(&self) {
        self.gate.seal();
    }

    /// Children that have not ended.
    pub(crate) fn count(&self) -> usize {
        self.gate.count()
    }

    /// References to all children, at some moment during the call.
    pub(crate) fn all(&self) -> Vec<CellRef> {
        // SAFETY: the lock that guards the list is held.
        self.lists.iter().flat_map(|list| unsafe { listed(list.lock().0) }).collect()
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

/// References to all cells of a list of siblings.
///
/// # Safety
/// The caller guards the list.
pub(crate) unsafe fn listed(first: Option<NonNull<Header>>) -> Vec<CellRef> {
    let mut cells = Vec::new();
    let mut next = first;
    while let Some(cell) = next {
        // SAFETY: a listed cell holds a reference to itself, or is about to be taken out.
        cells.push(unsafe { CellRef::to(cell) });
        // SAFETY: as above; the caller guards the list.
        next = unsafe { links(cell) }.next;
    }
    cells
}

/// Puts `cell` at the front of a list of siblings.
///
/// # Safety
/// The caller guards the list, and `cell` is live and in none.
pub(crate) unsafe fn link(first: &mut Option<NonNull<Header>>, cell: NonNull<Header>) {
    if let Some(next) = *first {
        // SAFETY: the list links live cells, and the caller guards it.
        unsafe { links(next) }.previous = Some(cell);
    }
    // SAFETY: the caller's promise.
    *unsafe { links(cell) } = Links { previous: None, next: *first };
    *first = Some(cell);
}

/// Takes `cell` out of a list of siblings.
///
/// # Safety
/// The caller guards the list, and `cell` is in it.
pub(crate) unsafe fn unlink(first: &mut Option<NonNull<Header>>, cell: NonNull<Header>) {
    // SAFETY: the list links live cells, and the caller guards it.
    let Links { previous, next } = *unsafe { links(cell) };
    if let Some(next) = next {
        // SAFETY: as above.
        unsafe { links(next) }.previous = previous;
    }
    match previous {
        // SAFETY: as above.
        Some(previous) => unsafe { links(previous) }.next = next,
        None => *first = next,
    }
}
