//! `CONFIG`: the settings clients ask for, and the one that can be changed.

use super::own::help;
use super::session::Session;
use super::shared::Shared;
use super::store::{Args, DATABASES, Error, matches};
use super::turn::Turn;

/// Returns the settings with their values.
fn settings(shared: &Shared) -> Vec<(&'static str, String)> {
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
        ("maxmemory", shared.memory_max.get().to_string()),
        ("maxmemory-policy", "noeviction".to_owned()),
        ("timeout", limits.idle_timeout.map_or(0, |limit| limit.as_secs()).to_string()),
        ("proto-max-bulk-len", "536870912".to_owned()),
        ("cluster-enabled", "no".to_owned()),
    ]
}

/// Runs `CONFIG ..`.
pub(crate) fn run(session: &Session, args: Args<'_>, turn: &mut Turn) -> Result<(), Error> {
    let (proto, shared) = (session.proto, &session.shared);
    match args.get(1).to_ascii_lowercase().as_slice() {
        b"get" => {
            let asked = |name: &str| {
                args.tail(2).any(|pattern| matches(&pattern.to_ascii_lowercase(), name.as_bytes()))
            };
            let found: Vec<_> =
                settings(shared).into_iter().filter(|(name, _)| asked(name)).collect();
            turn.local(proto, |reply| {
                reply.map(found.len());
                for (name, value) in &found {
                    reply.bulk(name.as_bytes());
                    reply.bulk(value.as_bytes());
                }
            });
        }
        b"set" => {
            set(shared, args)?;
            turn.ok(proto);
        }
        b"resetstat" => {
            shared.reset_stats();
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

/// Sets `maxmemory`; other settings may be set to what they are.
fn set(shared: &Shared, args: Args<'_>) -> Result<(), Error> {
    if !args.len().is_multiple_of(2) {
        return Err(Error::arity("config|set"));
    }
    let known = settings(shared);
    for (name, value) in args.pairs(2) {
        let name = String::from_utf8_lossy(name).to_ascii_lowercase();
        let value = String::from_utf8_lossy(value).into_owned();
        if name == "maxmemory" {
            let bytes = parse_bytes(&value);
            let failed = || {
                Error(format!("ERR CONFIG SET failed (possibly related to argument '{name}') - argument must be a memory value").into())
            };
            shared.memory_max.set(bytes.ok_or_else(failed)?);
            continue;
        }
        match known.iter().find(|(known, _)| *known == name) {
            Some((_, now)) if *now == value => {}
            Some(_) => {
                let text = format!(
                    "ERR CONFIG SET failed (possibly related to argument '{name}') - can't set immutable config"
                );
                return Err(Error(text.into()));
            }
            None => {
                let text =
                    format!("ERR Unknown option or number of arguments for CONFIG SET - '{name}'");
                return Err(Error(text.into()));
            }
        }
    }
    Ok(())
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
    digits.parse::<u64>().ok()?.checked_mul(factor)
}
