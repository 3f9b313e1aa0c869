//! Commands on strings.

use super::db::NEVER;
use super::shard::Change;
use super::ttl::Unit;
use super::value::Value;
use super::{Args, Error, Shard};
use crate::kv::resp::Reply;

/// Longest string, as `proto-max-bulk-len`.
const STRING_BYTES_MAX: usize = 512 * 1024 * 1024;

/// Writes a string, a null for nothing, or the error for another type.
fn answer(value: Option<&Value>, reply: &mut Reply<'_>) -> Result<(), Error> {
    match value {
        None => reply.null(),
        Some(Value::Text(text)) => reply.bulk(text),
        Some(Value::Number(number)) => reply.bulk_integer(*number),
        Some(Value::List(_) | Value::Hash(_) | Value::Set(_)) => return Err(Error::WRONG_TYPE),
    }
    Ok(())
}

/// `GET key`
pub(crate) fn get(shard: &mut Shard, args: Args<'_>, reply: &mut Reply<'_>) -> Result<(), Error> {
    answer(shard.value(args.get(1)), reply)
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Only {
    #[default]
    Always,
    Missing,
    Present,
}

/// What happens to the key's expiry.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Expiry {
    #[default]
    Clear,
    Keep,
    At(Unit, usize),
}

impl Expiry {
    /// Returns whether a time in `unit` can still be given; Redis lets the same unit stand twice.
    fn may_be(self, unit: Unit) -> bool {
        match self {
            Self::Clear => true,
            Self::Keep => false,
            Self::At(before, _) => before == unit,
        }
    }
}

#[derive(Default)]
struct SetOptions {
    only: Only,
    expiry: Expiry,
    get: bool,
}

impl SetOptions {
    fn read(args: Args<'_>) -> Result<Self, Error> {
        let mut options = Self::default();
        let mut index = 3;
        while index < args.len() {
            if let Some(unit) = Unit::named(args.get(index))
                && options.expiry.may_be(unit)
                && index + 1 < args.len()
            {
                options.expiry = Expiry::At(unit, index + 1);
                index += 1;
            } else if args.is(index, "nx") && options.only != Only::Present {
                options.only = Only::Missing;
            } else if args.is(index, "xx") && options.only != Only::Missing {
                options.only = Only::Present;
            } else if args.is(index, "keepttl")
                && matches!(options.expiry, Expiry::Clear | Expiry::Keep)
            {
                options.expiry = Expiry::Keep;
            } else if args.is(index, "get") {
                options.get = true;
            } else {
                return Err(Error::SYNTAX);
            }
            index += 1;
        }
        Ok(options)
    }
}

/// `SET key value [NX|XX] [GET] [EX s|PX ms|EXAT s|PXAT ms|KEEPTTL]`
pub(crate) fn set(shard: &mut Shard, args: Args<'_>, reply: &mut Reply<'_>) -> Result<(), Error> {
    let key = args.get(1);
    if args.len() == 3 {
        shard.put_text(key, args.get(2), NEVER);
        reply.ok();
        return Ok(());
    }
    let options = SetOptions::read(args)?;
    let expires = match options.expiry {
        Expiry::At(unit, index) => unit.future(args.integer(index)?, shard.now, "set")?,
        Expiry::Keep => shard.find(key).map_or(NEVER, |entry| entry.expires),
        Expiry::Clear => NEVER,
    };
    if options.get {
        answer(shard.value(key), reply)?;
    }
    let present = shard.find(key).is_some();
    let refused =
        options.only == Only::Missing && present || options.only == Only::Present && !present;
    if !refused {
        shard.put_text(key, args.get(2), expires);
    }
    match (options.get, refused) {
        (true, _) => {}
        (false, true) => reply.null(),
        (false, false) => reply.ok(),
    }
    Ok(())
}

/// `SETNX key value`
pub(crate) fn setnx(shard: &mut Shard, args: Args<'_>, reply: &mut Reply<'_>) -> Result<(), Error> {
    let missing = shard.find(args.get(1)).is_none();
    if missing {
        shard.put_text(args.get(1), args.get(2), NEVER);
    }
    reply.integer(i64::from(missing));
    Ok(())
}

/// `SETEX key seconds value`
pub(crate) fn setex(shard: &mut Shard, args: Args<'_>, reply: &mut Reply<'_>) -> Result<(), Error> {
    let expires = Unit::EX.future(args.integer(2)?, shard.now, "setex")?;
    shard.put_text(args.get(1), args.get(3), expires);
    reply.ok();
    Ok(())
}

