//! Commands on hashes.

use super::fields::Fields;
use super::shard::Change;
use super::value::Value;
use super::{Args, Error, Shard};
use crate::kv::resp::Reply;

fn insert(shard: &mut Shard, args: Args<'_>, name: &str) -> Result<usize, Error> {
    if !args.len().is_multiple_of(2) {
        return Err(Error::arity(name));
    }
    shard.upsert(
        args.get(1),
        || Value::Hash(Box::default()),
        |value| {
            let fields = value.hash_mut()?;
            let pairs = args.pairs(2);
            let added = pairs.filter(|(field, value)| fields.insert(field, (*value).into()));
            Ok(Change::Made(added.count()))
        },
    )
}

/// `HSET key field value ..`
pub(crate) fn hset(shard: &mut Shard, args: Args<'_>, reply: &mut Reply<'_>) -> Result<(), Error> {
    let added = insert(shard, args, "hset")?;
    reply.count(added);
    Ok(())
}

/// `HMSET key field value ..`
pub(crate) fn hmset(shard: &mut Shard, args: Args<'_>, reply: &mut Reply<'_>) -> Result<(), Error> {
    insert(shard, args, "hmset")?;
    reply.ok();
    Ok(())
}

/// Returns the fields of the hash at `key`, if there is one.
fn fields<'a>(shard: &'a mut Shard, key: &[u8]) -> Result<Option<&'a Fields<Box<[u8]>>>, Error> {
    shard.value(key).map(Value::hash).transpose()
}

fn bulk_or_null(value: Option<&[u8]>, reply: &mut Reply<'_>) {
    match value {
        Some(value) => reply.bulk(value),
        None => reply.null(),
    }
}

/// `HGET key field`
pub(crate) fn hget(shard: &mut Shard, args: Args<'_>, reply: &mut Reply<'_>) -> Result<(), Error> {
    let value = fields(shard, args.get(1))?.and_then(|fields| fields.get(args.get(2)));
    bulk_or_null(value.map(Box::as_ref), reply);
    Ok(())
}

/// `HMGET key field ..`
pub(crate) fn hmget(shard: &mut Shard, args: Args<'_>, reply: &mut Reply<'_>) -> Result<(), Error> {
    let fields = fields(shard, args.get(1))?;
    reply.array(args.len() - 2);
    for field in args.tail(2) {
        let value = fields.and_then(|fields| fields.get(field));
        bulk_or_null(value.map(Box::as_ref), reply);
    }
    Ok(())
}

/// `HDEL key field ..`
pub(crate) fn hdel(shard: &mut Shard, args: Args<'_>, reply: &mut Reply<'_>) -> Result<(), Error> {
    let removed = shard.update(args.get(1), |value| {
        let fields = value.hash_mut()?;
        Ok(Change::counted(args.tail(2).filter(|field| fields.remove(field)).count()))
    });
    reply.count(removed.unwrap_or(Ok(0))?);
    Ok(())
}

/// `HLEN key`
pub(crate) fn hlen(shard: &mut Shard, args: Args<'_>, reply: &mut Reply<'_>) -> Result<(), Error> {
    let len = fields(shard, args.get(1))?.map_or(0, Fields::len);
    reply.count(len);
    Ok(())
}

/// `HEXISTS key field`
pub(crate) fn hexists(
    shard: &mut Shard,
    args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Result<(), Error> {
    let found = fields(shard, args.get(1))?.is_some_and(|fields| fields.get(args.get(2)).is_some());
    reply.integer(i64::from(found));
    Ok(())
}

/// `HGETALL key`
pub(crate) fn hgetall(
    shard: &mut Shard,
    args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Result<(), Error> {
    let fields = fields(shard, args.get(1))?;
    reply.map(fields.map_or(0, Fields::len));
    if let Some(fields) = fields {
        fields.for_each(|field, value| {
            reply.bulk(field);
            reply.bulk(value);
        });
    }
    Ok(())
}

/// `HKEYS key`
pub(crate) fn hkeys(shard: &mut Shard, args: Args<'_>, reply: &mut Reply<'_>) -> Result<(), Error> {
    let fields = fields(shard, args.get(1))?;
    reply.array(fields.map_or(0, Fields::len));
    if let Some(fields) = fields {
        fields.for_each(|field, _| reply.bulk(field));
    }
    Ok(())
}

/// `HVALS key`
pub(crate) fn hvals(shard: &mut Shard, args: Args<'_>, reply: &mut Reply<'_>) -> Result<(), Error> {
    let fields = fields(shard, args.get(1))?;
    reply.array(fields.map_or(0, Fields::len));
    if let Some(fields) = fields {
        fields.for_each(|_, value| reply.bulk(value));
    }
    Ok(())
}
