//! A store in memory, for tests.

use super::error::StoreError;
use super::store::{Claim, Record, Refused, Snapshot, Store, Write, Written};
use crate::sync::{Arc, Mutex};
use std::collections::BTreeMap;
use std::fmt;

/// A store in memory, for tests of actors that persist. Clones share what is in it, so a second
/// [`Journal`](super::Journal) finds what a first one wrote, as after a restart of the process.
#[derive(Clone)]
pub struct Memory {
    keys: Arc<Mutex<BTreeMap<String, Kept>>>,
}

/// What is kept of one key.
#[derive(Default)]
struct Kept {
    epoch: u64,
    last: u64,
    events: BTreeMap<u64, Record>,
    snapshot: Option<Snapshot>,
}

impl Memory {
    /// A store with nothing in it.
    #[must_use]
    pub fn new() -> Self {
        Self { keys: Arc::new(Mutex::new(BTreeMap::new())) }
    }

    /// The events of `key` that are kept, with their sequences.
    #[must_use]
    pub fn events(&self, key: &str) -> Vec<(u64, Record)> {
        let keys = self.keys.lock();
        let events = keys.get(key).into_iter().flat_map(|kept| &kept.events);
        events.map(|(sequence, record)| (*sequence, record.clone())).collect()
    }
}

impl Default for Memory {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Memory").finish_non_exhaustive()
    }
}

impl Kept {
    fn write(&mut self, write: &Write) -> Result<Written, Refused> {
        match write {
            Write::Claim { .. } => {
                self.epoch += 1;
                return Ok(Written::Claimed(Claim { epoch: self.epoch, last: self.last }));
            }
            Write::Append { epoch, first, records, .. } => {
                self.check(*epoch, *first == self.last + 1)?;
                for record in records {
                    self.last += 1;
                    self.events.insert(self.last, record.clone());
                }
            }
            Write::Snapshot { epoch, snapshot, prune, .. } => {
                self.check(*epoch, snapshot.sequence <= self.last)?;
                if *prune {
                    self.events = self.events.split_off(&(snapshot.sequence + 1));
                }
                self.snapshot = Some(snapshot.clone());
            }
        }
        Ok(Written::Done)
    }

    fn check(&self, epoch: u64, is_in_step: bool) -> Result<(), Refused> {
        match () {
            () if self.epoch > epoch => Err(Refused::Fenced),
            () if !is_in_step || self.epoch != epoch => Err(Refused::OutOfStep { last: self.last }),
            () => Ok(()),
        }
    }
}

impl Store for Memory {
    fn commit(&mut self, writes: &[Write]) -> Result<Vec<Result<Written, Refused>>, StoreError> {
        let mut keys = self.keys.lock();
        let each = writes.iter().map(|write| {
            let (Write::Claim { key } | Write::Append { key, .. } | Write::Snapshot { key, .. }) =
                write;
            keys.entry(key.clone()).or_default().write(write)
        });
        Ok(each.collect())
    }

    fn snapshot(&mut self, key: &str) -> Result<Option<Snapshot>, StoreError> {
        Ok(self.keys.lock().get(key).and_then(|kept| kept.snapshot.clone()))
    }

    fn read(
        &mut self,
        key: &str,
        after: u64,
        bytes_max: usize,
    ) -> Result<Vec<(u64, Record)>, StoreError> {
        let keys = self.keys.lock();
        let mut bytes = 0;
        let events = keys.get(key).into_iter().flat_map(|kept| kept.events.range(after + 1..));
        let some = events.take_while(|(_, record)| {
            let is_room = bytes < bytes_max;
            bytes += record.bytes();
            is_room
        });
        Ok(some.map(|(sequence, record)| (*sequence, record.clone())).collect())
    }
}
