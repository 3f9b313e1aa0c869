//! `SUBSCRIBE` and its like, and `PUBSUB`, as far as the connection is concerned.

use super::own::help;
use super::session::Session;
use super::store::{Args, Error};
use super::turn::{Late, Turn};

/// Which of the four commands it is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Listen {
    /// To patterns, not to channels by name.
    pub(crate) patterns: bool,
    /// To begin, not to end.
    pub(crate) listen: bool,
}

impl Listen {
    fn kind(self) -> &'static [u8] {
        match (self.patterns, self.listen) {
            (false, true) => b"subscribe",
            (false, false) => b"unsubscribe",
            (true, true) => b"psubscribe",
            (true, false) => b"punsubscribe",
        }
    }
}

/// Begins or ends to listen. That is confirmed also to a client which is to get no replies: messages come to it, too.
pub(crate) fn listen(session: &mut Session, args: Args<'_>, turn: &mut Turn, how: Listen) {
    let is_muted = session.replies.is_muted();
    if is_muted {
        turn.mute(false);
    }
    listen_heard(session, args, turn, how);
    if is_muted {
        turn.mute(true);
    }
}

/// The broker is told first, then one message per name confirms it.
fn listen_heard(session: &mut Session, args: Args<'_>, turn: &mut Turn, how: Listen) {
    let mut names: Vec<Box<[u8]>> = args.tail(1).map(Box::from).collect();
    if names.is_empty() {
        let all = if how.patterns { &session.patterns } else { &session.channels };
        names = all.iter().cloned().collect();
    }
    session.has_listened |= how.listen;
    let known = if how.patterns { &session.patterns } else { &session.channels };
    let mut told = names.clone();
    told.retain(|name| known.contains(name) != how.listen);
    if !told.is_empty() {
        turn.late(Late::Listen { names: told, patterns: how.patterns, listen: how.listen });
    }
    let mut confirm = |session: &Session, name: Option<&[u8]>| {
        let count = session.channels.len() + session.patterns.len();
        turn.local(session.proto, |reply| {
            reply.push(3);
            reply.bulk(how.kind());
            match name {
                Some(name) => reply.bulk(name),
                None => reply.null(),
            }
            reply.count(count);
        });
    };
    if names.is_empty() {
        confirm(session, None);
    }
    for name in names {
        let mine = if how.patterns { &mut session.patterns } else { &mut session.channels };
        if how.listen {
            mine.insert(name.clone());
        } else {
            mine.remove(&name);
        }
        confirm(session, Some(&name));
    }
}

/// Runs `PUBSUB ..`.
pub(crate) fn pubsub(session: &Session, args: Args<'_>, turn: &mut Turn) -> Result<(), Error> {
    let proto = session.proto;
    match args.get(1).to_ascii_lowercase().as_slice() {
        b"channels" if args.len() <= 3 => {
            let pattern = (args.len() == 3).then(|| args.get(2).into());
            turn.late(Late::Channels { pattern, proto });
        }
        b"numsub" => {
            turn.late(Late::Listeners { names: args.tail(2).map(Box::from).collect(), proto });
        }
        b"numpat" => turn.late(Late::Patterns),
        b"help" => help(
            turn,
            proto,
            "PUBSUB",
            &["CHANNELS [<pattern>]", "NUMPAT", "NUMSUB [<channel> ...]"],
        ),
        _ => return Err(Error::subcommand_or_arity("PUBSUB", args.get(1))),
    }
    Ok(())
}
