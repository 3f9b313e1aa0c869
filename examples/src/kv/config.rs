//! `CONFIG`: the settings clients ask for, and the two that can be changed.

use super::connection::KEEPALIVE;
use super::own::help;
use super::session::{Effect, Session};
use super::shared::Limits;
use super::store::{Args, DATABASES, Error, matches};
use super::turn::Turn;

/// Returns the settings with their values.
fn settings(session: &Session) -> Vec<(&'static str, String)> {
    let shared = &session.shared;
    let limits = &shared.limits;
    let yes_or_no = |yes| if yes { "yes" } else { "no" }.to_owned();
    let dir = shared.dir.as_ref().map_or_else(String::new, |dir| dir.display().to_string());
    vec![
        ("save", String::new()),
        ("appendonly", yes_or_no(shared.dir.is_some())),
        ("appendfsync", "always".to_owned()),
        ("auto-aof-rewrite-min-size", limits.rewrite_bytes_min.to_string()),
        ("dir", dir),
        ("bind", shared.address.ip().to_string()),
        ("port", shared.address.port().to_string()),
        ("databases", DATABASES.to_string()),
        ("maxclients", limits.clients_max.to_string()),
        ("maxmemory", session.memory_max().to_string()),
        ("maxmemory-clients", session.clients_max().to_string()),
        ("maxmemory-policy", "noeviction".to_owned()),
        ("client-query-buffer-limit", Limits::QUERY_BYTES_MAX.to_string()),
        ("tcp-keepalive", KEEPALIVE.as_secs().to_string()),
        ("timeout", limits.idle_timeout.map_or(0, |limit| limit.as_secs()).to_string()),
        ("proto-max-bulk-len", "536870912".to_owned()),
        ("cluster-enabled", "no".to_owned()),
    ]
}

/// Runs `CONFIG ..`.
pub(crate) fn run(session: &mut Session, args: Args<'_>, turn: &mut Turn) -> Result<(), Error> {
    let proto = session.proto;
    match args.get(1).to_ascii_lowercase().as_slice() {
        b"get" => {
            let asked = |name: &str| {
                args.tail(2).any(|pattern| matches(&pattern.to_ascii_lowercase(), name.as_bytes()))
            };
            let found: Vec<_> =
                settings(session).into_iter().filter(|(name, _)| asked(name)).collect();
            turn.local(proto, |reply| {
                reply.map(found.len());
                for (name, value) in &found {
                    reply.bulk(name.as_bytes());
                    reply.bulk(value.as_bytes());
                }
            });
        }
        b"set" => {
            set(session, args)?;
            turn.ok(proto);
        }
        b"resetstat" => {
            session.affect(Effect::ResetStats);
            turn.ok(proto);
        }
        b"rewrite" => return Err(Error::new("ERR The server is running without a config file")),
        b"help" => help(
            turn,
            proto,
            "CONFIG",
            &["GET <pattern> ...", "SET <directive> <value> ...", "RESETSTAT"],
        ),
        _ => return Err(Error::SYNTAX),
    }
    Ok(())
}

