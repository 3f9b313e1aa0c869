//! `SCAN`: every key that is there from the first call to the last, in one process, is returned.
//!
//! A cursor is a place in an order that never changes: that of the keys' hashes, cut to 30 bits, shard after shard.
//! Ten more bits name the shard, so a cursor stays below 2^53, which every client language can hold. Keys added
//! or removed meanwhile move nobody, and neither does a table that grows. Keys of one place are returned together. The
//! order is another in each process, which the other 13 bits name: with the cursor of a process that has ended, as that
//! of a node that was started again, the shard begins anew, so that keys may come twice but none is missed. Two
//! processes have the same number once in 8,192 times; then keys may be.

use super::db::{SEGMENTS, hash, scan_order, segment_at};
use super::{Args, Error, Shard, matches, up_to_zero};
use crate::kv::resp::Reply;

/// Bits of a cursor that name the shard, and so the logarithm of the most shards there can be.
pub(crate) const SHARD_BITS: u32 = 10;
/// Bits of a cursor that name the process.
const PROCESS_BITS: u32 = 13;
/// Bits of a cursor that are a place in the scan order.
const PLACE_BITS: u32 = 53 - PROCESS_BITS - SHARD_BITS;
/// Bits of the scan order that a cursor leaves out.
const CUT_BITS: u32 = 64 - PLACE_BITS;
/// Keys returned per call unless `COUNT` says otherwise.
const COUNT: usize = 10;

/// Returns the shard a cursor points into.
pub(crate) fn cursor_shard(cursor: &[u8], shards: usize) -> Option<usize> {
    let cursor = read_cursor(cursor)?;
    let shard = usize::try_from(cursor & ((1 << SHARD_BITS) - 1)).ok()?;
    Some(shard.min(shards - 1))
}

/// Reads a cursor as Redis does, which has C's `strtoul` read it, up to a zero byte: nothing is zero, and a negative
/// number is counted from 2^64. A blank before it is an error.
fn read_cursor(text: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(up_to_zero(text)).ok()?;
    let (is_negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    if text.is_empty() {
        return Some(0);
    }
    // `parse` would take a second sign.
    let begins = digits.starts_with(|first: char| first.is_ascii_digit());
    let value: u64 = digits.parse().ok().filter(|_| begins)?;
    Some(if is_negative { value.wrapping_neg() } else { value })
}

/// Returns the place that a cursor names; the first if it is of another process.
fn place_of(cursor: u64) -> u64 {
    let place = cursor >> SHARD_BITS;
    if place >> PLACE_BITS == process() { place & ((1 << PLACE_BITS) - 1) } else { 0 }
}

/// Returns a number that is another in most processes: what a known key is hashed to.
fn process() -> u64 {
    hash(b"") >> (64 - PROCESS_BITS)
}

struct Options<'a> {
    count: usize,
    pattern: Option<&'a [u8]>,
    type_name: Option<&'a [u8]>,
}

fn options(args: Args<'_>) -> Result<Options<'_>, Error> {
    let mut options = Options { count: COUNT, pattern: None, type_name: None };
    for index in (2..args.len()).step_by(2) {
        if index + 1 >= args.len() {
            return Err(Error::SYNTAX);
        }
        if args.is(index, "count") {
            let count = args.integer(index + 1)?;
            options.count =
                usize::try_from(count).ok().filter(|&count| count > 0).ok_or(Error::SYNTAX)?;
        } else if args.is(index, "match") {
            options.pattern = Some(args.get(index + 1));
        } else if args.is(index, "type") {
            options.type_name = Some(args.get(index + 1));
        } else {
            return Err(Error::SYNTAX);
        }
    }
    Ok(options)
}

/// `SCAN cursor [MATCH pattern] [COUNT count] [TYPE type]`
pub(crate) fn scan(shard: &mut Shard, args: Args<'_>, reply: &mut Reply<'_>) -> Result<(), Error> {
    let cursor = read_cursor(args.get(1)).ok_or(Error::CURSOR)?;
    let options = options(args)?;
    let (mut next, found) = shard.scan_from(place_of(cursor), options.count);
    let keys: Vec<&[u8]> = found.iter().map(|(_, key)| key.as_ref()).collect();
    let mut chosen = Vec::with_capacity(keys.len());
    for key in keys {
        let Some(entry) = shard.find(key) else { continue };
        let typed = options
            .type_name
            .is_none_or(|name| name.eq_ignore_ascii_case(entry.value.type_name().as_bytes()));
        if typed && options.pattern.is_none_or(|pattern| matches(pattern, key)) {
            chosen.push(key);
        }
    }
    let place = shard.place;
    let cursor = match next.take() {
        Some(order) => (process() << PLACE_BITS | order) << SHARD_BITS | place.index as u64,
        None if place.index + 1 < place.count => place.index as u64 + 1,
        None => 0,
    };
    reply.array(2);
    reply.bulk(cursor.to_string().as_bytes());
    reply.array(chosen.len());
    for key in chosen {
        reply.bulk(key);
    }
    Ok(())
}

/// A key and its place.
type Placed = (u64, Box<[u8]>);

impl Shard {
    /// Returns at least `count` keys (fewer at the end) from place `from` on, in order, and the place after them.
    fn scan_from(&self, from: u64, count: usize) -> (Option<u64>, Vec<Placed>) {
        let db = &self.dbs[self.current];
        let mut found: Vec<Placed> = Vec::new();
        if db.len() == 0 {
            return (None, found);
        }
        for segment in segment_at(from << CUT_BITS)..SEGMENTS {
            let places =
                db.segment(segment).map(|entry| (scan_order(hash(&entry.key)) >> CUT_BITS, entry));
            let mut ahead: Vec<_> = places.filter(|(place, _)| *place >= from).collect();
            // A segment may have many more keys than are asked for: those behind the last one stay as they lie.
            let missing = count - found.len();
            let last = (ahead.len() >= missing)
                .then(|| ahead.select_nth_unstable_by_key(missing - 1, |(place, _)| *place).1.0);
            if let Some(last) = last {
                ahead.retain(|(place, _)| *place <= last);
            }
            ahead.sort_unstable_by_key(|(place, _)| *place);
            found.extend(ahead.into_iter().map(|(place, entry)| (place, entry.key.clone())));
            if let Some(last) = last {
                return ((last + 1 < 1 << PLACE_BITS).then_some(last + 1), found);
            }
        }
        (None, found)
    }
}
