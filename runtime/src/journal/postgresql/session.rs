//! One connection and what is said over it.

use super::failed;
use super::plan::{Head, Plan, key_of};
use crate::journal::error::StoreError;
use crate::journal::store::{Record, Refused, Snapshot, Write, Written};
use ::postgres::error::SqlState;
use ::postgres::{Client, Error, Row, Statement, Transaction};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

/// Locked while the tables are made, which two machines may do at once: "greenrm" in ASCII.
const TABLES: &str = "
    BEGIN;
    SELECT pg_advisory_xact_lock(29118411150258797);
    CREATE TABLE IF NOT EXISTS greenroom_stream (
        key text PRIMARY KEY, epoch bigint NOT NULL, last bigint NOT NULL);
    CREATE TABLE IF NOT EXISTS greenroom_event (
        key text, sequence bigint, name text NOT NULL, version bigint NOT NULL,
        payload bytea NOT NULL, PRIMARY KEY (key, sequence));
    CREATE TABLE IF NOT EXISTS greenroom_snapshot (
        key text PRIMARY KEY, sequence bigint NOT NULL, version bigint NOT NULL,
        payload bytea NOT NULL);
    COMMIT";

const MAKE_HEADS: &str = "
    INSERT INTO greenroom_stream SELECT unnest($1::text[]), 0, 0 ON CONFLICT DO NOTHING";
const LOCK_HEADS: &str = "
    SELECT key, epoch, last FROM greenroom_stream WHERE key = ANY($1) ORDER BY key FOR UPDATE";
const SET_HEADS: &str = "
    UPDATE greenroom_stream AS old SET epoch = new.epoch, last = new.last
    FROM unnest($1::text[], $2::bigint[], $3::bigint[]) AS new (key, epoch, last)
    WHERE old.key = new.key";
const ADD_EVENTS: &str = "
    INSERT INTO greenroom_event
    SELECT * FROM unnest($1::text[], $2::bigint[], $3::text[], $4::bigint[], $5::bytea[])";
const SET_SNAPSHOTS: &str = "
    INSERT INTO greenroom_snapshot
    SELECT * FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::bytea[])
    ON CONFLICT (key) DO UPDATE SET
        sequence = excluded.sequence, version = excluded.version, payload = excluded.payload";
const PRUNE: &str = "
    DELETE FROM greenroom_event AS old USING unnest($1::text[], $2::bigint[]) AS pruned (key, last)
    WHERE old.key = pruned.key AND old.sequence <= pruned.last";
const READ: &str = "
    SELECT sequence, name, version, payload FROM (
        SELECT *, sum(octet_length(payload)) OVER (ORDER BY sequence) - octet_length(payload)
            AS bytes_before
        FROM (
            SELECT * FROM greenroom_event WHERE key = $1 AND sequence > $2
            ORDER BY sequence LIMIT 1000
        ) AS next
    ) AS counted WHERE bytes_before < $3 ORDER BY sequence";
const SNAPSHOT: &str = "SELECT sequence, version, payload FROM greenroom_snapshot WHERE key = $1";

/// Why something was not done.
pub(super) enum Failure {
    /// Nothing was done, and it may succeed if tried again.
    Undone(StoreError),
    /// It cannot succeed, or may have been done.
    Final(StoreError),
}

impl Failure {
    pub(super) fn into_error(self) -> StoreError {
        match self {
            Self::Undone(error) | Self::Final(error) => error,
        }
    }

    /// The failure of something that the server takes back by itself.
    fn before_commit(error: &Error) -> Self {
        // Without the server's word it is the connection that failed.
        let is_passing = error.code().is_none_or(|code| {
            [SqlState::T_R_DEADLOCK_DETECTED, SqlState::T_R_SERIALIZATION_FAILURE].contains(code)
                || code.code().starts_with("57P")
        });
        if is_passing { Self::Undone(failed(error)) } else { Self::Final(failed(error)) }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::before_commit(&error)
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Self::Final(error)
    }
}

/// A connection and the statements that it has prepared.
pub(super) struct Session {
    client: Client,
    prepared: BTreeMap<&'static str, Statement>,
}

impl Session {
    pub(super) fn new(client: Client) -> Self {
        Self { client, prepared: BTreeMap::new() }
    }

    pub(super) fn is_closed(&self) -> bool {
        self.client.is_closed()
    }

    pub(super) fn make_tables(&mut self) -> Result<(), StoreError> {
        self.client.batch_execute(TABLES).map_err(|error| failed(&error))
    }

    /// The statement of a text, sent to the server once per connection.
    fn prepare(&mut self, text: &'static str) -> Result<Statement, Error> {
        if let Some(statement) = self.prepared.get(text) {
            return Ok(statement.clone());
        }
        let statement = self.client.prepare(text)?;
        self.prepared.insert(text, statement.clone());
        Ok(statement)
    }

    pub(super) fn commit(
        &mut self,
        writes: &[Write],
    ) -> Result<Vec<Result<Written, Refused>>, Failure> {
        let statements = Statements {
            make_heads: self.prepare(MAKE_HEADS)?,
            lock_heads: self.prepare(LOCK_HEADS)?,
            set_heads: self.prepare(SET_HEADS)?,
            add_events: self.prepare(ADD_EVENTS)?,
            set_snapshots: self.prepare(SET_SNAPSHOTS)?,
            prune: self.prepare(PRUNE)?,
        };
        let mut transaction = self.client.transaction()?;
        let heads = statements.lock(&mut transaction, writes)?;
        let plan = Plan::new(heads, writes);
        statements.write(&mut transaction, &plan)?;
        // From here on it may have been done, whatever the error says.
        transaction.commit().map_err(|error| Failure::Final(failed(&error)))?;
        Ok(plan.outcomes)
    }

