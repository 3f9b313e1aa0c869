//! The inside of a hash or a set: few entries lie in a row in the order they came, many in a hash table.
//!
//! That is also Redis's way, and where its replies follow the order of insertion, ours do.

use hashbrown::HashTable;

use super::db::hash;
use super::value::{ALLOCATION_BYTES, shrunk};

/// Most entries kept in a row.
const ROW_LEN_MAX: usize = 128;
/// Longest name or value kept in a row.
const ROW_BYTES_MAX: usize = 64;

/// The value stored with a name: bytes in a hash, nothing in a set.
pub(crate) trait Stored {
    /// Returns its length in bytes.
    fn bytes(&self) -> usize;
}

impl Stored for () {
    fn bytes(&self) -> usize {
        0
    }
}

impl Stored for Box<[u8]> {
    fn bytes(&self) -> usize {
        self.len()
    }
}

type Entry<V> = (Box<[u8]>, V);

#[derive(Debug)]
enum Entries<V> {
    Row(Vec<Entry<V>>),
    Table(HashTable<Entry<V>>),
}

/// Names with their values.
#[derive(Debug)]
pub(crate) struct Fields<V> {
    entries: Entries<V>,
    bytes: usize,
}

impl<V> Default for Fields<V> {
    fn default() -> Self {
        Self { entries: Entries::Row(Vec::new()), bytes: 0 }
    }
}

impl<V: Stored> Fields<V> {
    pub(crate) fn len(&self) -> usize {
        match &self.entries {
            Entries::Row(row) => row.len(),
            Entries::Table(table) => table.len(),
        }
    }

    /// Returns the heap bytes held, about, in constant time.
    pub(crate) fn cost(&self) -> usize {
        let capacity = match &self.entries {
            Entries::Row(row) => row.capacity(),
            Entries::Table(table) => table.capacity(),
        };
        self.bytes + self.len() * 2 * ALLOCATION_BYTES + capacity * size_of::<Entry<V>>()
    }

    pub(crate) fn get(&self, name: &[u8]) -> Option<&V> {
        match &self.entries {
            Entries::Row(row) => row.iter().find(|entry| *entry.0 == *name).map(|entry| &entry.1),
            Entries::Table(table) => {
                table.find(hash(name), |entry| *entry.0 == *name).map(|entry| &entry.1)
            }
        }
    }

    /// Stores `value` under `name`; returns whether the name is new.
    pub(crate) fn insert(&mut self, name: &[u8], value: V) -> bool {
        self.bytes += value.bytes();
        if let Some(old) = self.get_mut(name) {
            let old = std::mem::replace(old, value);
            self.bytes -= old.bytes();
            return false;
        }
        self.bytes += name.len();
        if let Entries::Row(row) = &mut self.entries {
            let fits = row.len() < ROW_LEN_MAX
                && name.len() <= ROW_BYTES_MAX
                && value.bytes() <= ROW_BYTES_MAX;
            if fits {
                row.push((name.into(), value));
                return true;
            }
            self.become_table();
        }
        if let Entries::Table(table) = &mut self.entries {
            table.insert_unique(hash(name), (name.into(), value), |entry| hash(&entry.0));
        }
        true
    }

    /// Takes `name` out; returns whether it was there.
    pub(crate) fn remove(&mut self, name: &[u8]) -> bool {
        let removed = match &mut self.entries {
            Entries::Row(row) => {
                row.iter().position(|entry| *entry.0 == *name).map(|index| row.remove(index))
            }
            Entries::Table(table) => table
                .find_entry(hash(name), |entry| *entry.0 == *name)
                .ok()
                .map(|entry| entry.remove().0),
        };
        let Some((name, value)) = removed else { return false };
        self.bytes -= name.len() + value.bytes();
        self.shrink();
        true
    }

    /// Gives back what many entries that were taken out leave.
    fn shrink(&mut self) {
        match &mut self.entries {
            Entries::Row(row) => {
                if let Some(capacity) = shrunk(row.len(), row.capacity()) {
                    row.shrink_to(capacity);
                }
            }
            Entries::Table(table) => {
                if let Some(capacity) = shrunk(table.len(), table.capacity()) {
                    table.shrink_to(capacity, |entry| hash(&entry.0));
                }
            }
        }
    }

    /// Calls `each` with every entry.
    pub(crate) fn for_each(&self, mut each: impl FnMut(&[u8], &V)) {
        match &self.entries {
            Entries::Row(row) => row.iter().for_each(|entry| each(&entry.0, &entry.1)),
            Entries::Table(table) => table.iter().for_each(|entry| each(&entry.0, &entry.1)),
        }
    }

    fn get_mut(&mut self, name: &[u8]) -> Option<&mut V> {
        match &mut self.entries {
            Entries::Row(row) => {
                row.iter_mut().find(|entry| *entry.0 == *name).map(|entry| &mut entry.1)
            }
            Entries::Table(table) => {
                table.find_mut(hash(name), |entry| *entry.0 == *name).map(|entry| &mut entry.1)
            }
        }
    }

    fn become_table(&mut self) {
        if let Entries::Row(row) = &mut self.entries {
            let mut table = HashTable::with_capacity(row.len() * 2);
            for entry in row.drain(..) {
                table.insert_unique(hash(&entry.0), entry, |entry| hash(&entry.0));
            }
            self.entries = Entries::Table(table);
        }
    }
}
