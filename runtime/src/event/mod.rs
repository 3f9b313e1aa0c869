//! What happens inside a system, as typed events that logs, metrics and tests all read.

mod counters;
mod dead_letter;
mod subscription;
mod undelivered;

pub use counters::Counts;
pub use dead_letter::{DeadLetter, DeadLetterReason, DeadLetters};
pub use subscription::Subscription;
pub use undelivered::Undelivered;

pub(crate) use counters::{Counters, Lives};
pub(crate) use subscription::SUBSCRIBER_BACKLOG;

use crate::sync::panic::quietly;
use crate::sync::{AtomicBool, CachePadded, Ordering, planted};
use std::fmt;
use tokio::sync::broadcast;

/// Which actor: its number, unique within its system, and its type. The order of numbers is not that in which actors
/// were made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ActorId {
    pub(crate) number: u64,
    pub(crate) kind: &'static str,
}

impl ActorId {
    /// The number, unique within the system and never used again.
    #[must_use]
    pub const fn number(&self) -> u64 {
        self.number
    }

    /// The full name of the actor's type.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        self.kind
    }
}

impl fmt::Display for ActorId {
    /// Writes the type without its path, and the number: `Book#7`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.kind.split('<').next().unwrap_or(self.kind);
        write!(f, "{}#{}", path.rsplit("::").next().unwrap_or(path), self.number)
    }
}

/// Why an incarnation of an actor ended.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ExitReason {
    /// It was asked to stop, or stopped itself.
    Stopped,
    /// It handled all accepted mail first, as asked.
    Drained,
    /// It was killed.
    Killed,
    /// A handler or hook panicked with this text, or a task, pipe or stream beside the actor.
    Panicked(String),
    /// It called [`Context::fail`](crate::Context::fail) with this text.
    Failed(String),
    /// The start hook returned this error.
    StartFailed(String),
    /// Its supervisor restarts it, because a sibling failed or because it was told to.
    Restarted,
    /// An actor that it was linked to ended so.
    Linked {
        /// Which actor.
        actor: ActorId,
        /// Why that one ended.
        reason: Box<Self>,
    },
    /// It failed more often than its restart policy allows, or those that it supervises did.
    TooManyRestarts {
        /// Which actor failed last: itself, or one that it supervises.
        actor: ActorId,
        /// Why that one failed.
        last: Box<Self>,
    },
    /// What it persisted could not be written to the journal; the text says why.
    NotPersisted(String),
    /// Another incarnation, here or on another machine, has opened the key that it wrote to. It is not
    /// restarted: it would take the key back.
    Fenced,
    /// There was no actor to begin with, or it had ended before it was watched.
    NoActor,
    /// The connection to the node that it lives on ended. It may live on; whoever finds it again gets a new
    /// reference.
    NodeDown,
}

impl ExitReason {
    /// Whether it ended as it was meant to, so that a transient actor is not restarted.
    #[must_use]
    pub const fn is_normal(&self) -> bool {
        matches!(self, Self::Stopped | Self::Drained)
    }

    /// Whether no restart follows, whatever the policy.
    pub(crate) const fn is_final(&self) -> bool {
        matches!(self, Self::Killed | Self::Fenced)
    }
}

impl fmt::Display for ExitReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stopped => f.write_str("stopped"),
            Self::Drained => f.write_str("drained"),
            Self::Killed => f.write_str("killed"),
            Self::Panicked(text) => write!(f, "panicked: {text}"),
            Self::Failed(text) => write!(f, "failed: {text}"),
            Self::StartFailed(text) => write!(f, "start failed: {text}"),
            Self::Restarted => f.write_str("restarted by its supervisor"),
            Self::Linked { actor, reason } => write!(f, "linked to {actor}, which {reason}"),
            Self::TooManyRestarts { actor, last } => {
                write!(f, "too many restarts, the last because {actor} {last}")
            }
            Self::NotPersisted(text) => write!(f, "could not persist: {text}"),
            Self::Fenced => f.write_str("fenced: another has opened its key"),
            Self::NoActor => f.write_str("no such actor"),
            Self::NodeDown => f.write_str("out of reach: the connection to its node ended"),
        }
    }
}

