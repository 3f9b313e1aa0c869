//! One shard: its databases, their memory, and the one entrance for commands.
//!
//! Invariants:
//!
//! 1. Every change of an entry goes through [`Shard::update`], [`Shard::put`] or [`Shard::remove`], so `used` is
//!    always the sum of the entries' costs.
//! 2. A key that has expired is never seen: [`Shard::find`] and the rest take it out first.
//! 3. An empty list, hash or set does not exist.

use super::db::{Db, Entry, NEVER, hash};
use super::log::Log;
use super::value::Value;
use super::watch::Watches;
use super::{Args, Error};
use crate::kv::command::Spec;
use crate::kv::resp::Reply;
use crate::kv::room::brought;

/// Databases a client can `SELECT`.
pub(crate) const DATABASES: usize = 16;

/// What working on a value came to.
pub(super) enum Change<T> {
    /// The value is another one now.
    Made(T),
    /// It is as it was: who watches the key need not know.
    Void(T),
}

impl Change<usize> {
    /// Returns the change that so many things were made different.
    pub(super) fn counted(count: usize) -> Self {
        if count > 0 { Self::Made(count) } else { Self::Void(count) }
    }
}

/// Which of how many shards one is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    pub(crate) index: usize,
    pub(crate) count: usize,
}

/// The keys of one shard.
#[derive(Debug)]
pub(crate) struct Shard {
    pub(super) dbs: Vec<Db>,
    /// The database of the command under way.
    pub(super) current: usize,
    pub(super) now: i64,
    pub(super) place: Place,
    used: usize,
    /// Bytes that may be used.
    limit: usize,
    /// Keys changed so far; a command changed something if this grew.
    changes: u64,
    pub(super) expired: u64,
    /// Keys that commands which read have found, and not.
    hits: u64,
    misses: u64,
    pub(super) watches: Watches,
    pub(super) random: u64,
    pub(super) swept: usize,
    /// The commands that changed something, if they are to be kept.
    pub(super) log: Option<Log>,
}

impl Shard {
    pub(crate) fn new(place: Place) -> Self {
        Self {
            dbs: (0..DATABASES).map(|_| Db::default()).collect(),
            current: 0,
            now: 0,
            place,
            used: 0,
            limit: usize::MAX,
            changes: 0,
            expired: 0,
            hits: 0,
            misses: 0,
            watches: Watches::default(),
            random: 0x9e37_79b9_7f4a_7c15 ^ place.index as u64,
            swept: 0,
            log: None,
        }
    }

    /// Sets the time, in milliseconds since 1970, at which the next commands run. It never goes back: what has
    /// expired stays so, also when its commands are run again.
    pub(crate) fn set_now(&mut self, now: i64) {
        self.now = self.now.max(now);
    }

    /// Returns that time.
    pub(crate) fn now(&self) -> i64 {
        self.now
    }

    /// Sets how many bytes this shard may use: what would bring more is refused.
    pub(crate) fn set_limit(&mut self, limit: usize) {
        self.limit = limit;
    }

    /// Lets the shard use so many bytes more.
    pub(crate) fn raise_limit(&mut self, bytes: usize) {
        self.limit = self.limit.saturating_add(bytes);
    }

    /// Returns the bytes used, about.
    pub(crate) fn used(&self) -> usize {
        self.used
    }

    /// Returns what `INFO` needs to know: bytes used, keys expired, found and missed, then keys and volatile keys of each database.
    pub(crate) fn numbers(&self) -> String {
        let mut text = format!("{} {} {} {}", self.used, self.expired, self.hits, self.misses);
        for db in &self.dbs {
            text.push_str(&format!(" {} {}", db.len(), db.volatile()));
        }
        text
    }

    /// Starts what was counted anew.
    pub(crate) fn reset_counts(&mut self) {
        (self.expired, self.hits, self.misses) = (0, 0, 0);
    }

    /// Returns whether there is room for so many bytes.
    pub(crate) fn has_room(&self, bytes: usize) -> bool {
        self.used.saturating_add(bytes) <= self.limit
    }

    /// Runs one command in database `db` and writes its one reply. Its arity was checked.
    pub(crate) fn execute(
        &mut self,
        spec: &Spec,
        db: usize,
        args: Args<'_>,
        reply: &mut Reply<'_>,
    ) {
        if spec.needs_memory() && !self.has_room(brought(args)) {
            return reply.error(&Error::OUT_OF_MEMORY.0);
        }
        self.execute_begun(spec, db, args, reply);
    }

    /// The same inside a transaction, or for a part of a command: whether there is memory was asked before, for all of
    /// it runs or nothing.
    pub(crate) fn execute_begun(
        &mut self,
        spec: &Spec,
        db: usize,
        args: Args<'_>,
        reply: &mut Reply<'_>,
    ) {
        self.current = db;
        let Some(run) = spec.run() else {
            return reply.error("ERR this command does not belong to a shard");
        };
        let (changes, used) = (self.changes, self.used);
        if let Err(error) = run(self, args, reply) {
            reply.error(&error.0);
        }
        if self.limit != usize::MAX && spec.needs_memory() {
            // What it took beyond the estimate is not to be missing to those behind it.
            let more = self.used.saturating_sub(used).saturating_sub(brought(args));
            self.raise_limit(more);
        }
        if self.changes != changes
            && let Some(log) = &mut self.log
        {
            log.push(self.now, db, args.tail(0));
        }
    }

