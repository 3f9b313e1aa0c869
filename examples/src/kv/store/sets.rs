//! Commands on sets.

use super::fields::Fields;
use super::shard::Change;
use super::value::Value;
use super::{Args, Error, Shard};
use crate::kv::resp::Reply;

fn members<'a>(shard: &'a mut Shard, key: &[u8]) -> Result<Option<&'a Fields<()>>, Error> {
    shard.value(key).map(Value::set).transpose()
}

/// `SADD key member ..`
pub(crate) fn sadd(shard: &mut Shard, args: Args<'_>, reply: &mut Reply<'_>) -> Result<(), Error> {
    let added = shard.upsert(
        args.get(1),
        || Value::Set(Box::default()),
        |value| {
            let members = value.set_mut()?;
            let added = args.tail(2).filter(|member| members.insert(member, ()));
            Ok(Change::counted(added.count()))
        },
    )?;
    reply.count(added);
    Ok(())
}

/// `SREM key member ..`
pub(crate) fn srem(shard: &mut Shard, args: Args<'_>, reply: &mut Reply<'_>) -> Result<(), Error> {
    let removed = shard.update(args.get(1), |value| {
        let members = value.set_mut()?;
        Ok(Change::counted(args.tail(2).filter(|member| members.remove(member)).count()))
    });
    reply.count(removed.unwrap_or(Ok(0))?);
    Ok(())
}

/// `SMEMBERS key`
pub(crate) fn smembers(
    shard: &mut Shard,
    args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Result<(), Error> {
    let members = members(shard, args.get(1))?;
    reply.set(members.map_or(0, Fields::len));
    if let Some(members) = members {
        members.for_each(|member, ()| reply.bulk(member));
    }
    Ok(())
}

/// `SISMEMBER key member`
pub(crate) fn sismember(
    shard: &mut Shard,
    args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Result<(), Error> {
    let found =
        members(shard, args.get(1))?.is_some_and(|members| members.get(args.get(2)).is_some());
    reply.integer(i64::from(found));
    Ok(())
}

/// `SMISMEMBER key member ..`
pub(crate) fn smismember(
    shard: &mut Shard,
    args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Result<(), Error> {
    let members = members(shard, args.get(1))?;
    reply.array(args.len() - 2);
    for member in args.tail(2) {
        reply.integer(i64::from(members.is_some_and(|members| members.get(member).is_some())));
    }
    Ok(())
}

/// `SCARD key`
pub(crate) fn scard(shard: &mut Shard, args: Args<'_>, reply: &mut Reply<'_>) -> Result<(), Error> {
    let len = members(shard, args.get(1))?.map_or(0, Fields::len);
    reply.count(len);
    Ok(())
}