    pub(super) fn snapshot(&mut self, key: &str) -> Result<Option<Snapshot>, Failure> {
        let statement = self.prepare(SNAPSHOT)?;
        let Some(row) = self.client.query_opt(&statement, &[&key])? else { return Ok(None) };
        Ok(Some(Snapshot {
            sequence: unsigned(&row, 0)?,
            version: version(&row, 1)?,
            payload: row.try_get(2)?,
        }))
    }

    pub(super) fn read(
        &mut self,
        key: &str,
        after: u64,
        bytes_max: usize,
    ) -> Result<Vec<(u64, Record)>, Failure> {
        let statement = self.prepare(READ)?;
        // At least one byte, so that there is one event at least.
        let bytes_max = i64::try_from(bytes_max).unwrap_or(i64::MAX).max(1);
        let rows = self.client.query(&statement, &[&key, &signed(after)?, &bytes_max])?;
        let record = |row: &Row| {
            let name = Cow::Owned(row.try_get(1)?);
            let record = Record { name, version: version(row, 2)?, payload: row.try_get(3)? };
            Ok((unsigned(row, 0)?, record))
        };
        rows.iter().map(record).collect()
    }
}

/// The statements of a commit.
struct Statements {
    make_heads: Statement,
    lock_heads: Statement,
    set_heads: Statement,
    add_events: Statement,
    set_snapshots: Statement,
    prune: Statement,
}

impl Statements {
    /// Locks the keys and returns what is known of them.
    fn lock<'a>(
        &self,
        transaction: &mut Transaction<'_>,
        writes: &'a [Write],
    ) -> Result<BTreeMap<&'a str, Head>, Failure> {
        let is_claim = |write: &&Write| matches!(write, Write::Claim { .. });
        let claimed: BTreeSet<&str> = writes.iter().filter(is_claim).map(key_of).collect();
        let claimed: Vec<&str> = claimed.into_iter().collect();
        if !claimed.is_empty() {
            transaction.execute(&self.make_heads, &[&claimed])?;
        }
        let keys: BTreeSet<&'a str> = writes.iter().map(key_of).collect();
        let asked: Vec<&str> = keys.iter().copied().collect();
        let mut heads = BTreeMap::new();
        for row in transaction.query(&self.lock_heads, &[&asked])? {
            let key: &str = row.try_get(0)?;
            if let Some(key) = keys.get(key) {
                heads.insert(*key, Head { epoch: unsigned(&row, 1)?, last: unsigned(&row, 2)? });
            }
        }
        Ok(heads)
    }

    fn write(&self, transaction: &mut Transaction<'_>, plan: &Plan<'_>) -> Result<(), Failure> {
        if !plan.events.is_empty() {
            let keys: Vec<&str> = plan.events.iter().map(|(key, ..)| *key).collect();
            let sequences = all_signed(plan.events.iter().map(|(_, sequence, _)| *sequence))?;
            let names: Vec<&str> = plan.events.iter().map(|(.., record)| &*record.name).collect();
            let versions: Vec<i64> =
                plan.events.iter().map(|(.., record)| record.version.into()).collect();
            let payloads: Vec<&[u8]> =
                plan.events.iter().map(|(.., record)| &*record.payload).collect();
            let events: [&(dyn ::postgres::types::ToSql + Sync); 5] =
                [&keys, &sequences, &names, &versions, &payloads];
            transaction.execute(&self.add_events, &events)?;
        }
        if !plan.snapshots.is_empty() {
            let keys: Vec<&str> = plan.snapshots.keys().copied().collect();
            let snapshots = || plan.snapshots.values();
            let sequences = all_signed(snapshots().map(|snapshot| snapshot.sequence))?;
            let versions: Vec<i64> = snapshots().map(|snapshot| snapshot.version.into()).collect();
            let payloads: Vec<&[u8]> = snapshots().map(|snapshot| &*snapshot.payload).collect();
            transaction.execute(&self.set_snapshots, &[&keys, &sequences, &versions, &payloads])?;
        }
        if !plan.pruned.is_empty() {
            let keys: Vec<&str> = plan.pruned.keys().copied().collect();
            let last = all_signed(plan.pruned.values().copied())?;
            transaction.execute(&self.prune, &[&keys, &last])?;
        }
        let keys: Vec<&str> = plan.heads.keys().copied().collect();
        let epochs = all_signed(plan.heads.values().map(|head| head.epoch))?;
        let last = all_signed(plan.heads.values().map(|head| head.last))?;
        transaction.execute(&self.set_heads, &[&keys, &epochs, &last])?;
        Ok(())
    }
}

fn all_signed(numbers: impl Iterator<Item = u64>) -> Result<Vec<i64>, StoreError> {
    numbers.map(signed).collect()
}

/// SQL has no unsigned numbers.
fn signed(number: u64) -> Result<i64, StoreError> {
    i64::try_from(number).map_err(|_| StoreError::new("a sequence is above 2^63"))
}

fn unsigned(row: &Row, column: usize) -> Result<u64, Failure> {
    let number: i64 = row.try_get(column)?;
    u64::try_from(number).map_err(|_| StoreError::new("a stored number is negative").into())
}

fn version(row: &Row, column: usize) -> Result<u32, Failure> {
    let number: i64 = row.try_get(column)?;
    u32::try_from(number).map_err(|_| StoreError::new("a stored version is out of range").into())
}
