//! The children of the system itself.

use super::cell::{CellRef, Header};
use super::siblings::Siblings;
use super::told::Told;
use crate::queue::gate::{Gate, Leave};
use crate::sync::CachePadded;
use std::ptr::NonNull;

/// Lists of the system's own children; more than one, so that spawning threads seldom meet.
const ROOT_LISTS: u64 = 16;

/// See the [module](self).
pub(crate) struct Roots {
    lists: Box<[CachePadded<Siblings>]>,
    /// Counts them; sealed when no more may come.
    pub(super) gate: Gate,
    /// Told when the last child has ended.
    pub(super) empty: Told,
}

impl Roots {
    pub(super) fn new() -> Self {
        Self {
            lists: (0..ROOT_LISTS).map(|_| CachePadded(Siblings::new())).collect(),
            gate: Gate::new(),
            empty: Told::default(),
        }
    }

    fn list(&self, header: &Header) -> &Siblings {
        &self.lists[usize::try_from(header.id % ROOT_LISTS).expect("fewer than sixteen")]
    }

    /// Adds a cell; otherwise the system takes no more, and `Err(true)` says that the workers are to
    /// end now.
    pub(super) fn add(&self, cell: &CellRef) -> Result<(), bool> {
        let list = self.list(cell);
        // SAFETY: the cell is live and in no list.
        let entered = self.gate.enter(|| list.lock(), |list| unsafe { list.link(cell.as_ptr()) });
        entered.map_err(|leave| self.tell(leave))
    }

    /// Removes a cell that has ended; `true` if the workers are to end now.
    pub(super) fn remove(&self, header: NonNull<Header>) -> bool {
        // SAFETY: the caller, who ends the cell, still holds a reference.
        let list = self.list(unsafe { header.as_ref() });
        // SAFETY: it was put there when it was made.
        unsafe { list.lock().unlink(header) };
        self.tell(self.gate.leave())
    }

    fn tell(&self, leave: Leave) -> bool {
        if leave != Leave::Others {
            self.empty.tell();
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
        self.lists.iter().flat_map(|list| list.lock().all()).collect()
    }
}
