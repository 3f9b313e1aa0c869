//! A list of actors that others put on it, and that their ends take off it.
//!
//! Reading takes a list that is shared until the next change, so that nobody is called, and nothing
//! dropped, under the lock: an actor that has ended already is reported to the roster at once, by the
//! very thread that puts it on the list.

use super::control::{self, Order};
use super::watchers::{TentativeWatch, Watcher};
use crate::sync::{Arc, Mutex, planted};
use crate::task::cell::CellRef;
use std::collections::BTreeMap;

/// The entries of a roster at some moment, in the order in which they were put on it.
pub(super) type Snapshot<E> = Arc<Vec<Arc<Entry<E>>>>;

/// An actor, and what is noted of it.
pub(super) struct Entry<E> {
    cell: CellRef,
    /// Of the watch that takes it off the list.
    watch: u64,
    pub(super) note: E,
}

impl<E> Entry<E> {
    /// Whether the actor accepts no more mail.
    pub(super) fn is_closed(&self) -> bool {
        self.cell.inbox.is_closed()
    }
}

/// See the [module](self). Clones are the same roster.
pub(super) struct Roster<E>(Arc<Mutex<Listed<E>>>);

struct Listed<E> {
    /// The number of the next entry.
    next: u64,
    by_number: BTreeMap<u64, Arc<Entry<E>>>,
    /// Numbers by the address of the cell, which lives while it is on the list.
    by_cell: BTreeMap<usize, u64>,
    snapshot: Option<Snapshot<E>>,
}

impl<E: Send + Sync + 'static> Roster<E> {
    pub(super) fn new() -> Self {
        let (by_number, by_cell) = (BTreeMap::new(), BTreeMap::new());
        Self(Arc::new(Mutex::new(Listed { next: 0, by_number, by_cell, snapshot: None })))
    }

    /// Puts an actor on the list until it ends; `false` if it is there already or has ended.
    pub(super) fn add(&self, cell: &CellRef, note: E) -> bool {
        if cell.inbox.is_closed() {
            return false;
        }
        let watch = cell.core.next_id();
        let Some(number) = self.insert(cell, Entry { cell: cell.clone(), watch, note }) else {
            return false;
        };
        self.watch(cell, number, watch);
        true
    }

    /// Has the actor's end take its entry off the list. Whoever takes that off first takes the watch back, too, by an order
    /// that may come to the actor before this one: then nothing is to be watched.
    fn watch(&self, cell: &CellRef, number: u64, watch: u64) {
        let roster = self.clone();
        let tell = Box::new(move |_| roster.take_off(number));
        let (by, target) = (Some(cell.clone()), cell.actor_id());
        let watcher = Watcher { id: watch, by, target, tell };
        let roster = self.clone();
        let is_wanted =
            Box::new(move || planted!("roster-watch-stays": roster.has(number) => true));
        control::send(cell, Order::WatchIfWanted(Box::new(TentativeWatch { watcher, is_wanted })));
    }

    fn has(&self, number: u64) -> bool {
        self.0.lock().by_number.contains_key(&number)
    }

    fn insert(&self, cell: &CellRef, entry: Entry<E>) -> Option<u64> {
        let mut listed = self.0.lock();
        let (address, number) = (cell.as_ptr().addr().get(), listed.next);
        if listed.by_cell.contains_key(&address) {
            return None;
        }
        listed.next += 1;
        listed.by_cell.insert(address, number);
        listed.by_number.insert(number, Arc::new(entry));
        let old = listed.snapshot.take();
        drop(listed);
        drop(old);
        Some(number)
    }

    /// Takes an actor off the list; `false` if it is not there.
    pub(super) fn remove(&self, cell: &CellRef) -> bool {
        let address = cell.as_ptr().addr().get();
        let number = self.0.lock().by_cell.get(&address).copied();
        let Some(entry) = number.and_then(|number| self.take(number)) else { return false };
        control::send(cell, Order::Unwatch { id: entry.watch, by: Some(cell.clone()) });
        true
    }

    fn take_off(&self, number: u64) {
        drop(self.take(number));
    }

    fn take(&self, number: u64) -> Option<Arc<Entry<E>>> {
        let mut listed = self.0.lock();
        let entry = listed.by_number.remove(&number)?;
        listed.by_cell.remove(&entry.cell.as_ptr().addr().get());
        let old = listed.snapshot.take();
        drop(listed);
        drop(old);
        Some(entry)
    }

    /// Everybody on the list.
    pub(super) fn snapshot(&self) -> Snapshot<E> {
        let mut listed = self.0.lock();
        let Listed { by_number, snapshot, .. } = &mut *listed;
        snapshot.get_or_insert_with(|| Arc::new(by_number.values().cloned().collect())).clone()
    }
}

impl<E> Clone for Roster<E> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests;
