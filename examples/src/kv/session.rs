//! What a connection knows of its client, and where each of its commands goes.
//!
//! [`Session::plan`] is given the commands in order and fills a [`Turn`]. It changes nothing but the session: what a
//! command means for those behind it (`SELECT`, `MULTI`, `HELLO`) holds at once, what it does happens when the turn
//! runs.

use std::sync::Arc;

use super::client::Client;
use super::client_command;
use super::command::{Action, Own, Spec, find};
use super::job::{Task, narrow};
use super::layout::Layout;
use super::names::Names;
use super::own::{self, FullName};
use super::resp::Proto;
use super::shared::Shared;
use super::store::{Args, Error, cursor_shard, hash};
use super::transaction::Transaction;
use super::turn::Turn;
use super::watching::Watching;

/// The state of one client's connection.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) client: Arc<Client>,
    pub(crate) shared: Arc<Shared>,
    pub(crate) proto: Proto,
    pub(crate) db: usize,
    pub(crate) name: Vec<u8>,
    pub(crate) channels: Names,
    pub(crate) patterns: Names,
    /// Whether the broker may know the client.
    pub(crate) has_listened: bool,
    pub(crate) transaction: Option<Transaction>,
    pub(crate) watching: Watching,
    /// Nothing more is to be read: the connection closes when its replies are written.
    pub(crate) is_closing: bool,
    pub(crate) last_command: FullName,
    /// Which replies the client is to get.
    pub(crate) replies: Replies,
    /// What the commands of this turn do to others when it is over: it was done behind what came before it.
    effects: Vec<Effect>,
    /// What the session goes back to if a shard refuses the transaction of this turn, whose effects are all there are.
    before: Option<State>,
}

/// Which replies a client gets, by `CLIENT REPLY`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Replies {
    All,
    /// All but that of the next command.
    SkipNext,
    /// All but that of this command.
    Skip,
    None,
}

impl Replies {
    pub(crate) fn is_muted(self) -> bool {
        matches!(self, Self::Skip | Self::None)
    }
}

/// What commands change of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
struct State {
    proto: Proto,
    db: usize,
    name: Vec<u8>,
    channels: Names,
    patterns: Names,
    is_closing: bool,
}

/// What a command does to others.
#[derive(Debug)]
pub(crate) enum Effect {
    Cut(Arc<Client>),
    /// Has others cut off before this one, or no longer.
    Spare(Arc<Client>, bool),
    MemoryMax(u64),
    ClientsMax(u64),
    ResetStats,
}

/// Where a command goes.
enum Target {
    Own(Own),
    Shard(usize),
    Split,
    All,
}

impl Session {
    pub(crate) fn new(client: Arc<Client>, shared: Arc<Shared>) -> Self {
        Self {
            client,
            shared,
            proto: Proto::Resp2,
            db: 0,
            name: Vec::new(),
            channels: Names::default(),
            patterns: Names::default(),
            has_listened: false,
            transaction: None,
            watching: Watching::default(),
            is_closing: false,
            last_command: FullName::NONE,
            replies: Replies::All,
            effects: Vec::new(),
            before: None,
        }
    }

    /// Returns whether what follows cannot be planned before the turn has run.
    pub(crate) fn is_undecided(&self) -> bool {
        self.before.is_some() || !self.effects.is_empty()
    }

    /// Returns whether what follows may be the `EXEC` of a transaction that is to begin a turn of its own: the client may
    /// go while it is sent the replies before, and then all of it is done or nothing.
    pub(crate) fn wants_a_turn(&self) -> bool {
        self.transaction.as_ref().is_some_and(|transaction| transaction.has_own)
    }

    /// Ends a turn: what it left undecided holds, or has never been. `missed` are the shards that it has not reached.
    pub(crate) fn settle(&mut self, is_refused: bool, missed: &[usize]) {
        self.watching.settle(missed);
        let effects = std::mem::take(&mut self.effects);
        match self.before.take() {
            Some(before) if is_refused => self.restore(before),
            Some(_) | None => effects.into_iter().for_each(|effect| self.shared.apply(effect)),
        }
    }

