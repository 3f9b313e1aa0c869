//! The table of commands. Arity, flags and key positions are those of Redis 7.0.

use super::{Action, Flags, Keys, Merge, Own, Spec};
use crate::kv::store::{hashes, keys, lists, scan, sets, strings, ttl};

const ALWAYS: Flags = Flags::LOADING.and(Flags::STALE);
const ALWAYS_FAST: Flags = Flags::LOADING.and(Flags::STALE).and(Flags::FAST);
const STATE: Flags = Flags::NOSCRIPT.and(Flags::LOADING).and(Flags::STALE);
const STATE_FAST: Flags = Flags::NOSCRIPT.and(Flags::LOADING).and(Flags::STALE).and(Flags::FAST);
const HANDSHAKE: Flags =
    Flags::NOSCRIPT.and(Flags::LOADING).and(Flags::STALE).and(Flags::FAST).and(Flags::NO_AUTH);
const PUBSUB: Flags = Flags::PUBSUB.and(Flags::LOADING).and(Flags::STALE);
const PUBLISH: Flags = Flags::PUBSUB.and(Flags::LOADING).and(Flags::STALE).and(Flags::FAST);
const SUBSCRIBE: Flags = Flags::PUBSUB.and(Flags::NOSCRIPT).and(Flags::LOADING).and(Flags::STALE);
const READ_FAST: Flags = Flags::READONLY.and(Flags::FAST);
const GROW: Flags = Flags::WRITE.and(Flags::DENYOOM);
const GROW_FAST: Flags = Flags::WRITE.and(Flags::DENYOOM).and(Flags::FAST);
const WRITE_FAST: Flags = Flags::WRITE.and(Flags::FAST);

const NONE: Keys = Keys { first: 0, last: 0, step: 0 };
const ONE: Keys = Keys { first: 1, last: 1, step: 1 };
const EACH: Keys = Keys { first: 1, last: -1, step: 1 };
const PAIRS: Keys = Keys { first: 1, last: -1, step: 2 };

const fn row(
    name: &'static str,
    arity: i32,
    flags: Flags,
    keys: Keys,
    group: &'static str,
    action: Action,
    summary: &'static str,
) -> Spec {
    Spec { name, arity, flags, keys, action, group, summary }
}

