//! The store in a file of this machine, kept by redb.
//!
//! ```text
//! heads      key            -> number, epoch
//! events     number, seq    -> record
//! snapshots  number         -> seq, version, state
//! ```
//!
//! Invariants:
//! 1. One process has the file open: redb locks it.
//! 2. `heads` in memory is what the file says, or is empty: it is emptied after every error.
//! 3. A file that was full is opened again before it is used, because redb does nothing more with one that could not be
//!    written once. It is not made again: who takes a disk away must not find an empty journal in its place. After any
//!    other error it stays as redb leaves it: what a disk has lost looks well to whoever reads it from memory.
//!
//! Where a key ends is not written: it is the last of its events, or what its snapshot stands for. So an
//! append touches one table. Events that a snapshot made superfluous are taken out a few per commit, so
//! that no commit has to wait for many.

use super::creation::{open, open_or_create};
use super::error::StoreError;
use super::records::{pack, unpack};
use super::store::{Claim, Record, Refused, Snapshot, Store, Write, Written};
use crate::sync::planted;
use crate::time::{Clock, Time};
use redb::{
    Database, ReadableTable, ReadableTableMetadata, Table, TableDefinition, TableError,
    WriteTransaction,
};
use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

#[cfg(test)]
mod tests;

const HEADS: TableDefinition<'_, &str, (u64, u64)> = TableDefinition::new("heads");
const EVENTS: TableDefinition<'_, (u64, u64), &[u8]> = TableDefinition::new("events");
const SNAPSHOTS: TableDefinition<'_, u64, (u64, u32, &[u8])> = TableDefinition::new("snapshots");

/// Keys that are known without a look at the tables, about.
const HEADS_MAX: usize = 10_000;
/// Events taken out in one commit at most, beside as many as it adds, so that they do not pile up.
const PRUNE_MAX: usize = 2_000;

/// How long a file is left alone that was opened again: redb looks through all of it then.
const REOPEN_PERIOD: Duration = Duration::from_secs(5);

/// A store in a directory of this machine, for one process at a time.
///
/// Once there is room again on a disk that was full, it writes again, after 5 s at most. After any other error of the disk
/// it fails until it is opened anew.
pub struct Embedded {
    directory: PathBuf,
    /// Nothing after the disk was full.
    database: Option<Database>,
    clock: Clock,
    /// Until then the file is not opened again.
    closed_until: Time,
    heads: BTreeMap<String, Head>,
    /// Numbers whose events up to a sequence are not needed.
    superfluous: VecDeque<(u64, u64)>,
}

/// What is known of a key.
#[derive(Clone, Copy, Debug)]
struct Head {
    number: u64,
    epoch: u64,
    last: u64,
}

impl Embedded {
    /// Opens the store in `directory`, which is made if it is not there. After a crash it is as its last
    /// commit left it, and it is empty after one before the first. Blocks.
    ///
    /// # Errors
    /// [`StoreError`] when the directory cannot be made, another process has the store open, or its file
    /// is none of redb's.
    pub fn open(directory: impl AsRef<Path>) -> Result<Self, StoreError> {
        let (directory, database) = made(directory.as_ref()).map_err(|failure| failure.error)?;
        Ok(Self {
            directory,
            database: Some(database),
            clock: Clock::start(),
            closed_until: Time(0),
            heads: BTreeMap::new(),
            superfluous: VecDeque::new(),
        })
    }

    /// The database, opened again if the disk was full.
    fn database(&mut self) -> Result<&Database, Failure> {
        let database = match self.database.take() {
            Some(database) => database,
            None => self.reopened()?,
        };
        Ok(self.database.insert(database))
    }

    fn reopened(&mut self) -> Result<Database, Failure> {
        let now = self.clock.now();
        if now < self.closed_until {
            return Err(StoreError::new("the disk was full a moment ago").into());
        }
        self.closed_until = now.after(REOPEN_PERIOD);
        open(&self.directory).map_err(failed)
    }

    /// Gives the database up if the disk was full.
    fn check<T>(&mut self, outcome: Result<T, Failure>) -> Result<T, StoreError> {
        outcome.map_err(|failure| {
            self.heads.clear();
            if planted!("journal-fails-for-good": failure.is_of_full_disk => false) {
                self.database = None;
            }
            failure.error
        })
    }

    /// Does what [`Store::commit`] does, but for what is to be done when it fails.
    fn try_commit(&mut self, writes: &[Write]) -> Result<Vec<Result<Written, Refused>>, Failure> {
        let transaction = self.database()?.begin_write().map_err(failed)?;
        let outcomes = {
            let mut tables = Tables::open(&transaction).map_err(failed)?;
            let outcomes: Result<Vec<_>, _> =
                writes.iter().map(|write| self.write(&mut tables, write)).collect();
            let outcomes = outcomes?;
            self.prune(&mut tables, PRUNE_MAX + added(writes))?;
            outcomes
        };
        transaction.commit().map_err(failed)?;
        Ok(outcomes)
    }

