//! Names in a sharded map.

use crate::task::cell::{CellRef, Header};
use dashmap::DashMap;
use dashmap::mapref::entry::Entry;
use std::ptr::NonNull;

/// See the [module](super).
#[derive(Debug)]
pub(crate) struct Names(DashMap<String, CellRef>);

impl Names {
    pub(crate) fn new() -> Self {
        Self(DashMap::new())
    }

    /// Gives the actor the name; `false` when it is taken.
    pub(crate) fn claim(&self, name: &str, cell: &CellRef) -> bool {
        match self.0.entry(name.to_owned()) {
            Entry::Occupied(_) => false,
            Entry::Vacant(free) => {
                free.insert(cell.clone());
                true
            }
        }
    }

    /// The actor with the name.
    pub(crate) fn find(&self, name: &str) -> Option<CellRef> {
        self.0.get(name).map(|named| named.value().clone())
    }

    /// Frees the name, if it is that actor's.
    pub(crate) fn release(&self, name: &str, cell: NonNull<Header>) {
        let released = self.0.remove_if(name, |_, named| named.as_ptr() == cell);
        // The reference may be the last one, and frees the cell then: not under the map's lock.
        drop(released);
    }

    /// The name of an actor, if it has one. Looks at every name.
    pub(crate) fn of(&self, cell: &CellRef) -> Option<String> {
        self.0.iter().find(|named| named.value() == cell).map(|named| named.key().clone())
    }
}
