//! The twin for systematic tests: maps behind locks that the sync door lets them watch.

use crate::sync::{CachePadded, Mutex};
use crate::task::cell::{CellRef, Header};
use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ptr::NonNull;

const MAPS: u64 = 16;

type Map = BTreeMap<String, CellRef>;

/// As `dash::Names`.
#[derive(Debug)]
pub(crate) struct Names(Box<[CachePadded<Mutex<Map>>]>);

impl Names {
    pub(crate) fn new() -> Self {
        Self((0..MAPS).map(|_| CachePadded(Mutex::new(Map::new()))).collect())
    }

    fn map(&self, name: &str) -> &Mutex<Map> {
        let mut hasher = DefaultHasher::new();
        name.hash(&mut hasher);
        &self.0[usize::try_from(hasher.finish() % MAPS).expect("fewer than sixteen")]
    }

    /// Gives the actor the name; `false` when it is taken.
    pub(crate) fn claim(&self, name: &str, cell: &CellRef) -> bool {
        let mut map = self.map(name).lock();
        let is_free = !map.contains_key(name);
        if is_free {
            map.insert(name.to_owned(), cell.clone());
        }
        is_free
    }

    /// The actor with the name.
    pub(crate) fn find(&self, name: &str) -> Option<CellRef> {
        self.map(name).lock().get(name).cloned()
    }

    /// Frees the name, if it is that actor's.
    pub(crate) fn release(&self, name: &str, cell: NonNull<Header>) {
        let mut map = self.map(name).lock();
        let is_its = map.get(name).is_some_and(|named| named.as_ptr() == cell);
        let released = if is_its { map.remove(name) } else { None };
        drop(map);
        // The reference may be the last one, and frees the cell then: not under the lock.
        drop(released);
    }

    /// The name of an actor, if it has one. Looks at every name.
    pub(crate) fn of(&self, cell: &CellRef) -> Option<String> {
        self.0.iter().find_map(|map| {
            let map = map.lock();
            map.iter().find(|(_, named)| *named == cell).map(|(name, _)| name.clone())
        })
    }
}
