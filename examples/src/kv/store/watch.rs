//! `WATCH`: which keys a transaction depends on, and whether they changed.
//!
//! A watch is a row here from `WATCH` until the transaction ends; a write marks all rows of its key. Without a watch a
//! write costs one comparison, and a transaction of a client that watches nothing one look for it.

use std::collections::{BTreeMap, BTreeSet};

/// One client's watch on the keys of a shard.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct WatchId {
    /// The node that it is connected with; zero if that is alone.
    pub(crate) node: u64,
    /// Its id there.
    pub(crate) client: u64,
}

type Watched = (usize, Box<[u8]>);

/// The watches of one shard.
#[derive(Debug, Default)]
pub(crate) struct Watches {
    keys: BTreeMap<Watched, BTreeSet<WatchId>>,
    clients: BTreeMap<WatchId, Watcher>,
}

/// What one client watches.
#[derive(Debug, Default)]
struct Watcher {
    keys: Vec<Watched>,
    /// Whether one of the keys was changed.
    is_touched: bool,
}

impl Watches {
    pub(crate) fn add(&mut self, client: WatchId, db: usize, key: &[u8]) {
        let watcher = self.clients.entry(client).or_default();
        let key = (db, Box::from(key));
        if self.keys.entry(key.clone()).or_default().insert(client) {
            watcher.keys.push(key);
        }
    }

    /// Marks every watch on `key`.
    pub(crate) fn touch(&mut self, db: usize, key: &[u8]) {
        if self.keys.is_empty() {
            return;
        }
        for client in self.keys.get(&(db, key.into())).into_iter().flatten() {
            if let Some(watcher) = self.clients.get_mut(client) {
                watcher.is_touched = true;
            }
        }
    }

    /// Returns the keys `client` watches.
    pub(crate) fn keys_of(&self, client: WatchId) -> Vec<Watched> {
        self.clients.get(&client).map_or_else(Vec::new, |watcher| watcher.keys.clone())
    }

    /// Ends the watches of all clients of a node.
    pub(crate) fn end_node(&mut self, node: u64) {
        let gone = self.clients.keys().filter(|client| client.node == node);
        for client in gone.copied().collect::<Vec<_>>() {
            self.end(client);
        }
    }

    /// Returns whether there is a watch of `client`.
    pub(crate) fn knows(&self, client: WatchId) -> bool {
        self.clients.contains_key(&client)
    }

    /// Has the watches of `client`, which has one, count as touched.
    pub(crate) fn spoil(&mut self, client: WatchId) {
        if let Some(watcher) = self.clients.get_mut(&client) {
            watcher.is_touched = true;
        }
    }

    /// Ends all watches of `client`; returns whether one of its keys changed, if there is a watch.
    pub(crate) fn end(&mut self, client: WatchId) -> Option<bool> {
        let watcher = self.clients.remove(&client)?;
        for key in watcher.keys {
            if let Some(watchers) = self.keys.get_mut(&key) {
                watchers.remove(&client);
                if watchers.is_empty() {
                    self.keys.remove(&key);
                }
            }
        }
        Some(watcher.is_touched)
    }
}

#[cfg(test)]
mod tests {
    use super::{WatchId, Watches};

    #[test]
    fn who_ends_its_watches_leaves_those_of_others() {
        let mut watches = Watches::default();
        let [one, two, far] =
            [(0, 1), (0, 2), (7, 1)].map(|(node, client)| WatchId { node, client });
        for client in [one, two, far] {
            watches.add(client, 0, b"a");
            watches.add(client, 0, b"a");
        }
        watches.add(two, 1, b"b");
        assert_eq!(watches.keys_of(two).len(), 2);
        assert!(watches.keys_of(WatchId { node: 3, client: 3 }).is_empty());
        assert_eq!(watches.end(one), Some(false));
        watches.end_node(7);
        assert!(watches.keys_of(far).is_empty());
        watches.touch(0, b"a");
        assert_eq!((watches.end(two), watches.end(two)), (Some(true), None));
        assert!(watches.keys.is_empty() && watches.clients.is_empty());
    }
}
