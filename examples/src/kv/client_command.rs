//! `CLIENT` and its subcommands.

use std::net::SocketAddr;
use std::sync::Arc;

use super::client::{Client, Shown};
use super::command::{Action, Own, Spec};
use super::own::help;
use super::resp::parse_integer;
use super::session::{Effect, Replies, Session};
use super::store::{Args, Error};
use super::turn::Turn;

/// Returns `name` if a client may call itself so.
pub(crate) fn check_name(name: &[u8]) -> Result<&[u8], Error> {
    if name.iter().all(|byte| (b'!'..=b'~').contains(byte)) {
        return Ok(name);
    }
    Err(Error::new("ERR Client names cannot contain spaces, newlines or special characters."))
}

/// Returns whether this is `CLIENT REPLY`.
pub(crate) fn is_muting(spec: &Spec, args: Args<'_>) -> bool {
    matches!(spec.action, Action::Own(Own::Client)) && args.is(1, "reply")
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
        b"no-evict" if args.is(2, "on") || args.is(2, "off") => {
            session.affect(Effect::Spare(Arc::clone(&session.client), args.is(2, "on")));
            turn.ok(proto);
        }
        b"reply" if args.is(2, "on") => {
            session.speak(turn);
            turn.ok(proto);
        }
        b"reply" if args.is(2, "off") => session.replies = Replies::None,
        b"reply" if args.is(2, "skip") && session.replies == Replies::None => {}
        b"reply" if args.is(2, "skip") => session.replies = Replies::SkipNext,
        b"help" => {
            let lines = [
                "GETNAME",
                "ID",
                "INFO",
                "KILL <option> ...",
                "LIST [ID <id> ...]",
                "REPLY ON|OFF|SKIP",
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
        let kind = Kind::named(args.get(3))?;
        clients.retain(|client| kind.is(client));
    } else if args.len() != 2 {
        return Err(Error::SYNTAX);
    }
    let text: Vec<u8> = clients.iter().flat_map(|client| client.line()).collect();
    turn.local(session.proto, |reply| reply.verbatim(&text));
    Ok(())
}

/// What clients `CLIENT LIST` and `CLIENT KILL` know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Normal,
    Pubsub,
    /// One that Redis has for replication, which nobody here is.
    Other,
}

impl Kind {
    fn named(name: &[u8]) -> Result<Self, Error> {
        match name.to_ascii_lowercase().as_slice() {
            b"normal" => Ok(Self::Normal),
            b"pubsub" => Ok(Self::Pubsub),
            b"master" | b"replica" | b"slave" => Ok(Self::Other),
            _ => Err(Error::quoting("ERR Unknown client type '", name, "'")),
        }
    }

    fn is(self, client: &Client) -> bool {
        let shown = client.shown.lock();
        let kind = if shown.channels + shown.patterns > 0 { Self::Pubsub } else { Self::Normal };
        self == kind
    }
}

/// Whom `CLIENT KILL` is for.
#[derive(Debug)]
struct Victims {
    id: Option<u64>,
    address: Option<String>,
    local: Option<String>,
    kind: Option<Kind>,
    skips_me: bool,
}

impl Victims {
    fn read(args: Args<'_>) -> Result<Self, Error> {
        let none = Self { id: None, address: None, local: None, kind: None, skips_me: true };
        let text = |word| Some(String::from_utf8_lossy(word).into_owned());
        if args.len() == 3 {
            return Ok(Self { address: text(args.get(2)), skips_me: false, ..none });
        }
        let mut victims = none;
        for (index, (option, value)) in (2..).step_by(2).zip(args.pairs(2)) {
            match option.to_ascii_lowercase().as_slice() {
                b"id" => {
                    let id = parse_integer(value).and_then(|id| u64::try_from(id).ok());
                    let id = id.filter(|&id| id > 0);
                    let id = id.ok_or(Error::new("ERR client-id should be greater than 0"))?;
                    victims.id = Some(id);
                }
                b"type" => victims.kind = Some(Kind::named(value)?),
                b"addr" => victims.address = text(value),
                b"laddr" => victims.local = text(value),
                // All clients are the default user's.
                b"user" if value == b"default" => {}
                b"user" => return Err(Error::quoting("ERR No such user '", value, "'")),
                b"skipme" if args.is(index + 1, "yes") => victims.skips_me = true,
                b"skipme" if args.is(index + 1, "no") => victims.skips_me = false,
                _ => return Err(Error::SYNTAX),
            }
        }
        if args.len().is_multiple_of(2) { Ok(victims) } else { Err(Error::SYNTAX) }
    }