    fn write(
        &mut self,
        tables: &mut Tables<'_>,
        write: &Write,
    ) -> Result<Result<Written, Refused>, Failure> {
        match write {
            Write::Claim { key } => {
                let head = self.claim(tables, key)?;
                Ok(Ok(Written::Claimed(Claim { epoch: head.epoch, last: head.last })))
            }
            Write::Append { key, epoch, first, records } => {
                let head = self.head(tables, key)?;
                match head {
                    Some(head) if head.epoch == *epoch && head.last + 1 == *first => {
                        self.append(tables, key, head, records)?;
                        Ok(Ok(Written::Done))
                    }
                    head => Ok(Err(refuse(head, *epoch))),
                }
            }
            Write::Snapshot { key, epoch, snapshot, prune } => {
                let head = self.head(tables, key)?;
                match head {
                    Some(head) if head.epoch == *epoch && snapshot.sequence <= head.last => {
                        let value = (snapshot.sequence, snapshot.version, &*snapshot.payload);
                        tables.snapshots.insert(head.number, value).map_err(failed)?;
                        if *prune {
                            self.superfluous.push_back((head.number, snapshot.sequence));
                        }
                        Ok(Ok(Written::Done))
                    }
                    head => Ok(Err(refuse(head, *epoch))),
                }
            }
        }
    }

    /// What is known of `key`, if it was ever claimed.
    fn head(&mut self, tables: &Tables<'_>, key: &str) -> Result<Option<Head>, Failure> {
        if let Some(head) = self.heads.get(key) {
            return Ok(Some(*head));
        }
        let stored = tables.heads.get(key).map_err(failed)?.map(|stored| stored.value());
        let Some((number, epoch)) = stored else { return Ok(None) };
        let snapshot = tables.snapshots.get(number).map_err(failed)?.map(|it| it.value().0);
        let events = tables.events.range((number, 0)..=(number, u64::MAX)).map_err(failed)?;
        let event = last_sequence(events)?;
        let last = event.max(snapshot).unwrap_or(0);
        let head = Head { number, epoch, last };
        self.heads.insert(key.to_owned(), head);
        Ok(Some(head))
    }

    fn claim(&mut self, tables: &mut Tables<'_>, key: &str) -> Result<Head, Failure> {
        let head = match self.head(tables, key)? {
            Some(head) => Head { epoch: head.epoch + 1, ..head },
            None => Head { number: tables.heads.len().map_err(failed)?, epoch: 1, last: 0 },
        };
        tables.heads.insert(key, (head.number, head.epoch)).map_err(failed)?;
        self.heads.insert(key.to_owned(), head);
        Ok(head)
    }

    fn append(
        &mut self,
        tables: &mut Tables<'_>,
        key: &str,
        mut head: Head,
        records: &[Record],
    ) -> Result<(), Failure> {
        for record in records {
            head.last += 1;
            let place = (head.number, head.last);
            tables.events.insert(place, &*pack(record)?).map_err(failed)?;
        }
        self.heads.insert(key.to_owned(), head);
        Ok(())
    }

    /// Takes events out that no longer matter, `at_most` so many.
    fn prune(&mut self, tables: &mut Tables<'_>, at_most: usize) -> Result<(), Failure> {
        let mut left = at_most;
        while let Some(&(number, up_to)) = self.superfluous.front() {
            let superfluous = (number, 0)..=(number, up_to);
            let events = tables.events.extract_from_if(superfluous, |_, _| true).map_err(failed)?;
            for event in events.take(left) {
                drop(event.map_err(failed)?);
                left -= 1;
            }
            if left == 0 {
                break;
            }
            self.superfluous.pop_front();
        }
        Ok(())
    }
}

/// The events that some writes add.
fn added(writes: &[Write]) -> usize {
    let events = |write: &Write| match write {
        Write::Append { records, .. } => records.len(),
        Write::Claim { .. } | Write::Snapshot { .. } => 0,
    };
    writes.iter().map(events).sum()
}

fn refuse(head: Option<Head>, epoch: u64) -> Refused {
    match head {
        Some(head) if head.epoch == epoch => Refused::OutOfStep { last: head.last },
        Some(_) => Refused::Fenced,
        None => Refused::OutOfStep { last: 0 },
    }
}

fn last_sequence(mut events: redb::Range<'_, (u64, u64), &[u8]>) -> Result<Option<u64>, Failure> {
    match events.next_back() {
        Some(event) => Ok(Some(event.map_err(failed)?.0.value().1)),
        None => Ok(None),
    }
}

