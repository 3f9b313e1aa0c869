//! The commands that a connection answers itself.

use std::fmt;
use std::sync::Arc;

use super::client_command;
use super::clock;
use super::command::{Action, Own, Spec, answer_command};
use super::config;
use super::info::REDIS_VERSION;
use super::listen::{Listen, listen, pubsub};
use super::resp::{Proto, Reply, parse_integer};
use super::session::Session;
use super::store::{Args, DATABASES, Error};
use super::transaction::Transaction;
use super::turn::{Late, Turn};

/// The subcommands of the commands that have some, with their arity.
const SUBCOMMANDS: [(&str, &[(&str, i32)]); 4] = [
    (
        "client",
        &[
            ("getname", 2),
            ("help", 2),
            ("id", 2),
            ("info", 2),
            ("kill", -3),
            ("list", -2),
            ("no-evict", 3),
            ("reply", 3),
            ("setname", 3),
        ],
    ),
    ("config", &[("get", -3), ("help", 2), ("resetstat", 2), ("rewrite", 2), ("set", -4)]),
    (
        "command",
        &[("count", 2), ("docs", -2), ("getkeys", -4), ("help", 2), ("info", -2), ("list", -2)],
    ),
    ("pubsub", &[("channels", -2), ("help", 2), ("numpat", 2), ("numsub", -2)]),
];

/// Checks that a command and its subcommand exist in this form.
pub(crate) fn check(spec: &Spec, args: Args<'_>) -> Result<(), Vec<u8>> {
    if let Action::Own(_) = spec.action
        && let Some((_, subcommands)) = SUBCOMMANDS.iter().find(|(name, _)| *name == spec.name)
        && args.len() > 1
    {
        let Some((name, arity)) = subcommands.iter().find(|(name, _)| args.is(1, name)) else {
            return Err(Error::subcommand(&spec.name.to_ascii_uppercase(), args.get(1)));
        };
        let least = usize::try_from(arity.unsigned_abs()).unwrap_or(0);
        let fits = if *arity < 0 { args.len() >= least } else { args.len() == least };
        return if fits { Ok(()) } else { Err(arity_error(&format!("{}|{name}", spec.name))) };
    }
    if spec.accepts(args.len()) { Ok(()) } else { Err(arity_error(spec.name)) }
}

fn arity_error(name: &str) -> Vec<u8> {
    Error::arity(name).0.into_owned()
}

/// A command's name with that of its subcommand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct FullName {
    command: &'static str,
    subcommand: Option<&'static str>,
}

impl FullName {
    /// That of no command.
    pub(crate) const NONE: Self = Self { command: "NULL", subcommand: None };

    pub(crate) fn of(spec: &'static Spec, args: Args<'_>) -> Self {
        if !matches!(spec.action, Action::Own(_)) {
            return Self { command: spec.name, subcommand: None };
        }
        let named = |(name, _): &&(&str, _)| args.len() > 1 && args.is(1, name);
        let its_own = SUBCOMMANDS.iter().find(|(name, _)| *name == spec.name);
        let subcommand = its_own.and_then(|(_, its_own)| its_own.iter().find(named));
        Self { command: spec.name, subcommand: subcommand.map(|(name, _)| *name) }
    }
}

impl fmt::Display for FullName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.command)?;
        self.subcommand.map_or(Ok(()), |subcommand| write!(f, "|{subcommand}"))
    }
}

/// Runs one of them.
pub(crate) fn run(
    session: &mut Session,
    own: Own,
    args: Args<'_>,
    turn: &mut Turn,
) -> Result<(), Error> {
    let proto = session.proto;
    match own {
        Own::Ping => ping(session, args, turn)?,
        Own::Echo => turn.local(proto, |reply| reply.bulk(args.get(1))),
        Own::Hello => hello(session, args, turn)?,
        Own::Auth => auth(args).map(|()| turn.ok(proto))?,
        Own::Client => client_command::run(session, args, turn)?,
        Own::Command => turn.local(proto, |reply| answer_command(args, reply))?,
        Own::Config => config::run(session, args, turn)?,
        Own::Info => turn.info(args.tail(1).map(Box::from).collect(), proto),
        Own::Select => select(session, args, turn)?,
        Own::Quit => {
            session.is_closing = true;
            turn.ok(proto);
        }
        Own::Reset => reset(session, turn),
        Own::Time => time(turn, proto),
        Own::Publish => {
            turn.late(Late::Publish { channel: args.get(1).into(), message: args.get(2).into() });
        }
        Own::Subscribe => listen(session, args, turn, Listen { patterns: false, listen: true }),
        Own::Psubscribe => listen(session, args, turn, Listen { patterns: true, listen: true }),
        Own::Unsubscribe => listen(session, args, turn, Listen { patterns: false, listen: false }),
        Own::Punsubscribe => listen(session, args, turn, Listen { patterns: true, listen: false }),
        Own::Pubsub => pubsub(session, args, turn)?,
        Own::Multi => {
            if session.transaction.is_some() {
                return Err(Error::new("ERR MULTI calls can not be nested"));
            }
            session.transaction = Some(Transaction::new(Arc::clone(&session.shared)));
            turn.ok(proto);
        }
        Own::Exec => session.exec(turn)?,
        Own::Discard => {
            session.transaction.take().ok_or(Error::new("ERR DISCARD without MULTI"))?;
            session.unwatch(turn);
            turn.ok(proto);
        }
        Own::Watch if session.transaction.is_some() => {
            return Err(Error::new("ERR WATCH inside MULTI is not allowed"));
        }
        Own::Watch => session.watch(args, turn)?,
        Own::Unwatch => {
            session.unwatch(turn);
            turn.ok(proto);
        }
    }
    Ok(())
}

