//! `CLIENT` and its subcommands.

use super::client::Shown;
use super::own::help;
use super::session::{Effect, Session};
use super::store::{Args, Error};
use super::turn::Turn;

/// Returns `name` if a client may call itself so.
pub(crate) fn check_name(name: &[u8]) -> Result<&[u8], Error> {
    if name.iter().all(|byte| (b'!'..=b'~').contains(byte)) {
        return Ok(name);
    }
    Err(Error::new("ERR Client names cannot contain spaces, newlines or special characters."))
}

/// Runs `CLIENT ..`.
pub(crate) fn run(session: &mut Session, args: Args<'_>, turn: &mut Turn) -> Result<(), Error> {
    let proto = session.proto;
    match args.get(1).to_ascii_lowercase().as_slice() {
        b"id" => {
            let id = i64::try_from(session.client.id).unwrap_or(i64::MAX);
            turn.local(proto, |reply| reply.integer(id));
        }
        b"setname" => {
            session.name = check_name(args.get(2))?.to_vec();
            turn.ok(proto);
        }
        b"getname" if session.name.is_empty() => turn.local(proto, |reply| reply.null()),
        b"getname" => turn.local(proto, |reply| reply.bulk(&session.name)),
        b"info" => {
            session.show(&mut session.client.shown.lock());
            let line = session.client.line();
            turn.local(proto, |reply| reply.verbatim(&line));
        }
        b"list" => list(session, args, turn)?,
        b"kill" => kill(session, args, turn)?,
        b"no-evict" | b"reply" if args.is(2, "on") => turn.ok(proto),
        b"no-evict" if args.is(2, "off") => turn.ok(proto),
        b"reply" => return Err(Error::new("ERR only CLIENT REPLY ON is supported")),
        b"help" => {
            let lines = [
                "GETNAME",
                "ID",
                "INFO",
                "KILL <option> ...",
                "LIST [ID <id> ...]",
                "SETNAME <name>",
            ];
            help(turn, proto, "CLIENT", &lines);
        }
        _ => return Err(Error::SYNTAX),
    }
    Ok(())
}

/// `CLIENT LIST [TYPE NORMAL|PUBSUB] [ID id ..]`
fn list(session: &Session, args: Args<'_>, turn: &mut Turn) -> Result<(), Error> {
    session.show(&mut session.client.shown.lock());
    let mut clients = session.shared.clients();
    if args.len() > 3 && args.is(2, "id") {
        let ids: Result<Vec<i64>, Error> =
            (3..args.len()).map(|index| args.integer(index)).collect();
        let ids = ids.map_err(|_| Error::new("ERR Invalid client ID"))?;
        clients.retain(|client| i64::try_from(client.id).is_ok_and(|id| ids.contains(&id)));
    } else if args.len() == 4 && args.is(2, "type") {
        let listening = args.is(3, "pubsub");
        if !listening && !args.is(3, "normal") {
            if !["master", "replica", "slave"].into_iter().any(|other| args.is(3, other)) {
                let name = String::from_utf8_lossy(args.get(3));
                return Err(Error(format!("ERR Unknown client type '{name}'").into()));
            }
            clients.clear();
        }
        clients.retain(|client| {
            let shown = client.shown.lock();
            (shown.channels + shown.patterns > 0) == listening
        });
    } else if args.len() != 2 {
        return Err(Error::SYNTAX);
    }
    let text: Vec<u8> = clients.iter().flat_map(|client| client.line()).collect();
    turn.local(session.proto, |reply| reply.verbatim(&text));
    Ok(())
}

/// `CLIENT KILL address` and `CLIENT KILL [ID id] [ADDR address] [LADDR address] [SKIPME yes|no]`
fn kill(session: &mut Session, args: Args<'_>, turn: &mut Turn) -> Result<(), Error> {
    let mut clients = session.shared.clients();
    let by_address = args.len() == 3;
    let mut skip_me = !by_address;
    if by_address {
        let address = String::from_utf8_lossy(args.get(2)).into_owned();
        clients.retain(|client| client.address.to_string() == address);
    } else {
        for (option, value) in args.pairs(2) {
            let text = String::from_utf8_lossy(value).into_owned();
            match option.to_ascii_lowercase().as_slice() {
                b"id" => {
                    let id: u64 = text
                        .parse()
                        .map_err(|_| Error::new("ERR client-id should be greater than 0"))?;
                    clients.retain(|client| client.id == id);
                }
                b"addr" => clients.retain(|client| client.address.to_string() == text),
                b"laddr" => clients.retain(|client| client.local.to_string() == text),
                b"skipme" => skip_me = text.eq_ignore_ascii_case("yes"),
                _ => return Err(Error::SYNTAX),
            }
        }
        if !args.len().is_multiple_of(2) {
            return Err(Error::SYNTAX);
        }
    }
    let mut killed = 0;
    for client in clients {
        if client.id != session.client.id {
            session.affect(Effect::Cut(client));
        } else if skip_me {
            continue;
        } else {
            session.is_closing = true;
        }
        killed += 1;
    }
    match (by_address, killed) {
        (true, 0) => return Err(Error::new("ERR No such client")),
        (true, _) => turn.ok(session.proto),
        (false, _) => turn.local(session.proto, |reply| reply.integer(killed)),
    }
    Ok(())
}

impl Session {
    /// Brings what others see of the client up to date.
    pub(crate) fn show(&self, shown: &mut Shown) {
        if shown.name != self.name {
            shown.name.clone_from(&self.name);
        }
        shown.db = self.db;
        shown.resp = if self.proto == super::resp::Proto::Resp3 { 3 } else { 2 };
        shown.channels = self.channels.len();
        shown.patterns = self.patterns.len();
        let queued = self.transaction.as_ref().map(super::transaction::Transaction::len);
        shown.multi = queued.map_or(-1, |count| i64::try_from(count).unwrap_or(i64::MAX));
        shown.command = self.last_command;
    }
}
