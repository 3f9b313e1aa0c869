//! `COMMAND` and its subcommands.

use super::{Flags, Spec, TABLE, find};
use crate::kv::own::write_help;
use crate::kv::resp::Reply;
use crate::kv::store::{Args, Error, matches};

const HELP: [&str; 14] = [
    "(no subcommand)",
    "    Return details about all commands.",
    "COUNT",
    "    Return the total number of commands in this server.",
    "LIST [FILTERBY PATTERN <pattern>]",
    "    Return a list of all commands in this server.",
    "INFO [<command-name> ...]",
    "    Return details about multiple commands, or about all.",
    "DOCS [<command-name> ...]",
    "    Return documentation details about multiple commands, or about all.",
    "GETKEYS <full-command>",
    "    Return the keys from a full command.",
    "HELP",
    "    Print this help.",
];

/// Answers `COMMAND ..`.
pub(crate) fn answer(args: Args<'_>, reply: &mut Reply<'_>) -> Result<(), Error> {
    match args.get(1).to_ascii_lowercase().as_slice() {
        b"" if args.len() == 1 => all(reply),
        b"count" if args.len() == 2 => reply.count(TABLE.len()),
        b"info" if args.len() == 2 => all(reply),
        b"info" => {
            reply.array(args.len() - 2);
            for name in args.tail(2) {
                match find(name) {
                    Some(spec) => describe(spec, reply),
                    None => reply.null(),
                }
            }
        }
        b"docs" => docs(args, reply),
        b"list" => list(args, reply)?,
        b"getkeys" if args.len() > 2 => get_keys(args, reply)?,
        b"help" => write_help(reply, "COMMAND", &HELP),
        _ => return Err(Error::SYNTAX),
    }
    Ok(())
}

fn all(reply: &mut Reply<'_>) {
    reply.array(TABLE.len());
    TABLE.iter().for_each(|spec| describe(spec, reply));
}

/// Writes the ten facts of a command.
fn describe(spec: &Spec, reply: &mut Reply<'_>) {
    reply.array(10);
    reply.bulk(spec.name.as_bytes());
    reply.integer(i64::from(spec.arity));
    simple_set(&flags(spec), reply);
    reply.integer(i64::from(spec.keys.first));
    reply.integer(i64::from(spec.keys.last));
    reply.integer(i64::from(spec.keys.step));
    simple_set(&categories(spec), reply);
    reply.set(0);
    key_specs(spec, reply);
    reply.set(0);
}

fn simple_set(names: &[&str], reply: &mut Reply<'_>) {
    reply.set(names.len());
    names.iter().for_each(|name| reply.simple(name));
}

fn flags(spec: &Spec) -> Vec<&'static str> {
    let names = [
        (Flags::WRITE, "write"),
        (Flags::READONLY, "readonly"),
        (Flags::DENYOOM, "denyoom"),
        (Flags::PUBSUB, "pubsub"),
        (Flags::NOSCRIPT, "noscript"),
        (Flags::LOADING, "loading"),
        (Flags::STALE, "stale"),
        (Flags::FAST, "fast"),
        (Flags::NO_AUTH, "no_auth"),
    ];
    names.iter().filter(|(flag, _)| spec.flags.has(*flag)).map(|(_, name)| *name).collect()
}

fn categories(spec: &Spec) -> Vec<&'static str> {
    let group = match spec.group {
        "generic" => "@keyspace",
        "string" => "@string",
        "list" => "@list",
        "hash" => "@hash",
        "set" => "@set",
        "pubsub" => "@pubsub",
        "connection" => "@connection",
        "transactions" => "@transaction",
        _ => "@admin",
    };
    let fast = if spec.flags.has(Flags::FAST) { "@fast" } else { "@slow" };
    let mut names = vec![group];
    names.extend(spec.flags.has(Flags::WRITE).then_some("@write"));
    names.extend(spec.flags.has(Flags::READONLY).then_some("@read"));
    names.push(fast);
    names
}