fn ping(session: &Session, args: Args<'_>, turn: &mut Turn) -> Result<(), Error> {
    if args.len() > 2 {
        return Err(Error::arity("ping"));
    }
    let as_message = session.proto == Proto::Resp2 && session.is_listening();
    turn.local(session.proto, |reply| match (as_message, args.len()) {
        (true, _) => {
            reply.array(2);
            reply.bulk(b"pong");
            reply.bulk(args.get(1));
        }
        (false, 1) => reply.simple("PONG"),
        (false, _) => reply.bulk(args.get(1)),
    });
    Ok(())
}

/// There are no passwords: the default user is let in with any, as in a Redis without one.
fn auth(args: Args<'_>) -> Result<(), Error> {
    match args.len() {
        2 => Err(Error::new(
            "ERR AUTH <password> called without any password configured for the default user. Are you sure your \
             configuration is correct?",
        )),
        3 => check_user(args.get(1)),
        _ => Err(Error::SYNTAX),
    }
}

fn check_user(name: &[u8]) -> Result<(), Error> {
    if name == b"default" {
        return Ok(());
    }
    Err(Error::new("WRONGPASS invalid username-password pair or user is disabled."))
}

fn hello(session: &mut Session, args: Args<'_>, turn: &mut Turn) -> Result<(), Error> {
    let mut proto = session.proto;
    if args.len() > 1 {
        let version = parse_integer(args.get(1));
        proto = match version
            .ok_or(Error::new("ERR Protocol version is not an integer or out of range"))?
        {
            2 => Proto::Resp2,
            3 => Proto::Resp3,
            _ => return Err(Error::new("NOPROTO unsupported protocol version")),
        };
    }
    let mut index = 2;
    while index < args.len() {
        let left = args.len() - index - 1;
        if args.is(index, "auth") && left >= 2 {
            check_user(args.get(index + 1))?;
            index += 3;
        } else if args.is(index, "setname") && left >= 1 {
            // It stays, whatever is wrong behind it.
            session.name = client_command::check_name(args.get(index + 1))?.to_vec();
            index += 2;
        } else {
            let option = args.get(index);
            return Err(Error::quoting("ERR Syntax error in HELLO option '", option, "'"));
        }
    }
    session.proto = proto;
    let id = i64::try_from(session.client.id).unwrap_or(i64::MAX);
    turn.local(proto, |reply| {
        reply.map(7);
        let texts = [("server", "redis"), ("version", REDIS_VERSION)];
        for text in texts.iter().flat_map(|(name, value)| [name, value]) {
            reply.bulk(text.as_bytes());
        }
        reply.bulk(b"proto");
        reply.integer(if proto == Proto::Resp3 { 3 } else { 2 });
        reply.bulk(b"id");
        reply.integer(id);
        for text in ["mode", "standalone", "role", "master", "modules"] {
            reply.bulk(text.as_bytes());
        }
        reply.array(0);
    });
    Ok(())
}

fn select(session: &mut Session, args: Args<'_>, turn: &mut Turn) -> Result<(), Error> {
    let db = i32::try_from(args.integer(1)?).map_err(|_| Error::NOT_INT)?;
    let db = usize::try_from(db).ok().filter(|db| *db < DATABASES);
    session.db = db.ok_or(Error::new("ERR DB index is out of range"))?;
    turn.ok(session.proto);
    Ok(())
}

fn reset(session: &mut Session, turn: &mut Turn) {
    session.speak(turn);
    session.transaction = None;
    session.unwatch(turn);
    for patterns in [false, true] {
        let names = if patterns { &mut session.patterns } else { &mut session.channels };
        let names: Vec<_> = std::mem::take(names).into_iter().collect();
        if !names.is_empty() {
            turn.late(Late::Listen { names, patterns, listen: false });
        }
    }
    session.db = 0;
    session.proto = Proto::Resp2;
    session.name.clear();
    turn.local(session.proto, |reply| reply.simple("RESET"));
}

fn time(turn: &mut Turn, proto: Proto) {
    let now = clock::now_us();
    turn.local(proto, |reply| {
        reply.array(2);
        reply.bulk_integer(now / 1_000_000);
        reply.bulk_integer(now % 1_000_000);
    });
}

/// Lists a command's subcommands.
pub(crate) fn help(turn: &mut Turn, proto: Proto, command: &str, subcommands: &[&str]) {
    turn.local(proto, |reply| write_help(reply, command, subcommands));
}

/// Writes a command's subcommands, a line each.
pub(crate) fn write_help(reply: &mut Reply<'_>, command: &str, lines: &[&str]) {
    reply.array(lines.len() + 1);
    reply.simple(&format!("{command} <subcommand> [<arg> [value] [opt] ...]. Subcommands are:"));
    lines.iter().for_each(|line| reply.simple(line));
}