/// `PSETEX key milliseconds value`
pub(crate) fn psetex(
    shard: &mut Shard,
    args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Result<(), Error> {
    let expires = Unit::PX.future(args.integer(2)?, shard.now, "psetex")?;
    shard.put_text(args.get(1), args.get(3), expires);
    reply.ok();
    Ok(())
}

/// `GETSET key value`
pub(crate) fn getset(
    shard: &mut Shard,
    args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Result<(), Error> {
    answer(shard.value(args.get(1)), reply)?;
    shard.put_text(args.get(1), args.get(2), NEVER);
    Ok(())
}

/// `GETDEL key`
pub(crate) fn getdel(
    shard: &mut Shard,
    args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Result<(), Error> {
    answer(shard.value(args.get(1)), reply)?;
    shard.remove(args.get(1));
    Ok(())
}

/// `GETEX key [EX s|PX ms|EXAT s|PXAT ms|PERSIST]`
pub(crate) fn getex(shard: &mut Shard, args: Args<'_>, reply: &mut Reply<'_>) -> Result<(), Error> {
    let mut option = Expiry::Clear;
    let mut index = 2;
    while index < args.len() {
        if let Some(unit) = Unit::named(args.get(index))
            && option.may_be(unit)
            && index + 1 < args.len()
        {
            option = Expiry::At(unit, index + 1);
            index += 1;
        } else if args.is(index, "persist") && matches!(option, Expiry::Clear | Expiry::Keep) {
            // Kept is the key, without its end.
            option = Expiry::Keep;
        } else {
            return Err(Error::SYNTAX);
        }
        index += 1;
    }
    let key = args.get(1);
    let Some(entry) = shard.look_up(key) else {
        reply.null();
        return Ok(());
    };
    if !entry.value.is_string() {
        return Err(Error::WRONG_TYPE);
    }
    let volatile = entry.expires != NEVER;
    let expires = match option {
        Expiry::At(unit, index) => Some(unit.future(args.integer(index)?, shard.now, "getex")?),
        Expiry::Keep if volatile => Some(NEVER),
        Expiry::Keep | Expiry::Clear => None,
    };
    answer(shard.find(key).map(|entry| &entry.value), reply)?;
    match expires {
        Some(expires) if expires <= shard.now => drop(shard.remove(key)),
        Some(expires) => shard.set_expiry(key, expires),
        None => {}
    }
    Ok(())
}

fn add(shard: &mut Shard, key: &[u8], amount: i64, reply: &mut Reply<'_>) -> Result<(), Error> {
    let sum = shard.upsert(
        key,
        || Value::Number(0),
        |value| {
            let sum = value.number()?.checked_add(amount).ok_or(Error::OVERFLOW)?;
            *value = Value::Number(sum);
            Ok(Change::Made(sum))
        },
    )?;
    reply.integer(sum);
    Ok(())
}

/// `INCR key`
pub(crate) fn incr(shard: &mut Shard, args: Args<'_>, reply: &mut Reply<'_>) -> Result<(), Error> {
    add(shard, args.get(1), 1, reply)
}

/// `DECR key`
pub(crate) fn decr(shard: &mut Shard, args: Args<'_>, reply: &mut Reply<'_>) -> Result<(), Error> {
    add(shard, args.get(1), -1, reply)
}

/// `INCRBY key amount`
pub(crate) fn incrby(
    shard: &mut Shard,
    args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Result<(), Error> {
    add(shard, args.get(1), args.integer(2)?, reply)
}

/// `DECRBY key amount`
pub(crate) fn decrby(
    shard: &mut Shard,
    args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Result<(), Error> {
    let amount = args.integer(2)?.checked_neg().ok_or(Error::DECREMENT)?;
    add(shard, args.get(1), amount, reply)
}

/// `APPEND key value`
pub(crate) fn append(
    shard: &mut Shard,
    args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Result<(), Error> {
    let tail = args.get(2);
    let len = shard.upsert(
        args.get(1),
        || Value::text(b""),
        |value| {
            let text = value.text_mut()?;
            if text.len() + tail.len() > STRING_BYTES_MAX {
                return Err(Error::TOO_LONG);
            }
            text.extend_from_slice(tail);
            Ok(Change::Made(text.len()))
        },
    )?;
    reply.count(len);
    Ok(())
}

/// `STRLEN key`
pub(crate) fn strlen(
    shard: &mut Shard,
    args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Result<(), Error> {
    let len = match shard.value(args.get(1)) {
        None => 0,
        Some(Value::Text(text)) => text.len(),
        Some(Value::Number(number)) => itoa::Buffer::new().format(*number).len(),
        Some(Value::List(_) | Value::Hash(_) | Value::Set(_)) => return Err(Error::WRONG_TYPE),
    };
    reply.count(len);
    Ok(())
}

/// `MGET key ..`
pub(crate) fn mget(shard: &mut Shard, args: Args<'_>, reply: &mut Reply<'_>) -> Result<(), Error> {
    reply.array(args.len() - 1);
    for key in args.tail(1) {
        if answer(shard.value(key), reply).is_err() {
            reply.null();
        }
    }
    Ok(())
}

/// `MSET key value ..`
pub(crate) fn mset(shard: &mut Shard, args: Args<'_>, reply: &mut Reply<'_>) -> Result<(), Error> {
    for (key, value) in args.pairs(1) {
        shard.put_text(key, value, NEVER);
    }
    reply.ok();
    Ok(())
}

/// `MSETNX key value ..`
pub(crate) fn msetnx(
    shard: &mut Shard,
    args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Result<(), Error> {
    let missing = args.pairs(1).all(|(key, _)| shard.find(key).is_none());
    if missing {
        for (key, value) in args.pairs(1) {
            shard.put_text(key, value, NEVER);
        }
    }
    reply.integer(i64::from(missing));
    Ok(())
}