/// Writes where the keys are, in the form introduced by Redis 7.
fn key_specs(spec: &Spec, reply: &mut Reply<'_>) {
    if spec.keys.first == 0 {
        return reply.set(0);
    }
    let last = if spec.keys.last < 0 { spec.keys.last } else { spec.keys.last - spec.keys.first };
    reply.set(1);
    let notes = notes(spec);
    reply.map(3 + usize::from(notes.is_some()));
    if let Some(notes) = notes {
        reply.bulk(b"notes");
        reply.bulk(notes.as_bytes());
    }
    reply.bulk(b"flags");
    simple_set(key_flags(spec), reply);
    reply.bulk(b"begin_search");
    reply.map(2);
    reply.bulk(b"type");
    reply.bulk(b"index");
    reply.bulk(b"spec");
    reply.map(1);
    reply.bulk(b"index");
    reply.integer(i64::from(spec.keys.first));
    reply.bulk(b"find_keys");
    reply.map(2);
    reply.bulk(b"type");
    reply.bulk(b"range");
    reply.bulk(b"spec");
    reply.map(3);
    for (name, value) in [("lastkey", last), ("keystep", spec.keys.step), ("limit", 0)] {
        reply.bulk(name.as_bytes());
        reply.integer(i64::from(value));
    }
}

/// Returns what a command does with its keys (read, write, overwrite, remove) and with what they hold.
fn key_flags(spec: &Spec) -> &'static [&'static str] {
    match spec.name {
        "exists" | "touch" | "watch" | "strlen" | "type" | "llen" | "hlen" | "hexists"
        | "sismember" | "scard" => &["RO"],
        "set" => &["RW", "access", "update", "variable_flags"],
        "setnx" | "msetnx" => &["OW", "insert"],
        "setex" | "psetex" | "mset" => &["OW", "update"],
        "del" | "unlink" => &["RM", "delete"],
        "hdel" | "srem" => &["RW", "delete"],
        "getdel" | "lpop" | "rpop" => &["RW", "access", "delete"],
        "getset" | "getex" | "incr" | "decr" | "incrby" | "decrby" => &["RW", "access", "update"],
        "append" | "lpush" | "rpush" | "lpushx" | "rpushx" | "sadd" => &["RW", "insert"],
        _ if spec.flags.has(Flags::WRITE) => &["RW", "update"],
        _ => &["RO", "access"],
    }
}

/// Returns what Redis remarks on the keys of a command.
fn notes(spec: &Spec) -> Option<&'static str> {
    match spec.name {
        "set" => Some("RW and ACCESS due to the optional `GET` argument"),
        "getex" => Some("RW and UPDATE because it changes the TTL"),
        _ => None,
    }
}

/// Answers `COMMAND DOCS [name ..]`, which `redis-cli` shows as hints.
fn docs(args: Args<'_>, reply: &mut Reply<'_>) {
    let chosen: Vec<&Spec> = if args.len() == 2 {
        TABLE.iter().collect()
    } else {
        args.tail(2).filter_map(find).collect()
    };
    reply.map(chosen.len());
    for spec in chosen {
        reply.bulk(spec.name.as_bytes());
        reply.map(3);
        for (name, text) in [("summary", spec.summary), ("since", "1.0.0"), ("group", spec.group)] {
            reply.bulk(name.as_bytes());
            reply.bulk(text.as_bytes());
        }
    }
}

/// Answers `COMMAND LIST [FILTERBY PATTERN pattern]`.
fn list(args: Args<'_>, reply: &mut Reply<'_>) -> Result<(), Error> {
    let pattern = match args.len() {
        2 => &b"*"[..],
        5 if args.is(2, "filterby") && args.is(3, "pattern") => args.get(4),
        _ => return Err(Error::SYNTAX),
    };
    let names: Vec<&str> = TABLE
        .iter()
        .map(|spec| spec.name)
        .filter(|name| matches(pattern, name.as_bytes()))
        .collect();
    reply.array(names.len());
    names.iter().for_each(|name| reply.bulk(name.as_bytes()));
    Ok(())
}

/// Answers `COMMAND GETKEYS command word ..`.
fn get_keys(args: Args<'_>, reply: &mut Reply<'_>) -> Result<(), Error> {
    let inner = args.from(2);
    let spec = find(inner.get(0)).ok_or(Error::new("ERR Invalid command specified"))?;
    if spec.keys.first == 0 {
        return Err(Error::new("ERR The command has no key arguments"));
    }
    if !spec.accepts(inner.len()) {
        return Err(Error::new("ERR Invalid number of arguments specified for command"));
    }
    let keys: Vec<&[u8]> = spec.keys(inner).collect();
    reply.array(keys.len());
    keys.iter().for_each(|key| reply.bulk(key));
    Ok(())
}
