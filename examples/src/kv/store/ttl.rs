//! Times to live: reading them from arguments, and the commands about them.

use super::db::NEVER;
use super::{Args, Error, Shard};
use crate::kv::resp::Reply;

/// How a time is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Unit {
    pub(crate) milliseconds: bool,
    /// Counted from now, not from 1970.
    pub(crate) relative: bool,
}

impl Unit {
    pub(crate) const EX: Self = Self { milliseconds: false, relative: true };
    pub(crate) const PX: Self = Self { milliseconds: true, relative: true };
    pub(crate) const EXAT: Self = Self { milliseconds: false, relative: false };
    pub(crate) const PXAT: Self = Self { milliseconds: true, relative: false };

    /// Returns the unit an option names.
    pub(crate) fn named(name: &[u8]) -> Option<Self> {
        let units =
            [("ex", Self::EX), ("px", Self::PX), ("exat", Self::EXAT), ("pxat", Self::PXAT)];
        units
            .iter()
            .find(|(text, _)| name.eq_ignore_ascii_case(text.as_bytes()))
            .map(|(_, unit)| *unit)
    }

    /// Returns `time` as milliseconds since 1970; `None` if it is too far away.
    pub(crate) fn instant(self, time: i64, now: i64) -> Option<i64> {
        let time = if self.milliseconds { time } else { time.checked_mul(1000)? };
        if self.relative { time.checked_add(now) } else { Some(time) }
    }

    /// The same for `SET` and its like, where zero and less is an error of command `name`.
    pub(crate) fn future(self, time: i64, now: i64, name: &str) -> Result<i64, Error> {
        let instant = if time > 0 { self.instant(time, now) } else { None };
        instant.map(|instant| instant.min(NEVER - 1)).ok_or_else(|| Error::expire_time(name))
    }
}

#[derive(Default)]
struct Conditions {
    nx: bool,
    xx: bool,
    gt: bool,
    lt: bool,
}

impl Conditions {
    fn read(args: Args<'_>) -> Result<Self, Error> {
        let mut conditions = Self::default();
        for (index, word) in args.tail(3).enumerate() {
            match () {
                () if args.is(index + 3, "nx") => conditions.nx = true,
                () if args.is(index + 3, "xx") => conditions.xx = true,
                () if args.is(index + 3, "gt") => conditions.gt = true,
                () if args.is(index + 3, "lt") => conditions.lt = true,
                () => {
                    return Err(Error::quoting("ERR Unsupported option ", word, ""));
                }
            }
        }
        if conditions.nx && (conditions.xx || conditions.gt || conditions.lt) {
            return Err(Error::new(
                "ERR NX and XX, GT or LT options at the same time are not compatible",
            ));
        }
        if conditions.gt && conditions.lt {
            return Err(Error::new("ERR GT and LT options at the same time are not compatible"));
        }
        Ok(conditions)
    }

    /// Returns whether an expiry may go from `was` to `when`; never ends later than any time.
    fn allow(&self, was: i64, when: i64) -> bool {
        !(self.nx && was != NEVER
            || self.xx && was == NEVER
            || self.gt && when <= was
            || self.lt && when >= was)
    }
}

fn set_ttl(
    shard: &mut Shard,
    args: Args<'_>,
    reply: &mut Reply<'_>,
    unit: Unit,
    name: &str,
) -> Result<(), Error> {
    let conditions = Conditions::read(args)?;
    let when = unit.instant(args.integer(2)?, shard.now).ok_or_else(|| Error::expire_time(name))?;
    let when = when.min(NEVER - 1);
    let key = args.get(1);
    let Some(was) = shard.find(key).map(|entry| entry.expires) else {
        reply.integer(0);
        return Ok(());
    };
    if !conditions.allow(was, when) {
        reply.integer(0);
        return Ok(());
    }
    if when <= shard.now {
        shard.remove(key);
    } else {
        shard.set_expiry(key, when);
    }
    reply.integer(1);
    Ok(())
}

/// `EXPIRE key seconds [NX|XX|GT|LT]`
pub(crate) fn expire(
    shard: &mut Shard,
    args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Result<(), Error> {
    set_ttl(shard, args, reply, Unit::EX, "expire")
}

/// `PEXPIRE key milliseconds [NX|XX|GT|LT]`
pub(crate) fn pexpire(
    shard: &mut Shard,
    args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Result<(), Error> {
    set_ttl(shard, args, reply, Unit::PX, "pexpire")
}

/// `EXPIREAT key seconds [NX|XX|GT|LT]`
pub(crate) fn expireat(
    shard: &mut Shard,
    args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Result<(), Error> {
    set_ttl(shard, args, reply, Unit::EXAT, "expireat")
}

/// `PEXPIREAT key milliseconds [NX|XX|GT|LT]`
pub(crate) fn pexpireat(
    shard: &mut Shard,
    args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Result<(), Error> {
    set_ttl(shard, args, reply, Unit::PXAT, "pexpireat")
}

/// Answers -2 for no key, -1 for no expiry, or what `show` makes of the expiry and the time.
fn show(
    shard: &mut Shard,
    args: Args<'_>,
    reply: &mut Reply<'_>,
    show: fn(i64, i64) -> i64,
) -> Result<(), Error> {
    let now = shard.now;
    reply.integer(match shard.look_up(args.get(1)).map(|entry| entry.expires) {
        None => -2,
        Some(NEVER) => -1,
        Some(expires) => show(expires, now),
    });
    Ok(())
}

/// `TTL key`
pub(crate) fn ttl(shard: &mut Shard, args: Args<'_>, reply: &mut Reply<'_>) -> Result<(), Error> {
    show(shard, args, reply, |expires, now| (expires - now + 500) / 1000)
}

/// `PTTL key`
pub(crate) fn pttl(shard: &mut Shard, args: Args<'_>, reply: &mut Reply<'_>) -> Result<(), Error> {
    show(shard, args, reply, |expires, now| expires - now)
}

/// `EXPIRETIME key`
pub(crate) fn expiretime(
    shard: &mut Shard,
    args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Result<(), Error> {
    // Rounded, also where half a second more is too much.
    show(shard, args, reply, |expires, _| expires / 1000 + (expires % 1000 + 500) / 1000)
}

/// `PEXPIRETIME key`
pub(crate) fn pexpiretime(
    shard: &mut Shard,
    args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Result<(), Error> {
    show(shard, args, reply, |expires, _| expires)
}

/// `PERSIST key`
pub(crate) fn persist(
    shard: &mut Shard,
    args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Result<(), Error> {
    let key = args.get(1);
    let volatile = shard.find(key).is_some_and(|entry| entry.expires != NEVER);
    if volatile {
        shard.set_expiry(key, NEVER);
    }
    reply.integer(i64::from(volatile));
    Ok(())
}