    /// Does something to others when the turn is over, which ends with this command.
    pub(crate) fn affect(&mut self, effect: Effect) {
        self.effects.push(effect);
    }

    /// Returns the limit of memory, as the commands of this client see it.
    pub(crate) fn memory_max(&self) -> u64 {
        let mut set = self.effects.iter().rev().filter_map(|effect| match effect {
            Effect::MemoryMax(bytes) => Some(*bytes),
            Effect::Cut(_) | Effect::Spare(..) | Effect::ClientsMax(_) | Effect::ResetStats => None,
        });
        set.next().unwrap_or_else(|| self.shared.memory_max.get())
    }

    /// Returns the limit of what all clients hold, as the commands of this client see it.
    pub(crate) fn clients_max(&self) -> u64 {
        let mut set = self.effects.iter().rev().filter_map(|effect| match effect {
            Effect::ClientsMax(bytes) => Some(*bytes),
            Effect::Cut(_) | Effect::Spare(..) | Effect::MemoryMax(_) | Effect::ResetStats => None,
        });
        set.next().unwrap_or_else(|| self.shared.budget.max.get())
    }

    /// Returns about how many bytes the server holds for what the client has queued, watches, listens to and is called.
    pub(crate) fn held_bytes(&self) -> usize {
        let queued = self.transaction.as_ref().map_or(0, Transaction::bytes);
        let listened = self.channels.bytes() + self.patterns.bytes();
        // The name is here, and where others see it.
        queued + self.watching.bytes() + listened + 2 * self.name.len()
    }

    fn state(&self) -> State {
        State {
            proto: self.proto,
            db: self.db,
            name: self.name.clone(),
            channels: self.channels.clone(),
            patterns: self.patterns.clone(),
            is_closing: self.is_closing,
        }
    }

    fn restore(&mut self, state: State) {
        let State { proto, db, name, channels, patterns, is_closing } = state;
        (self.proto, self.db, self.name) = (proto, db, name);
        (self.channels, self.patterns, self.is_closing) = (channels, patterns, is_closing);
    }

    /// Returns whether the client listens to something.
    pub(crate) fn is_listening(&self) -> bool {
        !self.channels.is_empty() || !self.patterns.is_empty()
    }

    /// Adds one command to the turn.
    pub(crate) fn plan(&mut self, args: Args<'_>, turn: &mut Turn) {
        if self.replies.is_muted() {
            turn.mute(true);
            self.plan_heard(args, turn);
            if self.replies != Replies::All {
                turn.mute(false);
            }
        } else {
            self.plan_heard(args, turn);
        }
        self.replies = match self.replies {
            Replies::SkipNext => Replies::Skip,
            Replies::Skip => Replies::All,
            other @ (Replies::All | Replies::None) => other,
        };
    }

    /// Lets the client have replies, that of the command under way included.
    pub(crate) fn speak(&mut self, turn: &mut Turn) {
        if self.replies.is_muted() {
            turn.mute(false);
        }
        self.replies = Replies::All;
    }

    fn plan_heard(&mut self, args: Args<'_>, turn: &mut Turn) {
        let Some(spec) = find(args.get(0)) else {
            return self.refuse(turn, &Error::unknown(args));
        };
        self.last_command = FullName::of(spec, args);
        if let Err(error) = own::check(spec, args) {
            return self.reject(spec, turn, &error);
        }
        if self.proto == Proto::Resp2 && self.is_listening() && !may_while_listening(spec) {
            let text = format!(
                "ERR Can't execute '{}': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed in \
                 this context",
                self.last_command
            );
            return self.reject(spec, turn, text.as_bytes());
        }
        if self.transaction.is_some() && !runs_in_transaction(spec) {
            return self.queue(spec, args, turn);
        }
        self.run(spec, args, turn);
    }