/// Every command.
#[rustfmt::skip]
pub(crate) static TABLE: &[Spec] = &[
    // connection
    row("ping", -1, Flags::FAST, NONE, "connection", Action::Own(Own::Ping), "Answers PONG, or its argument."),
    row("echo", 2, ALWAYS_FAST, NONE, "connection", Action::Own(Own::Echo), "Answers its argument."),
    row("hello", -1, HANDSHAKE, NONE, "connection", Action::Own(Own::Hello), "Chooses the protocol version and greets."),
    row("auth", -2, HANDSHAKE, NONE, "connection", Action::Own(Own::Auth), "Is refused or accepted: there are no passwords."),
    row("client", -2, STATE, NONE, "connection", Action::Own(Own::Client), "Names, shows and ends connections."),
    row("select", 2, ALWAYS_FAST, NONE, "connection", Action::Own(Own::Select), "Chooses a database."),
    row("quit", -1, HANDSHAKE, NONE, "connection", Action::Own(Own::Quit), "Closes the connection."),
    row("reset", 1, HANDSHAKE, NONE, "connection", Action::Own(Own::Reset), "Makes the connection as new."),
    // server
    row("command", -1, ALWAYS, NONE, "server", Action::Own(Own::Command), "Describes the commands."),
    row("config", -2, STATE, NONE, "server", Action::Own(Own::Config), "Shows and sets the few settings there are."),
    row("info", -1, ALWAYS, NONE, "server", Action::Own(Own::Info), "Shows numbers about the server."),
    row("time", 1, ALWAYS_FAST, NONE, "server", Action::Own(Own::Time), "Answers the server's clock."),
    row("dbsize", 1, READ_FAST, NONE, "server", Action::All(keys::dbsize, Merge::Sum), "Counts the keys."),
    row("flushall", -1, Flags::WRITE, NONE, "server", Action::All(keys::flushall, Merge::First), "Removes all keys of all databases."),
    row("flushdb", -1, Flags::WRITE, NONE, "server", Action::All(keys::flushdb, Merge::First), "Removes all keys of the database."),
    // string
    row("set", -3, GROW, ONE, "string", Action::Keyed(strings::set), "Stores a string, with conditions and an expiry if asked."),
    row("setnx", 3, GROW_FAST, ONE, "string", Action::Keyed(strings::setnx), "Stores a string if the key is missing."),
    row("setex", 4, GROW, ONE, "string", Action::Keyed(strings::setex), "Stores a string that expires in seconds."),
    row("psetex", 4, GROW, ONE, "string", Action::Keyed(strings::psetex), "Stores a string that expires in milliseconds."),
    row("getset", 3, GROW_FAST, ONE, "string", Action::Keyed(strings::getset), "Stores a string and answers the old one."),
    row("get", 2, READ_FAST, ONE, "string", Action::Keyed(strings::get), "Answers a string."),
    row("getdel", 2, WRITE_FAST, ONE, "string", Action::Keyed(strings::getdel), "Answers a string and removes it."),
    row("getex", -2, WRITE_FAST, ONE, "string", Action::Keyed(strings::getex), "Answers a string and changes its expiry."),
    row("incr", 2, GROW_FAST, ONE, "string", Action::Keyed(strings::incr), "Adds one."),
    row("decr", 2, GROW_FAST, ONE, "string", Action::Keyed(strings::decr), "Subtracts one."),
    row("incrby", 3, GROW_FAST, ONE, "string", Action::Keyed(strings::incrby), "Adds an integer."),
    row("decrby", 3, GROW_FAST, ONE, "string", Action::Keyed(strings::decrby), "Subtracts an integer."),
    row("append", 3, GROW_FAST, ONE, "string", Action::Keyed(strings::append), "Adds text at a string's end."),
    row("strlen", 2, READ_FAST, ONE, "string", Action::Keyed(strings::strlen), "Answers a string's length."),
    row("mget", -2, READ_FAST, EACH, "string", Action::Split(strings::mget, Merge::Values), "Answers several strings."),
    row("mset", -3, GROW, PAIRS, "string", Action::Split(strings::mset, Merge::First), "Stores several strings."),
    row("msetnx", -3, GROW, PAIRS, "string", Action::Keyed(strings::msetnx), "Stores several strings if all keys are missing."),
    // generic
    row("del", -2, Flags::WRITE, EACH, "generic", Action::Split(keys::del, Merge::Sum), "Removes keys."),
    row("unlink", -2, WRITE_FAST, EACH, "generic", Action::Split(keys::del, Merge::Sum), "Removes keys."),
    row("exists", -2, READ_FAST, EACH, "generic", Action::Split(keys::exists, Merge::Sum), "Counts which keys are there."),
    row("touch", -2, READ_FAST, EACH, "generic", Action::Split(keys::exists, Merge::Sum), "Counts which keys are there."),
    row("type", 2, READ_FAST, ONE, "generic", Action::Keyed(keys::type_of), "Answers a key's type."),
    row("expire", -3, WRITE_FAST, ONE, "generic", Action::Keyed(ttl::expire), "Sets an expiry in seconds."),
    row("pexpire", -3, WRITE_FAST, ONE, "generic", Action::Keyed(ttl::pexpire), "Sets an expiry in milliseconds."),
    row("expireat", -3, WRITE_FAST, ONE, "generic", Action::Keyed(ttl::expireat), "Sets an expiry as a time in seconds."),
    row("pexpireat", -3, WRITE_FAST, ONE, "generic", Action::Keyed(ttl::pexpireat), "Sets an expiry as a time in milliseconds."),
    row("ttl", 2, READ_FAST, ONE, "generic", Action::Keyed(ttl::ttl), "Answers the seconds left."),
    row("pttl", 2, READ_FAST, ONE, "generic", Action::Keyed(ttl::pttl), "Answers the milliseconds left."),
    row("expiretime", 2, READ_FAST, ONE, "generic", Action::Keyed(ttl::expiretime), "Answers the expiry in seconds."),
    row("pexpiretime", 2, READ_FAST, ONE, "generic", Action::Keyed(ttl::pexpiretime), "Answers the expiry in milliseconds."),
    row("persist", 2, WRITE_FAST, ONE, "generic", Action::Keyed(ttl::persist), "Takes an expiry away."),
    row("keys", 2, Flags::READONLY, NONE, "generic", Action::All(keys::keys, Merge::Concat), "Answers the keys that match."),
    row("scan", -2, Flags::READONLY, NONE, "generic", Action::Cursor(scan::scan), "Answers the keys, some at a time."),
    row("randomkey", 1, Flags::READONLY, NONE, "generic", Action::All(keys::randomkey, Merge::Any), "Answers any key."),
    // list
    row("lpush", -3, GROW_FAST, ONE, "list", Action::Keyed(lists::lpush), "Adds items at the left."),
    row("rpush", -3, GROW_FAST, ONE, "list", Action::Keyed(lists::rpush), "Adds items at the right."),
    row("lpushx", -3, GROW_FAST, ONE, "list", Action::Keyed(lists::lpushx), "Adds items at the left of a list that is there."),
    row("rpushx", -3, GROW_FAST, ONE, "list", Action::Keyed(lists::rpushx), "Adds items at the right of a list that is there."),
    row("lpop", -2, WRITE_FAST, ONE, "list", Action::Keyed(lists::lpop), "Takes items from the left."),
    row("rpop", -2, WRITE_FAST, ONE, "list", Action::Keyed(lists::rpop), "Takes items from the right."),
    row("lrange", 4, Flags::READONLY, ONE, "list", Action::Keyed(lists::lrange), "Answers a range of items."),
    row("llen", 2, READ_FAST, ONE, "list", Action::Keyed(lists::llen), "Answers a list's length."),
    row("lindex", 3, Flags::READONLY, ONE, "list", Action::Keyed(lists::lindex), "Answers one item."),
    // hash
    row("hset", -4, GROW_FAST, ONE, "hash", Action::Keyed(hashes::hset), "Sets fields."),
    row("hmset", -4, GROW_FAST, ONE, "hash", Action::Keyed(hashes::hmset), "Sets fields."),
    row("hget", 3, READ_FAST, ONE, "hash", Action::Keyed(hashes::hget), "Answers a field."),
    row("hmget", -3, READ_FAST, ONE, "hash", Action::Keyed(hashes::hmget), "Answers several fields."),
    row("hdel", -3, WRITE_FAST, ONE, "hash", Action::Keyed(hashes::hdel), "Removes fields."),
    row("hgetall", 2, Flags::READONLY, ONE, "hash", Action::Keyed(hashes::hgetall), "Answers all fields with their values."),
    row("hlen", 2, READ_FAST, ONE, "hash", Action::Keyed(hashes::hlen), "Counts the fields."),
    row("hkeys", 2, Flags::READONLY, ONE, "hash", Action::Keyed(hashes::hkeys), "Answers all fields."),
    row("hvals", 2, Flags::READONLY, ONE, "hash", Action::Keyed(hashes::hvals), "Answers all values."),
    row("hexists", 3, READ_FAST, ONE, "hash", Action::Keyed(hashes::hexists), "Says whether a field is there."),
    // set
    row("sadd", -3, GROW_FAST, ONE, "set", Action::Keyed(sets::sadd), "Adds members."),
    row("srem", -3, WRITE_FAST, ONE, "set", Action::Keyed(sets::srem), "Removes members."),
    row("smembers", 2, Flags::READONLY, ONE, "set", Action::Keyed(sets::smembers), "Answers all members."),
    row("sismember", 3, READ_FAST, ONE, "set", Action::Keyed(sets::sismember), "Says whether a member is there."),
    row("smismember", -3, READ_FAST, ONE, "set", Action::Keyed(sets::smismember), "Says which members are there."),
    row("scard", 2, READ_FAST, ONE, "set", Action::Keyed(sets::scard), "Counts the members."),
    // pubsub
    row("publish", 3, PUBLISH, NONE, "pubsub", Action::Own(Own::Publish), "Sends a message to a channel."),
    row("subscribe", -2, SUBSCRIBE, NONE, "pubsub", Action::Own(Own::Subscribe), "Listens to channels."),
    row("unsubscribe", -1, SUBSCRIBE, NONE, "pubsub", Action::Own(Own::Unsubscribe), "Stops listening to channels."),
    row("psubscribe", -2, SUBSCRIBE, NONE, "pubsub", Action::Own(Own::Psubscribe), "Listens to channels that match."),
    row("punsubscribe", -1, SUBSCRIBE, NONE, "pubsub", Action::Own(Own::Punsubscribe), "Stops listening to patterns."),
    row("pubsub", -2, PUBSUB, NONE, "pubsub", Action::Own(Own::Pubsub), "Shows who listens to what."),
    // transactions
    row("multi", 1, STATE_FAST, NONE, "transactions", Action::Own(Own::Multi), "Begins a transaction."),
    row("exec", 1, STATE, NONE, "transactions", Action::Own(Own::Exec), "Runs a transaction."),
    row("discard", 1, STATE_FAST, NONE, "transactions", Action::Own(Own::Discard), "Forgets a transaction."),
    row("watch", -2, STATE_FAST, EACH, "transactions", Action::Own(Own::Watch), "Makes the next transaction depend on keys."),
    row("unwatch", 1, STATE_FAST, NONE, "transactions", Action::Own(Own::Unwatch), "Forgets the watched keys."),
];
