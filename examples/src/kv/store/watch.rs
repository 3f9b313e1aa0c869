//! `WATCH`: which keys a transaction depends on, and whether they changed.
//!
//! A watch is a row here from `WATCH` until the transaction ends; a write marks all rows of its key. Without a watch a
//! write costs one comparison.

use std::collections::BTreeMap;

/// One client's watch on the keys of a shard.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct WatchId {
    /// The node that it is connected with; zero if that is alone.
    pub(crate) node: u64,
    /// Its id there.
    pub(crate) client: u64,
}

/// The watches of one shard.
#[derive(Debug, Default)]
pub(crate) struct Watches {
    keys: BTreeMap<(usize, Box<[u8]>), Vec<WatchId>>,
    /// Whether one of the client's keys was changed.
    clients: BTreeMap<WatchId, bool>,
}

impl Watches {
    pub(crate) fn is_empty(&self) -> bool {
        self.clients.is_empty()
    }

    pub(crate) fn add(&mut self, client: WatchId, db: usize, key: &[u8]) {
        self.clients.entry(client).or_insert(false);
        let watchers = self.keys.entry((db, key.into())).or_default();
        if !watchers.contains(&client) {
            watchers.push(client);
        }
    }

    /// Marks every watch on `key`.
    pub(crate) fn touch(&mut self, db: usize, key: &[u8]) {
        if self.keys.is_empty() {
            return;
        }
        for client in self.keys.get(&(db, key.into())).into_iter().flatten() {
            self.clients.insert(*client, true);
        }
    }

    /// Returns the keys `client` watches.
    pub(crate) fn keys_of(&self, client: WatchId) -> Vec<(usize, Box<[u8]>)> {
        let watched = self.keys.iter().filter(|(_, watchers)| watchers.contains(&client));
        watched.map(|(key, _)| key.clone()).collect()
    }

    /// Ends the watches of all clients of a node.
    pub(crate) fn end_node(&mut self, node: u64) {
        self.clients.retain(|client, _| client.node != node);
        self.keys.retain(|_, watchers| {
            watchers.retain(|watcher| watcher.node != node);
            !watchers.is_empty()
        });
    }

    /// Ends all watches of `client`; returns whether one of its keys changed.
    pub(crate) fn end(&mut self, client: WatchId) -> bool {
        let Some(touched) = self.clients.remove(&client) else { return false };
        self.keys.retain(|_, watchers| {
            watchers.retain(|watcher| *watcher != client);
            !watchers.is_empty()
        });
        touched
    }
}