    /// Refuses a command that is known. An `EXEC` ends its transaction also so.
    fn reject(&mut self, spec: &Spec, turn: &mut Turn, text: &[u8]) {
        if !matches!(spec.action, Action::Own(Own::Exec)) {
            return self.refuse(turn, text);
        }
        self.transaction = None;
        self.unwatch(turn);
        let why = text.strip_prefix(b"ERR ").unwrap_or(text);
        let text = [b"EXECABORT Transaction discarded because of: ", why].concat();
        turn.local(self.proto, |reply| reply.error_bytes(&text));
    }

    /// Answers an error that also breaks a transaction under way.
    fn refuse(&mut self, turn: &mut Turn, text: &[u8]) {
        if let Some(transaction) = &mut self.transaction {
            transaction.abandon();
        }
        turn.local(self.proto, |reply| reply.error_bytes(text));
    }

    /// Runs a command outside of a transaction, or one of those within.
    pub(crate) fn run(&mut self, spec: &'static Spec, args: Args<'_>, turn: &mut Turn) {
        match (target(spec, args, turn.layout()), spec.action) {
            (Ok(Target::Own(own)), _) => {
                if let Err(error) = own::run(self, own, args, turn) {
                    turn.local(self.proto, |reply| reply.error(&error.0));
                }
            }
            (Ok(Target::Shard(shard)), _) => turn.command(shard, spec, self.db, self.proto, args),
            (Ok(Target::Split), Action::Split(_, merge)) => {
                if let Err(error) = turn.split(spec, merge, self.db, self.proto, args, &self.shared)
                {
                    turn.local(self.proto, |reply| reply.error(&error.0));
                }
            }
            (Ok(Target::All), Action::All(_, merge)) => {
                turn.all(Task::Run(spec), merge, self.db, self.proto, args);
            }
            (Ok(Target::Split | Target::All), _) => {}
            (Err(error), _) => turn.local(self.proto, |reply| reply.error(&error.0)),
        }
    }

    fn queue(&mut self, spec: &'static Spec, args: Args<'_>, turn: &mut Turn) {
        if client_command::is_muting(spec, args) {
            // The reply of EXEC would announce more than comes.
            return self.refuse(turn, b"ERR CLIENT REPLY is not allowed in transactions");
        }
        let home = match target(spec, args, turn.layout()) {
            Ok(Target::Shard(shard)) => Some(shard),
            // Its error is the reply when its turn comes.
            Ok(Target::Own(_)) | Err(_) => None,
            Ok(Target::Split | Target::All) => {
                return self.refuse(turn, &Error::CROSS_SHARD.0);
            }
        };
        let Some(transaction) = &mut self.transaction else { return };
        let fixed = transaction.home.or(self.watching.home());
        if home.is_some() && fixed.is_some() && home != fixed {
            return self.refuse(turn, &Error::CROSS_SHARD.0);
        }
        transaction.home = fixed.or(home);
        match transaction.push(spec, args) {
            Ok(()) => turn.local(self.proto, |reply| reply.simple("QUEUED")),
            Err(error) => self.refuse(turn, &error.0),
        }
    }

