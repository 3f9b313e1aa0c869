//! Makes one reply of several shards' replies.

use std::hash::{BuildHasher, RandomState};

use super::command::Merge;
use super::job::Job;
use super::resp::{Proto, Reply, parse_integer};

/// Merges the next reply of each shard in `fan` into `out`; the error is a shard whose reply is not there yet.
pub(crate) fn merge(
    merge: Merge,
    proto: Proto,
    fan: &[usize],
    jobs: &mut [Option<Box<Job>>],
    out: &mut Vec<u8>,
) -> Result<(), usize> {
    let mut replies = take_each(fan, jobs)?;
    let mut reply = Reply::new(out, proto);
    let error = replies.iter().find(|(_, bytes)| bytes.first() == Some(&b'-'));
    if let Some((_, error)) = error {
        reply.raw(error);
        return Ok(());
    }
    match merge {
        Merge::Sum => reply.integer(
            replies.iter().filter_map(|(_, bytes)| header(bytes)).map(|(sum, _)| sum).sum(),
        ),
        Merge::First => reply.raw(replies.first().map_or(b"+OK\r\n", |(_, bytes)| bytes)),
        Merge::Concat => concat(&replies, &mut reply),
        Merge::Values => values(fan, &mut replies, &mut reply),
        Merge::Any => any(&replies, &mut reply),
    }
    Ok(())
}

/// Takes the next reply of each shard in `fan`, in the order of the shards; the error is a shard whose reply is not there yet.
pub(crate) fn take_each<'a>(
    fan: &[usize],
    jobs: &'a mut [Option<Box<Job>>],
) -> Result<Vec<(usize, &'a [u8])>, usize> {
    if let Some(shard) = fan.iter().find(|shard| !is_ready(jobs, **shard)) {
        return Err(*shard);
    }
    let mut shards = fan.to_vec();
    shards.sort_unstable();
    let mut replies = Vec::with_capacity(jobs.len());
    for (shard, job) in jobs.iter_mut().enumerate() {
        if shards.binary_search(&shard).is_ok()
            && let Some(reply) = job.as_mut().and_then(|job| job.take())
        {
            replies.push((shard, reply));
        }
    }
    Ok(replies)
}

fn is_ready(jobs: &mut [Option<Box<Job>>], shard: usize) -> bool {
    let Some(Some(job)) = jobs.get_mut(shard) else { return false };
    if !job.has_reply() {
        job.forget_taken();
    }
    job.has_reply()
}

/// Reads a reply's first line as a tag and a number; returns the number and what follows the line.
fn header(reply: &[u8]) -> Option<(i64, &[u8])> {
    let end = reply.iter().position(|&byte| byte == b'\r')?;
    Some((parse_integer(reply.get(1..end)?)?, reply.get(end + 2..)?))
}

fn concat(replies: &[(usize, &[u8])], reply: &mut Reply<'_>) {
    let arrays = || replies.iter().filter_map(|(_, bytes)| header(bytes));
    let len: i64 = arrays().map(|(len, _)| len).sum();
    reply.array(usize::try_from(len).unwrap_or(0));
    arrays().for_each(|(_, body)| reply.raw(body));
}

fn values(fan: &[usize], replies: &mut [(usize, &[u8])], reply: &mut Reply<'_>) {
    for (_, bytes) in replies.iter_mut() {
        *bytes = header(bytes).map_or(&[], |(_, body)| body);
    }
    reply.array(fan.len());
    for shard in fan {
        let Ok(place) = replies.binary_search_by_key(shard, |(of, _)| *of) else { continue };
        let (_, rest) = &mut replies[place];
        let (value, after) = rest.split_at(value_len(rest));
        reply.raw(value);
        *rest = after;
    }
}

/// Returns the length of the bulk string or null that `bytes` begins with.
fn value_len(bytes: &[u8]) -> usize {
    let len = match header(bytes) {
        Some((len @ 0.., body)) => bytes.len() - body.len() + usize::try_from(len).unwrap_or(0) + 2,
        Some((_, body)) => bytes.len() - body.len(),
        // A null of RESP3 has no number.
        None => 3,
    };
    len.min(bytes.len())
}

fn any(replies: &[(usize, &[u8])], reply: &mut Reply<'_>) {
    let is_null = |bytes: &[u8]| matches!(bytes, [b'_', ..] | [b'$', b'-', ..]);
    let there: Vec<_> = replies.iter().filter(|(_, bytes)| !is_null(bytes)).collect();
    // One by chance, or the keys of the shards behind the first would never be seen. Each new state hashes otherwise.
    let chance = usize::try_from(RandomState::new().hash_one(0) >> 33).unwrap_or(0);
    match there.get(chance % there.len().max(1)) {
        Some((_, bytes)) => reply.raw(bytes),
        None => reply.null(),
    }
}