    /// Returns the entry of `key` unless it has expired.
    pub(super) fn find(&mut self, key: &[u8]) -> Option<&Entry> {
        let hash = hash(key);
        self.expire_if_due(hash, key);
        self.dbs[self.current].find(hash, key)
    }

    /// The same for a command that reads, which counts as a hit or a miss.
    pub(super) fn look_up(&mut self, key: &[u8]) -> Option<&Entry> {
        let hash = hash(key);
        self.expire_if_due(hash, key);
        let entry = self.dbs[self.current].find(hash, key);
        self.hits += u64::from(entry.is_some());
        self.misses += u64::from(entry.is_none());
        entry
    }

    #[inline]
    fn expire_if_due(&mut self, hash: u64, key: &[u8]) {
        let db = &self.dbs[self.current];
        if db.volatile() > 0 && db.find(hash, key).is_some_and(|entry| entry.expires <= self.now) {
            self.expire(self.current, hash, key);
        }
    }

    /// Returns the value of `key` for a command that reads.
    pub(super) fn value(&mut self, key: &[u8]) -> Option<&Value> {
        self.look_up(key).map(|entry| &entry.value)
    }

    /// Changes the value of `key` if there is one; a collection left empty is taken out.
    pub(super) fn update<T>(
        &mut self,
        key: &[u8],
        change: impl FnOnce(&mut Value) -> Result<Change<T>, Error>,
    ) -> Option<Result<T, Error>> {
        self.try_update(key, change).ok()
    }

    /// As [`update`](Self::update); gives `change` back if there is no value.
    fn try_update<T, F: FnOnce(&mut Value) -> Result<Change<T>, Error>>(
        &mut self,
        key: &[u8],
        change: F,
    ) -> Result<Result<T, Error>, F> {
        let hash = hash(key);
        let Some(entry) = self.dbs[self.current].find_mut(hash, key) else { return Err(change) };
        if entry.expires <= self.now {
            self.expire(self.current, hash, key);
            return Err(change);
        }
        let before = entry.value.cost();
        let result = change(&mut entry.value);
        self.used = self.used + entry.value.cost() - before;
        if entry.value.is_empty_collection() {
            self.remove(key);
        }
        Ok(result.map(|change| self.note(key, change)))
    }

    /// Changes the value of `key`, which begins as `fresh` if there is none.
    pub(super) fn upsert<T>(
        &mut self,
        key: &[u8],
        fresh: impl FnOnce() -> Value,
        change: impl FnOnce(&mut Value) -> Result<Change<T>, Error>,
    ) -> Result<T, Error> {
        let change = match self.try_update(key, change) {
            Ok(updated) => return updated,
            Err(change) => change,
        };
        let mut value = fresh();
        let result = change(&mut value)?;
        self.put(key, value, NEVER);
        Ok(self.note(key, result))
    }

    fn note<T>(&mut self, key: &[u8], change: Change<T>) -> T {
        match change {
            Change::Made(value) => {
                self.changed(key);
                value
            }
            Change::Void(value) => value,
        }
    }

    /// Notes that `key` is not what it was.
    fn changed(&mut self, key: &[u8]) {
        self.changes += 1;
        self.watches.touch(self.current, key);
    }

    /// Sets `key` to the string `text`, in place where it can.
    pub(super) fn put_text(&mut self, key: &[u8], text: &[u8], expires: i64) {
        let hash = hash(key);
        let db = &mut self.dbs[self.current];
        let Some(entry) = db.find_mut(hash, key) else {
            return self.put(key, Value::text(text), expires);
        };
        let before = entry.value.cost();
        entry.value.set_text(text);
        let was = std::mem::replace(&mut entry.expires, expires);
        self.used = self.used + entry.value.cost() - before;
        db.expiry_changed(was, expires);
        self.changed(key);
    }

    /// Sets `key` to `value`, whatever it was.
    pub(super) fn put(&mut self, key: &[u8], value: Value, expires: i64) {
        self.remove(key);
        let entry = self.dbs[self.current].insert(Entry { key: key.into(), value, expires });
        self.used += entry.cost();
        self.changed(key);
    }

    /// Takes `key` out; returns its value if it was there.
    pub(super) fn remove(&mut self, key: &[u8]) -> Option<Value> {
        let entry = self.dbs[self.current].remove(hash(key), key)?;
        self.used -= entry.cost();
        self.changed(key);
        (entry.expires > self.now).then_some(entry.value)
    }

    /// Sets when `key`, which is there, ends.
    pub(super) fn set_expiry(&mut self, key: &[u8], expires: i64) {
        let db = &mut self.dbs[self.current];
        if let Some(entry) = db.find_mut(hash(key), key) {
            let was = std::mem::replace(&mut entry.expires, expires);
            db.expiry_changed(was, expires);
            self.changed(key);
        }
    }

    /// Empties one database.
    pub(super) fn clear(&mut self, db: usize) {
        let old = std::mem::take(&mut self.dbs[db]);
        for entry in old.iter() {
            self.used -= entry.cost();
            self.watches.touch(db, &entry.key);
        }
        self.changes += 1;
    }

    /// Takes an expired key out.
    pub(super) fn expire(&mut self, db: usize, hash: u64, key: &[u8]) {
        if let Some(entry) = self.dbs[db].remove(hash, key) {
            self.used -= entry.cost();
            self.expired += 1;
            self.watches.touch(db, key);
        }
    }

    /// Returns the next of a repeatable sequence of random numbers (xorshift64*).
    pub(super) fn random(&mut self) -> u64 {
        self.random ^= self.random >> 12;
        self.random ^= self.random << 25;
        self.random ^= self.random >> 27;
        self.random.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }
}
