//! Commands on lists.

use super::shard::Change;
use super::value::{List, Value};
use super::{Args, Error, Shard};
use crate::kv::resp::Reply;

#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Left,
    Right,
}

impl End {
    fn push(self, list: &mut List, item: &[u8]) {
        match self {
            Self::Left => list.push_front(item),
            Self::Right => list.push_back(item),
        }
    }

    fn pop(self, list: &mut List) -> Option<Box<[u8]>> {
        match self {
            Self::Left => list.pop_front(),
            Self::Right => list.pop_back(),
        }
    }
}

fn push(shard: &mut Shard, args: Args<'_>, reply: &mut Reply<'_>, end: End) -> Result<(), Error> {
    let len = shard.upsert(
        args.get(1),
        || Value::List(Box::default()),
        |value| {
            let list = value.list_mut()?;
            for item in args.tail(2) {
                end.push(list, item);
            }
            Ok(Change::Made(list.items().len()))
        },
    )?;
    reply.count(len);
    Ok(())
}

fn push_existing(
    shard: &mut Shard,
    args: Args<'_>,
    reply: &mut Reply<'_>,
    end: End,
) -> Result<(), Error> {
    if shard.find(args.get(1)).is_none() {
        reply.integer(0);
        return Ok(());
    }
    push(shard, args, reply, end)
}

fn pop(
    shard: &mut Shard,
    args: Args<'_>,
    reply: &mut Reply<'_>,
    end: End,
    name: &str,
) -> Result<(), Error> {
    let count = match args.len() {
        2 => None,
        3 => Some(args.count(2)?),
        _ => return Err(Error::arity(name)),
    };
    let popped = shard.update(args.get(1), |value| {
        let list = value.list_mut()?;
        let Some(count) = count else {
            match end.pop(list) {
                Some(item) => reply.bulk(&item),
                None => reply.null(),
            }
            return Ok(Change::Made(1));
        };
        let count = count.min(list.items().len());
        reply.array(count);
        for _ in 0..count {
            let Some(item) = end.pop(list) else { break };
            reply.bulk(&item);
        }
        Ok(Change::counted(count))
    });
    match (popped, count) {
        (Some(result), _) => return result.map(|_| ()),
        (None, Some(_)) => reply.null_array(),
        (None, None) => reply.null(),
    }
    Ok(())
}

/// `LPUSH key item ..`
pub(crate) fn lpush(shard: &mut Shard, args: Args<'_>, reply: &mut Reply<'_>) -> Result<(), Error> {
    push(shard, args, reply, End::Left)
}

/// `RPUSH key item ..`
pub(crate) fn rpush(shard: &mut Shard, args: Args<'_>, reply: &mut Reply<'_>) -> Result<(), Error> {
    push(shard, args, reply, End::Right)
}

/// `LPUSHX key item ..`
pub(crate) fn lpushx(
    shard: &mut Shard,
    args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Result<(), Error> {
    push_existing(shard, args, reply, End::Left)
}

/// `RPUSHX key item ..`
pub(crate) fn rpushx(
    shard: &mut Shard,
    args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Result<(), Error> {
    push_existing(shard, args, reply, End::Right)
}

/// `LPOP key [count]`
pub(crate) fn lpop(shard: &mut Shard, args: Args<'_>, reply: &mut Reply<'_>) -> Result<(), Error> {
    pop(shard, args, reply, End::Left, "lpop")
}

/// `RPOP key [count]`
pub(crate) fn rpop(shard: &mut Shard, args: Args<'_>, reply: &mut Reply<'_>) -> Result<(), Error> {
    pop(shard, args, reply, End::Right, "rpop")
}

/// `LLEN key`
pub(crate) fn llen(shard: &mut Shard, args: Args<'_>, reply: &mut Reply<'_>) -> Result<(), Error> {
    let len = shard
        .value(args.get(1))
        .map_or(Ok(0), |value| value.list().map(|list| list.items().len()))?;
    reply.count(len);
    Ok(())
}

/// Returns the position an index counted from the left, or from the right if negative, stands for.
fn position(index: i64, len: usize) -> i64 {
    let len = i64::try_from(len).unwrap_or(i64::MAX);
    if index < 0 { index.saturating_add(len) } else { index }
}

/// `LRANGE key start stop`
pub(crate) fn lrange(
    shard: &mut Shard,
    args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Result<(), Error> {
    let (start, stop) = (args.integer(2)?, args.integer(3)?);
    let Some(value) = shard.value(args.get(1)) else {
        reply.array(0);
        return Ok(());
    };
    let items = value.list()?.items();
    let start = usize::try_from(position(start, items.len()).max(0)).unwrap_or(usize::MAX);
    let stop = usize::try_from(position(stop, items.len()).saturating_add(1))
        .unwrap_or(0)
        .min(items.len());
    if start >= stop {
        reply.array(0);
        return Ok(());
    }
    reply.array(stop - start);
    for item in items.range(start..stop) {
        reply.bulk(item);
    }
    Ok(())
}

/// `LINDEX key index`
pub(crate) fn lindex(
    shard: &mut Shard,
    args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Result<(), Error> {
    let Some(value) = shard.value(args.get(1)) else {
        reply.null();
        return Ok(());
    };
    let items = value.list()?.items();
    let at = usize::try_from(position(args.integer(2)?, items.len())).ok();
    match at.and_then(|at| items.get(at)) {
        Some(item) => reply.bulk(item),
        None => reply.null(),
    }
    Ok(())
}
