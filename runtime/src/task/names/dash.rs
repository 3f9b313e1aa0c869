//! Names in a sharded map.

use crate::task::cell::{CellRef, Header};
use dashmap::DashMap;
use dashmap::mapref::entry::Entry;
use std::ptr::NonNull;

/// See the [module](super).
#[derive(Debug)]
pub(crate) struct Names(DashMap<String, Option<CellRef>>);

impl Names {
    pub(crate) fn new() -> Self {
        Self(DashMap::new())
    }

    /// Keeps the name from everybody else, so that [`Names::publish`] can give it to an actor; `false`
    /// when it is taken.
    pub(crate) fn reserve(&self, name: &str) -> bool {
        match self.0.entry(name.to_owned()) {
            Entry::Occupied(_) => false,
            Entry::Vacant(free) => {
                free.insert(None);
                true
            }
        }
    }

    /// Frees a name that was reserved and not published.
    pub(crate) fn give_back(&self, name: &str) {
        self.0.remove_if(name, |_, named| named.is_none());
    }

    /// Lets the actor be found under a name that was reserved for it.
    pub(crate) fn publish(&self, name: &str, cell: &CellRef) {
        if let Some(mut named) = self.0.get_mut(name) {
            *named = Some(cell.clone());
        }
    }

    /// The actor with the name.
    pub(crate) fn find(&self, name: &str) -> Option<CellRef> {
        self.0.get(name).and_then(|named| named.value().clone())
    }

    /// Frees the name, if it is that actor's.
    pub(crate) fn release(&self, name: &str, cell: NonNull<Header>) {
        let released = self.0.remove_if(name, |_, named| is_of(named.as_ref(), cell));
        // The reference may be the last one, and frees the cell then: not under the map's lock.
        drop(released);
    }

    /// How many names are taken.
    pub(crate) fn count(&self) -> usize {
        self.0.len()
    }

    /// The name of an actor, if it has one. Looks at every name.
    pub(crate) fn of(&self, cell: &CellRef) -> Option<String> {
        let is_its = |named: &Option<CellRef>| is_of(named.as_ref(), cell.as_ptr());
        self.0.iter().find(|named| is_its(named.value())).map(|named| named.key().clone())
    }
}

fn is_of(named: Option<&CellRef>, cell: NonNull<Header>) -> bool {
    named.is_some_and(|named| named.as_ptr() == cell)
}