    fn has(&self, client: &Client) -> bool {
        let is = |wanted: &Option<String>, address: SocketAddr| {
            wanted.as_ref().is_none_or(|wanted| *wanted == address.to_string())
        };
        self.id.is_none_or(|id| id == client.id)
            && is(&self.address, client.address)
            && is(&self.local, client.local)
            && self.kind.is_none_or(|kind| kind.is(client))
    }
}

/// `CLIENT KILL address` and
/// `CLIENT KILL [ID id] [TYPE type] [USER user] [ADDR address] [LADDR address] [SKIPME yes|no]`
fn kill(session: &mut Session, args: Args<'_>, turn: &mut Turn) -> Result<(), Error> {
    let victims = Victims::read(args)?;
    session.show(&mut session.client.shown.lock());
    let mut clients = session.shared.clients();
    clients.retain(|client| victims.has(client));
    let by_address = args.len() == 3;
    let mut killed = 0;
    for client in clients {
        if client.id != session.client.id {
            session.affect(Effect::Cut(client));
        } else if victims.skips_me {
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

#[cfg(test)]
mod tests {
    use crate::kv::tests::Server;

    #[test]
    fn clients_are_killed_by_what_they_are() {
        let mut server = Server::new(1);
        let (mut one, mut two, three) = (server.connect(), server.connect(), server.connect());
        let id = "-ERR client-id should be greater than 0";
        let cases = [
            ("ID 100 SKIPME foo", "-ERR syntax error"),
            ("ID 9 SKIPME", "-ERR syntax error"),
            ("ID 1 FOO 1", "-ERR syntax error"),
            ("ID 0", id),
            ("ID -1", id),
            ("ID +5", id),
            ("ID 0 FOO x", id),
            ("ID 9 TYPE x", "-ERR Unknown client type 'x'"),
            ("USER foo", "-ERR No such user 'foo'"),
            ("foo", "-ERR No such client"),
            ("TYPE pubsub", ":0"),
            ("TYPE master SKIPME no", ":0"),
            ("TYPE normal ID 1", ":0"),
        ];
        for (words, expected) in cases {
            assert_eq!(server.say(&mut one, &format!("CLIENT KILL {words}")), expected, "{words}");
        }
        server.say(&mut two, "SUBSCRIBE a\nPING");
        two.session.show(&mut two.session.client.shown.lock());
        assert_eq!(server.say(&mut one, "CLIENT KILL TYPE pubsub USER default"), ":1");
        assert!(two.session.client.is_cut().is_some() && three.session.client.is_cut().is_none());
        assert_eq!(server.say(&mut one, "CLIENT KILL TYPE normal"), ":1");
        assert!(three.session.client.is_cut().is_some());
        let list = server.say(&mut one, "CLIENT LIST TYPE normal");
        assert!(list.contains(" cmd=client|list "), "{list}");
        assert_eq!(server.say(&mut one, "CLIENT REPLY foo"), "-ERR syntax error");
    }

    #[test]
    fn the_name_of_a_client_is_held_for_it() {
        let mut server = Server::new(1);
        let mut one = server.connect();
        for command in ["CLIENT SETNAME", "HELLO 3 SETNAME"] {
            server.say(&mut one, &format!("{command} {}", "x".repeat(100_000)));
            // Others see it, too.
            assert_eq!(one.session.held_bytes(), 200_000);
            server.say(&mut one, "RESET");
            assert_eq!(one.session.held_bytes(), 0);
        }
    }

    #[test]
    fn replies_can_be_done_without() {
        for shards in [1, 3] {
            let mut server = Server::new(shards);
            let mut one = server.connect();
            assert_eq!(
                server.say(
                    &mut one,
                    "CLIENT REPLY SKIP\nPING 1\nGET a\nCLIENT REPLY OFF\nSET a 1\nMGET a b\nGET a"
                ),
                "$-1"
            );
            let sleeping = "PING 3\nMULTI\nGET a\nEXEC\nNOPE\nCLIENT REPLY SKIP";
            assert_eq!(server.say(&mut one, sleeping), "");
            assert_eq!(server.say(&mut one, "PING\nCLIENT REPLY ON\nGET a"), "+OK $1 1");
            assert_eq!(
                server.say(&mut one, "CLIENT REPLY SKIP\nCLIENT REPLY SKIP\nPING 5\nPING 6"),
                "$1 6"
            );
            assert_eq!(server.say(&mut one, "CLIENT REPLY OFF\nPING\nRESET\nPING"), "+RESET +PONG");
            server.say(&mut one, &format!("SET big {}", "x".repeat(60_000)));
            let (replies, pauses) = server.feed(
                &mut one,
                format!("PING\nCLIENT REPLY OFF\n{}CLIENT REPLY ON\n", "GET big\n".repeat(100))
                    .as_bytes(),
            );
            assert_eq!(replies, b"+PONG\r\n+OK\r\n");
            assert!(pauses > 2, "{pauses}");
        }
    }
}