/// Something that happened to an actor.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Event {
    /// The start hook succeeded. `incarnation` is 0 at first, and counts restarts, also those of a start that was not over.
    Started {
        /// Which actor.
        actor: ActorId,
        /// How many incarnations it had before.
        incarnation: u32,
    },
    /// An incarnation failed and another one follows after `delay`.
    Restarting {
        /// Which actor.
        actor: ActorId,
        /// Why the incarnation ended.
        reason: ExitReason,
        /// Back-off before the next start.
        delay: std::time::Duration,
    },
    /// An incarnation of a virtual actor is over, and the next message starts another one.
    Asleep {
        /// Which actor.
        actor: ActorId,
        /// Why the incarnation ended.
        reason: ExitReason,
    },
    /// The actor ended for good.
    Ended {
        /// Which actor.
        actor: ActorId,
        /// Why.
        reason: ExitReason,
    },
    /// A told handler returned an error; the actor goes on.
    TellFailed {
        /// Which actor.
        actor: ActorId,
        /// The handler.
        handler: &'static str,
        /// The error's text.
        error: String,
    },
    /// A handler or hook has kept its worker for longer than the
    /// [budget](crate::Builder::handler_budget), neither returning nor awaiting; told once. It goes on.
    Overrun {
        /// Which actor.
        actor: ActorId,
        /// The type of the message that it handles, or what else runs.
        message: &'static str,
        /// For how long it has certainly run so far.
        so_far: std::time::Duration,
    },
    /// So many messages wait for the actor that awaited tells to it are held back.
    Overloaded {
        /// Which actor.
        actor: ActorId,
    },
    /// Half as many wait as when it was overloaded, and nobody who is held back.
    Relieved {
        /// Which actor.
        actor: ActorId,
    },
    /// The [budget](crate::Builder::budget_messages) of the system is used up.
    SystemOverloaded {
        /// Of what.
        quantity: Quantity,
    },
    /// Half of the budget is free again, and nobody waits for more.
    SystemRelieved {
        /// Of what.
        quantity: Quantity,
    },
    /// The [queue of one's own](crate::Scheduler::custom) panicked with this text; told once. What becomes ready from now on
    /// goes into a queue of the runtime's. The actor that the queue was being given, if it was, never runs again; and
    /// if it was being asked what to run, now or later, none of those that it holds does.
    /// A [shutdown](crate::System::shutdown) names them.
    QueuePanicked {
        /// The text of the panic.
        text: String,
    },
    /// A handler or hook, or a task beside the actor, panicked with this text when the incarnation was ending already, as a
    /// stop hook does: that is not why it ends.
    EndPanicked {
        /// Which actor.
        actor: ActorId,
        /// The text of the panic.
        text: String,
    },
    /// A value that nobody wanted any more panicked in its drop.
    DropPanicked {
        /// Which actor held it.
        actor: ActorId,
    },
}

/// What the mail of a system is measured in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Quantity {
    /// How many messages wait.
    Messages,
    /// Bytes of the messages that wait.
    Bytes,
}

/// A subscription to [`Event`]s.
pub type EventStream = Subscription<Event>;

/// Where a system's events go.
#[derive(Debug)]
pub(crate) struct Events {
    events: broadcast::Sender<Event>,
    /// Whether anybody has ever subscribed to them: to ask who listens takes a lock.
    has_listener: AtomicBool,
    letters: broadcast::Sender<DeadLetter>,
    pub(crate) counters: Counters,
    /// One for each worker.
    lives: Box<[CachePadded<Lives>]>,
}

impl Events {
    pub(crate) fn new(workers: usize) -> Self {
        Self {
            lives: (0..workers).map(|_| CachePadded(Lives::default())).collect(),
            events: broadcast::Sender::new(SUBSCRIBER_BACKLOG),
            has_listener: AtomicBool::new(false),
            letters: broadcast::Sender::new(SUBSCRIBER_BACKLOG),
            counters: Counters::default(),
        }
    }

    /// What worker `index` counts.
    pub(crate) fn lives(&self, index: usize) -> &Lives {
        &self.lives[index]
    }

    /// All that was counted.
    pub(crate) fn counts(&self) -> Counts {
        let mut counts = self.counters.read();
        self.lives.iter().for_each(|lives| lives.add_to(&mut counts));
        counts
    }

    pub(crate) fn subscribe(&self) -> EventStream {
        let events = self.events.subscribe();
        // Relaxed: whoever causes an event to be heard has it happen after this, which orders the two.
        self.has_listener.store(true, Ordering::Relaxed);
        Subscription::new(events)
    }

    pub(crate) fn subscribe_letters(&self) -> DeadLetters {
        Subscription::new(self.letters.subscribe())
    }

    /// Counts the event and tells whoever listens; nobody pays for it when nobody does.
    pub(crate) fn emit(&self, event: impl FnOnce() -> Event) {
        // Relaxed: as in `subscribe`.
        if self.has_listener.load(Ordering::Relaxed) && self.events.receiver_count() > 0 {
            tell(&self.events, event());
        }
    }

    /// Counts a message that will not be handled and tells whoever listens.
    pub(crate) fn dead_letter(
        &self,
        actor: ActorId,
        message: &'static str,
        reason: DeadLetterReason,
    ) {
        self.counters.dead_letter(reason);
        if self.letters.receiver_count() > 0 {
            tell(&self.letters, DeadLetter { actor, message, reason });
        }
    }
}

/// Tells whoever listens. What wakes them is anybody's, and is not to end what is told of in the middle.
fn tell<T>(listeners: &broadcast::Sender<T>, what: T) {
    // An error means that the last listener just left.
    let send = || drop(listeners.send(what));
    planted!("event-panic-unwinds": quietly(send) => {
        send();
        true
    });
}
