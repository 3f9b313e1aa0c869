//! Commands on keys of any type, and on whole databases.

use super::db::SEGMENTS;
use super::{Args, Error, Shard, WatchId, matches};
use crate::kv::resp::Reply;

/// `DEL key ..` and `UNLINK key ..`
pub(crate) fn del(shard: &mut Shard, args: Args<'_>, reply: &mut Reply<'_>) -> Result<(), Error> {
    let removed = args.tail(1).filter(|key| shard.remove(key).is_some()).count();
    reply.count(removed);
    Ok(())
}

/// `EXISTS key ..` and `TOUCH key ..`; a key named twice counts twice.
pub(crate) fn exists(
    shard: &mut Shard,
    args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Result<(), Error> {
    let found = args.tail(1).filter(|key| shard.look_up(key).is_some()).count();
    reply.count(found);
    Ok(())
}

/// `TYPE key`
pub(crate) fn type_of(
    shard: &mut Shard,
    args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Result<(), Error> {
    reply.simple(shard.value(args.get(1)).map_or("none", |value| value.type_name()));
    Ok(())
}

/// `KEYS pattern`
pub(crate) fn keys(shard: &mut Shard, args: Args<'_>, reply: &mut Reply<'_>) -> Result<(), Error> {
    let (now, pattern) = (shard.now, args.get(1));
    let alive = shard.dbs[shard.current].iter().filter(|entry| entry.expires > now);
    let found = alive
        .map(|entry| entry.key.as_ref())
        .filter(|key| pattern == b"*" || matches(pattern, key));
    let found: Vec<&[u8]> = found.collect();
    reply.array(found.len());
    for key in found {
        reply.bulk(key);
    }
    Ok(())
}

/// `DBSIZE`
pub(crate) fn dbsize(shard: &mut Shard, _: Args<'_>, reply: &mut Reply<'_>) -> Result<(), Error> {
    reply.count(shard.dbs[shard.current].len());
    Ok(())
}

/// `RANDOMKEY`
pub(crate) fn randomkey(
    shard: &mut Shard,
    _: Args<'_>,
    reply: &mut Reply<'_>,
) -> Result<(), Error> {
    let start = shard.random();
    let skip = usize::try_from(shard.random() >> 33).unwrap_or(0);
    let now = shard.now;
    let db = &shard.dbs[shard.current];
    for step in 0..SEGMENTS {
        let segment = (usize::try_from(start >> 32).unwrap_or(0) + step) % SEGMENTS;
        let alive: Vec<_> = db.segment(segment).filter(|entry| entry.expires > now).collect();
        if !alive.is_empty() {
            reply.bulk(&alive[skip % alive.len()].key);
            return Ok(());
        }
    }
    reply.null();
    Ok(())
}

/// Checks the one option the flush commands take.
fn flush_option(args: Args<'_>) -> Result<(), Error> {
    match args.len() {
        1 => Ok(()),
        2 if args.is(1, "sync") || args.is(1, "async") => Ok(()),
        _ => Err(Error::SYNTAX),
    }
}

/// `FLUSHDB [ASYNC|SYNC]`
pub(crate) fn flushdb(
    shard: &mut Shard,
    args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Result<(), Error> {
    flush_option(args)?;
    shard.clear(shard.current);
    reply.ok();
    Ok(())
}

/// `FLUSHALL [ASYNC|SYNC]`
pub(crate) fn flushall(
    shard: &mut Shard,
    args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Result<(), Error> {
    flush_option(args)?;
    for db in 0..shard.dbs.len() {
        shard.clear(db);
    }
    reply.ok();
    Ok(())
}

impl Shard {
    /// Has `client` told, when its transaction begins, whether one of these keys was changed. Of one that watches keys
    /// already, by its own account, and is not known, the earlier watches are lost, so those keys count as changed.
    pub(crate) fn watch(&mut self, client: WatchId, again: bool, db: usize, args: Args<'_>) {
        self.current = db;
        if !again {
            // The end of a watch before this one may not have arrived.
            self.watches.end(client);
        }
        let is_lost = again && !self.watches.knows(client);
        for key in args.tail(1) {
            // A key that has expired already must not count as changed later.
            self.find(key);
            self.watches.add(client, db, key);
        }
        if is_lost {
            self.watches.spoil(client);
        }
    }

    /// Ends the watches of all clients of a node that is gone.
    pub(crate) fn unwatch_node(&mut self, node: u64) {
        self.watches.end_node(node);
    }

    /// Ends the client's watches; returns whether one of its keys was changed or has expired, if it is known.
    pub(crate) fn unwatch(&mut self, client: WatchId) -> Option<bool> {
        for (db, key) in self.watches.keys_of(client) {
            self.current = db;
            self.find(&key);
        }
        self.watches.end(client)
    }
}