impl Store for Embedded {
    fn commit(&mut self, writes: &[Write]) -> Result<Vec<Result<Written, Refused>>, StoreError> {
        let superfluous = self.superfluous.clone();
        let outcome = self.try_commit(writes);
        let outcome = self.check(outcome);
        if self.heads.len() > HEADS_MAX {
            self.heads.clear();
        }
        if outcome.is_err() {
            // A snapshot that was not kept makes no event superfluous.
            self.superfluous = superfluous;
        }
        outcome
    }

    fn snapshot(&mut self, key: &str) -> Result<Option<Snapshot>, StoreError> {
        let outcome = self.database().and_then(|database| snapshot(database, key));
        self.check(outcome)
    }

    fn read(
        &mut self,
        key: &str,
        after: u64,
        bytes_max: usize,
    ) -> Result<Vec<(u64, Record)>, StoreError> {
        let outcome = self.database().and_then(|database| read(database, key, after, bytes_max));
        self.check(outcome)
    }
}

fn snapshot(database: &Database, key: &str) -> Result<Option<Snapshot>, Failure> {
    let tables = database.begin_read().map_err(failed)?;
    let Some(number) = number_of(&tables.open_table(HEADS).map_err(failed)?, key)? else {
        return Ok(None);
    };
    let snapshots = tables.open_table(SNAPSHOTS).map_err(failed)?;
    let stored = snapshots.get(number).map_err(failed)?;
    Ok(stored.map(|stored| {
        let (sequence, version, payload) = stored.value();
        Snapshot { sequence, version, payload: payload.to_vec() }
    }))
}

fn read(
    database: &Database,
    key: &str,
    after: u64,
    bytes_max: usize,
) -> Result<Vec<(u64, Record)>, Failure> {
    let tables = database.begin_read().map_err(failed)?;
    let Some(number) = number_of(&tables.open_table(HEADS).map_err(failed)?, key)? else {
        return Ok(Vec::new());
    };
    let events = tables.open_table(EVENTS).map_err(failed)?;
    let (mut read, mut bytes) = (Vec::new(), 0);
    let span = (number, after.saturating_add(1))..=(number, u64::MAX);
    for event in events.range(span).map_err(failed)? {
        let (place, stored) = event.map_err(failed)?;
        let stored = stored.value();
        let (_, sequence) = place.value();
        let record = unpack(stored)
            .ok_or_else(|| StoreError::new(format!("event {sequence} of {key:?} is damaged")))?;
        bytes += stored.len();
        read.push((sequence, record));
        if bytes >= bytes_max {
            break;
        }
    }
    Ok(read)
}

fn number_of(
    heads: &impl ReadableTable<&'static str, (u64, u64)>,
    key: &str,
) -> Result<Option<u64>, Failure> {
    Ok(heads.get(key).map_err(failed)?.map(|stored| stored.value().0))
}

/// The tables of one transaction.
struct Tables<'a> {
    heads: Table<'a, &'static str, (u64, u64)>,
    events: Table<'a, (u64, u64), &'static [u8]>,
    snapshots: Table<'a, u64, (u64, u32, &'static [u8])>,
}

impl<'a> Tables<'a> {
    fn open(transaction: &'a WriteTransaction) -> Result<Self, TableError> {
        Ok(Self {
            heads: transaction.open_table(HEADS)?,
            events: transaction.open_table(EVENTS)?,
            snapshots: transaction.open_table(SNAPSHOTS)?,
        })
    }
}

/// The directory, by a name that is good wherever the process goes, and the database in it, made if it is not there.
fn made(directory: &Path) -> Result<(PathBuf, Database), Failure> {
    std::fs::create_dir_all(directory).map_err(failed)?;
    let directory = std::path::absolute(directory).map_err(failed)?;
    let database = open_or_create(&directory).map_err(failed)?;
    let tables = database.begin_write().map_err(failed)?;
    tables.open_table(HEADS).map_err(failed)?;
    tables.open_table(EVENTS).map_err(failed)?;
    tables.open_table(SNAPSHOTS).map_err(failed)?;
    tables.commit().map_err(failed)?;
    Ok((directory, database))
}

/// Why redb did not do something, and whether it may once there is room on the disk.
#[derive(Debug)]
struct Failure {
    error: StoreError,
    is_of_full_disk: bool,
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Self { error, is_of_full_disk: false }
    }
}

fn failed(error: impl Into<redb::Error>) -> Failure {
    use std::io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
    let error = error.into();
    let is_of_full_disk = match &error {
        redb::Error::Io(error) => {
            [StorageFull, QuotaExceeded, FileTooLarge].contains(&error.kind())
        }
        _ => false,
    };
    Failure { error: StoreError::new(error.to_string()), is_of_full_disk }
}

impl fmt::Debug for Embedded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Embedded").finish_non_exhaustive()
    }
}