/// A setting that can be changed: its name, and what a number of bytes does.
type Settable = (&'static str, fn(u64) -> Effect);

const SETTABLE: [Settable; 2] =
    [("maxmemory", Effect::MemoryMax), ("maxmemory-clients", Effect::ClientsMax)];

/// Sets what can be set; other settings may be set to what they are. All is well, or nothing is set.
fn set(session: &mut Session, args: Args<'_>) -> Result<(), Error> {
    if !args.len().is_multiple_of(2) {
        return Err(Error::SYNTAX);
    }
    let known = settings(session);
    let names: Vec<String> = args.pairs(2).map(|(name, _)| shown(name)).collect();
    for (index, (name, (raw, _))) in names.iter().zip(args.pairs(2)).enumerate() {
        let lower = name.to_ascii_lowercase();
        if !known.iter().any(|(known, _)| *known == lower) {
            let unknown = "ERR Unknown option or number of arguments for CONFIG SET - '";
            return Err(Error::quoting(unknown, raw, "'"));
        }
        if names.iter().take(index).any(|before| before.eq_ignore_ascii_case(name)) {
            return Err(failed(name, "duplicate parameter"));
        }
    }
    let mut effects = Vec::new();
    for (name, (_, value)) in names.iter().zip(args.pairs(2)) {
        let (lower, value) = (name.to_ascii_lowercase(), shown(value));
        if let Some((_, effect)) = SETTABLE.iter().find(|(settable, _)| *settable == lower) {
            let bytes = parse_bytes(&value);
            let bytes = bytes.ok_or_else(|| failed(name, "argument must be a memory value"))?;
            effects.push(effect(bytes));
        } else if !known.iter().any(|(known, now)| *known == lower && *now == value) {
            return Err(failed(name, "can't set immutable config"));
        }
    }
    effects.into_iter().for_each(|effect| session.affect(effect));
    Ok(())
}

fn shown(word: &[u8]) -> String {
    String::from_utf8_lossy(word).into_owned()
}

fn failed(name: &str, why: &str) -> Error {
    Error::made(format!("ERR CONFIG SET failed (possibly related to argument '{name}') - {why}"))
}

/// Reads a number of bytes with a unit, as in a Redis configuration: `256mb` is 2^28, `256m` is 256 million.
pub(crate) fn parse_bytes(text: &str) -> Option<u64> {
    let text = text.to_ascii_lowercase();
    let digits = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let factor: u64 = match text.get(digits.len()..)? {
        "" | "b" => 1,
        "k" => 1000,
        "kb" => 1 << 10,
        "m" => 1_000_000,
        "mb" => 1 << 20,
        "g" => 1_000_000_000,
        "gb" => 1 << 30,
        _ => return None,
    };
    // `parse` would take a sign.
    let value: u64 = digits.parse().ok().filter(|_| !digits.starts_with('+'))?;
    value.checked_mul(factor)
}

#[cfg(test)]
mod tests {
    use crate::kv::tests::Server;

    #[test]
    fn a_setting_that_cannot_be_set_keeps_the_others_from_being() {
        let mut server = Server::new(1);
        let mut client = server.connect();
        let failed = |name: &str, why: &str| {
            format!("-ERR CONFIG SET failed (possibly related to argument '{name}') - {why}")
        };
        let unknown = "-ERR Unknown option or number of arguments for CONFIG SET - 'nope'";
        let cases = [
            ("maxmemory 1 nope 1", unknown.to_owned()),
            ("maxmemory x nope 1", unknown.to_owned()),
            ("maxmemory 1 MAXMEMORY 2", failed("MAXMEMORY", "duplicate parameter")),
            ("maxmemory 1 databases 9", failed("databases", "can't set immutable config")),
            ("maxmemory x", failed("maxmemory", "argument must be a memory value")),
            ("maxmemory +5", failed("maxmemory", "argument must be a memory value")),
        ];
        for (words, expected) in cases {
            assert_eq!(server.say(&mut client, &format!("CONFIG SET {words}")), expected);
        }
        assert_eq!(server.say(&mut client, "CONFIG GET maxmemory"), "*2 $9 maxmemory $1 0");
        assert_eq!(
            server.say(&mut client, "CONFIG SET maxmemory 1kb timeout 0\nCONFIG GET maxmemory"),
            "+OK *2 $9 maxmemory $4 1024"
        );
        assert_eq!(
            server.say(&mut client, "CONFIG SET maxmemory-clients 2mb\nCONFIG GET maxmemory-cl*"),
            "+OK *2 $17 maxmemory-clients $7 2097152"
        );
        assert_eq!(
            server.say(&mut client, "CONFIG GET tcp-k* client-q*"),
            "*4 $25 client-query-buffer-limit $10 1073741824 $13 tcp-keepalive $3 300"
        );
    }
}
