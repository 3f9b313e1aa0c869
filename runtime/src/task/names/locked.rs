//! The twin for systematic tests: maps behind locks that the sync door lets them watch.

use crate::sync::{CachePadded, Mutex};
use crate::task::cell::{CellRef, Header};
use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ptr::NonNull;

const MAPS: u64 = 16;

type Map = BTreeMap<String, Option<CellRef>>;

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

    /// Keeps the name from everybody else, so that [`Names::publish`] can give it to an actor; `false`
    /// when it is taken.
    pub(crate) fn reserve(&self, name: &str) -> bool {
        let mut map = self.map(name).lock();
        let is_free = !map.contains_key(name);
        if is_free {
            map.insert(name.to_owned(), None);
        }
        is_free
    }

    /// Frees a name that was reserved and not published.
    pub(crate) fn give_back(&self, name: &str) {
        let mut map = self.map(name).lock();
        if map.get(name).is_some_and(Option::is_none) {
            map.remove(name);
        }
    }

    /// Lets the actor be found under a name that was reserved for it.
    pub(crate) fn publish(&self, name: &str, cell: &CellRef) {
        if let Some(named) = self.map(name).lock().get_mut(name) {
            *named = Some(cell.clone());
        }
    }

    /// How many names are taken.
    pub(crate) fn count(&self) -> usize {
        self.0.iter().map(|map| map.lock().len()).sum()
    }

    /// The actor with the name.
    pub(crate) fn find(&self, name: &str) -> Option<CellRef> {
        self.map(name).lock().get(name).cloned().flatten()
    }

    /// Frees the name, if it is that actor's.
    pub(crate) fn release(&self, name: &str, cell: NonNull<Header>) {
        let mut map = self.map(name).lock();
        let is_its = map.get(name).is_some_and(|named| is_of(named.as_ref(), cell));
        let released = if is_its { map.remove(name) } else { None };
        drop(map);
        // The reference may be the last one, and frees the cell then: not under the lock.
        drop(released);
    }

    /// The name of an actor, if it has one. Looks at every name.
    pub(crate) fn of(&self, cell: &CellRef) -> Option<String> {
        self.0.iter().find_map(|map| {
            let map = map.lock();
            let mut names = map.iter();
            let its = names.find(|(_, named)| is_of(named.as_ref(), cell.as_ptr()));
            its.map(|(name, _)| name.clone())
        })
    }
}

fn is_of(named: Option<&CellRef>, cell: NonNull<Header>) -> bool {
    named.is_some_and(|named| named.as_ptr() == cell)
}