    /// Runs the queued commands as one.
    pub(crate) fn exec(&mut self, turn: &mut Turn) -> Result<(), Error> {
        let transaction = self.transaction.take().ok_or(Error::new("ERR EXEC without MULTI"))?;
        if transaction.is_broken {
            self.unwatch(turn);
            return Err(Error::new("EXECABORT Transaction discarded because of previous errors."));
        }
        let watching = self.watching.end();
        let layout = turn.layout().clone();
        let commands = transaction.commands();
        turn.open();
        let on_shard = |(spec, args): &&(&'static Spec, Args<'_>)| {
            matches!(target(spec, *args, &layout), Ok(Target::Shard(_) | Target::Own(Own::Info)))
        };
        let steps = commands.iter().filter(on_shard).count();
        let begun = match transaction.home.or(watching) {
            Some(home) => {
                let (replies, steps) = (narrow(commands.len()), narrow(steps));
                let task = Task::Begin { replies, steps, watches: watching.is_some() };
                Some(turn.begin(home, task, self.proto))
            }
            None => {
                turn.local(self.proto, |reply| reply.array(commands.len()));
                None
            }
        };
        let has_own = transaction.has_own;
        if begun.is_some() && has_own {
            self.before = Some(self.state());
        }
        for (spec, args) in commands {
            self.run(spec, args, turn);
        }
        if let Some(begun) = begun {
            turn.end(begun);
        }
        turn.close(self.proto);
        if has_own {
            let (now, has_effects) = (self.state(), !self.effects.is_empty());
            self.before.take_if(|before| !has_effects && *before == now);
        }
        Ok(())
    }

    /// Makes the next transaction depend on keys.
    pub(crate) fn watch(&mut self, args: Args<'_>, turn: &mut Turn) -> Result<(), Error> {
        let mut shards = args.tail(1).map(|key| turn.layout().route(key));
        let home = self.watching.home().or_else(|| shards.clone().next()).unwrap_or(0);
        if !shards.all(|shard| shard == home) {
            return Err(Error::CROSS_SHARD);
        }
        let again = self.watching.begin(home);
        args.tail(1).for_each(|key| self.watching.add(self.db, hash(key), key.len()));
        turn.step(home, Task::Watch { again }, self.db, args);
        Ok(())
    }

    /// Forgets the watched keys.
    pub(crate) fn unwatch(&mut self, turn: &mut Turn) {
        if let Some(home) = self.watching.end() {
            turn.step(home, Task::Unwatch, 0, Args::new(&[], &[]));
        }
    }

    /// Has every shard that may know of a watch forget it, now that the client is gone.
    pub(crate) fn end_watches(&mut self, turn: &mut Turn) {
        for shard in self.watching.leave() {
            turn.step(shard, Task::Unwatch, 0, Args::new(&[], &[]));
        }
    }
}

/// Decides where a command goes.
#[inline(always)]
fn target(spec: &Spec, args: Args<'_>, layout: &Layout) -> Result<Target, Error> {
    if let Action::Own(own) = spec.action {
        return Ok(Target::Own(own));
    }
    if spec.keys.step == 2 && args.len().is_multiple_of(2) {
        return Err(Error::arity(spec.name));
    }
    let shards = layout.shards();
    if shards == 1 {
        return Ok(Target::Shard(0));
    }
    let home = || layout.route(spec.first_key(args));
    let is_together = |home| {
        spec.keys.last == spec.keys.first || spec.keys(args).all(|key| layout.route(key) == home)
    };
    match spec.action {
        Action::Keyed(_) | Action::Split(..) => {
            let home = home();
            if is_together(home) {
                Ok(Target::Shard(home))
            } else if let Action::Split(..) = spec.action {
                Ok(Target::Split)
            } else {
                Err(Error::CROSS_SHARD)
            }
        }
        Action::Cursor(_) => {
            cursor_shard(args.get(1), shards).map(Target::Shard).ok_or(Error::CURSOR)
        }
        Action::All(..) | Action::Own(_) => Ok(Target::All),
    }
}

/// Returns whether a command is run between `MULTI` and `EXEC` instead of queued.
fn runs_in_transaction(spec: &Spec) -> bool {
    matches!(
        spec.action,
        Action::Own(Own::Exec | Own::Discard | Own::Multi | Own::Watch | Own::Quit | Own::Reset)
    )
}

fn may_while_listening(spec: &Spec) -> bool {
    matches!(
        spec.action,
        Action::Own(
            Own::Subscribe
                | Own::Unsubscribe
                | Own::Psubscribe
                | Own::Punsubscribe
                | Own::Ping
                | Own::Quit
                | Own::Reset
        )
    )
}
