//! A state that is the sum of its events.

use super::error::{DecodeError, EncodeError, PersistError, RecoverError};
use super::event::{self, Event};
use super::store::{Record, Snapshot};
use super::stream::{Commit, Recovery, Stream};
use super::writer::Journal;
use crate::actor::{Actor, Context};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;

/// A state that changes by events alone.
///
/// It begins as its `Default`. As serde's `Serialize` and `Deserialize` it is its own snapshot. A snapshot that
/// could not be read again, for one of the reasons that [`Event`] gives, is not taken.
pub trait EventSourced: Default + Serialize + DeserializeOwned + Send + 'static {
    /// What can happen to it.
    type Event: Event;

    /// The form of the snapshots. Count it up when the state's fields change: a snapshot of another version
    /// is not read, and the events are applied from the first, unless they were pruned.
    const SNAPSHOT_VERSION: u32 = 1;

    /// Changes the state by what has happened. It must do the same each time: no clock, no chance, nothing
    /// from outside, and nothing that others notice; those belong into the handler, and what came of them
    /// into the event.
    fn apply(&mut self, event: &Self::Event);
}

/// A state about to be recovered; see [`Journal::open`].
#[must_use = "nothing is opened before `recover`"]
pub struct Opening<S> {
    journal: Journal,
    key: String,
    policy: Policy,
    of: PhantomData<fn() -> S>,
}

/// When a snapshot is taken, and what becomes of the events in it.
#[derive(Clone, Copy, Debug, Default)]
struct Policy {
    every: Option<u64>,
    prune: bool,
}

impl<S: EventSourced> Opening<S> {
    pub(super) fn new(journal: Journal, key: String) -> Self {
        Self { journal, key, policy: Policy::default(), of: PhantomData }
    }

    /// Takes a snapshot after every `events` events, so that recovery applies no more than about so many.
    /// By default none is taken.
    ///
    /// # Panics
    /// If `events` is zero.
    pub fn snapshot_every(mut self, events: u64) -> Self {
        assert!(events > 0, "a snapshot stands for one event at least");
        self.policy.every = Some(events);
        self
    }

    /// Gives up events once a snapshot has them. By default they are kept, and the state can be put
    /// together anew when its form changes.
    pub fn prune(mut self) -> Self {
        self.policy.prune = true;
        self
    }

    /// Claims the key for the actor whose start hook runs, and applies what is there in its order. Whoever
    /// had the key open before can write no more.
    ///
    /// # Errors
    /// [`RecoverError`] says what is wrong with the journal. Returned by the start hook, it is why the
    /// actor does not start.
    pub async fn recover<A: Actor>(self, cx: &Context<A>) -> Result<Sourced<S>, RecoverError> {
        let Self { journal, key, policy, .. } = self;
        let mut recovery = journal.stream(key, cx).await?;
        let mut unread = None;
        let mut state = S::default();
        let mut snapshot_at = 0;
        match recovery.snapshot().await? {
            Some(snapshot) if snapshot.version == S::SNAPSHOT_VERSION => {
                state = read_snapshot(&recovery, &snapshot)?;
                snapshot_at = snapshot.sequence;
                recovery.skip_to(snapshot.sequence);
            }
            Some(snapshot) => unread = Some(snapshot.version),
            None => {}
        }
        loop {
            let Some((sequence, record)) =
                recovery.next().await.map_err(|error| explain::<S>(error, unread))?
            else {
                break;
            };
            let event = read_event::<S>(&recovery, sequence, &record)?;
            state.apply(&event);
        }
        let stream = recovery.finish();
        Ok(Sourced { state, stream, policy, snapshot_at, unapplied: Vec::new() })
    }
}

/// An event that is missing was pruned, if a snapshot stands for it that was not read.
fn explain<S: EventSourced>(error: RecoverError, unread: Option<u32>) -> RecoverError {
    match (error, unread) {
        (RecoverError::MissingEvent { key, .. }, Some(found)) => {
            RecoverError::UnknownSnapshot { key, found, wanted: S::SNAPSHOT_VERSION }
        }
        (error, _) => error,
    }
}

fn read_snapshot<S: EventSourced>(
    recovery: &Recovery,
    snapshot: &Snapshot,
) -> Result<S, RecoverError> {
    event::decode(&snapshot.payload)
        .map_err(|text| RecoverError::MalformedSnapshot { key: recovery.key().to_owned(), text })
}

fn read_event<S: EventSourced>(
    recovery: &Recovery,
    sequence: u64,
    record: &Record,
) -> Result<S::Event, RecoverError> {
    S::Event::decode(record).map_err(|error| {
        let (key, name) = (recovery.key().to_owned(), record.name.clone().into_owned());
        let version = record.version;
        match error {
            DecodeError::Unknown => RecoverError::UnknownEvent { key, sequence, name, version },
            DecodeError::Malformed(text) => {
                RecoverError::MalformedEvent { key, sequence, name, version, text }
            }
        }
    })
}

impl<S> fmt::Debug for Opening<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Opening").field("key", &self.key).finish_non_exhaustive()
    }
}

/// A state and its place in a journal. It reads as the state; only events change it.
///
/// ```
/// use greenroom::journal::{Embedded, Event, EventSourced, Journal, PersistError, RecoverError, Sourced};
/// use greenroom::{Actor, Context, System, handlers};
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Event)]
/// enum Moved {
///     #[event(name = "deposited")]
///     Deposited { cents: u64 },
/// }
///
/// #[derive(Default, Serialize, Deserialize)]
/// struct Balance {
///     cents: u64,
/// }
///
/// impl EventSourced for Balance {
///     type Event = Moved;
///
///     fn apply(&mut self, event: &Moved) {
///         match event {
///             Moved::Deposited { cents } => self.cents += cents,
///         }
///     }
/// }
///
/// #[derive(Actor)]
/// struct Account {
///     balance: Sourced<Balance>,
/// }
///
/// #[handlers]
/// impl Account {
///     #[start]
///     async fn start(journal: Journal, cx: &mut Context<Self>) -> Result<Self, RecoverError> {
///         let balance = journal.open("account-7").snapshot_every(100).recover(cx).await?;
///         Ok(Account { balance })
///     }
///     #[ask]
///     async fn deposit(&mut self, cents: u64) -> Result<u64, PersistError> {
///         self.balance.persist(Moved::Deposited { cents }).await?;
///         Ok(self.balance.cents)
///     }
/// }
///
/// #[greenroom::main]
/// async fn main(system: System) -> Result<(), Box<dyn std::error::Error>> {
///     # let directory = std::env::temp_dir().join(format!("greenroom-doc-{}", std::process::id()));
///     let journal = Journal::new(Embedded::open(&directory)?)?;
///     let account = system.spawn::<Account>(journal.clone()).await?;
///     assert_eq!(account.deposit(40).await?, 40);
///     account.stop();
///
///     let account = system.spawn::<Account>(journal).await?;
///     assert_eq!(account.deposit(2).await?, 42);
///     # std::fs::remove_dir_all(directory)?;
///     Ok(())
/// }
/// ```
pub struct Sourced<S: EventSourced> {
    state: S,
    stream: Stream,
    policy: Policy,
    /// The last event after which a snapshot was due.
    snapshot_at: u64,
    /// Events on their way to the disk that the state does not show yet.
    unapplied: Vec<S::Event>,
}

impl<S: EventSourced> Sourced<S> {
    /// Writes an event and, once it is durable, changes the state by it.
    ///
    /// # Errors
    /// [`PersistError`]. The state is as it was, and unless the event was [`PersistError::Unencodable`] or
    /// [`PersistError::TooLarge`], the actor ends after the running handler, with [`ExitReason::NotPersisted`] or
    /// [`ExitReason::Fenced`].
    ///
    /// # Cancel safety
    /// If the future is dropped, the event may be written; the next call then applies it first.
    ///
    /// [`ExitReason::NotPersisted`]: crate::ExitReason::NotPersisted
    /// [`ExitReason::Fenced`]: crate::ExitReason::Fenced
    pub async fn persist(&mut self, event: S::Event) -> Result<(), PersistError> {
        self.persist_all([event]).await
    }

    /// As [`Sourced::persist`], for events that are written all or none.
    ///
    /// # Errors
    /// As [`Sourced::persist`].
    pub async fn persist_all(
        &mut self,
        events: impl IntoIterator<Item = S::Event> + Send,
    ) -> Result<(), PersistError> {
        let commit = {
            let events: Vec<_> = events.into_iter().collect();
            let records = Self::encode(&events)?;
            let commit = self.stream.append(records)?;
            self.unapplied.extend(events);
            commit
        };
        commit.wait().await?;
        self.apply_all();
        Ok(())
    }

    /// Changes the state by an event at once and lets it be written meanwhile: for actors that would be
    /// slowed by waiting for each one. Allocates; does not wait.
    ///
    /// **Nothing of it may be shown to others before the [`Commit`] is over**, and the answers to later
    /// questions show it too: they wait for a [`Sourced::commit`] of their own. If the write fails, the
    /// actor ends, and with it the state.
    ///
    /// # Errors
    /// [`PersistError::Unencodable`] or [`PersistError::TooLarge`]; nothing was changed.
    pub fn record(&mut self, event: S::Event) -> Result<Commit, PersistError> {
        let records = Self::encode(std::slice::from_ref(&event))?;
        let commit = self.stream.append(records)?;
        self.unapplied.push(event);
        self.apply_all();
        Ok(commit)
    }

    /// What is over when all events so far are durable.
    pub fn commit(&self) -> Commit {
        self.stream.commit()
    }

    /// The key.
    #[must_use]
    pub fn key(&self) -> &str {
        self.stream.key()
    }

    /// The sequence of the last event, zero before the first.
    #[must_use]
    pub fn last(&self) -> u64 {
        self.stream.last()
    }

    /// Reads each record again, because many a `Serialize` writes without an error what its `Deserialize` cannot
    /// read, and often of some values only.
    fn encode(events: &[S::Event]) -> Result<Vec<Record>, PersistError> {
        let records: Result<Vec<_>, _> = events.iter().map(Event::encode).collect();
        let records = records.map_err(PersistError::Unencodable)?;
        records.iter().try_for_each(prove::<S>)?;
        Ok(records)
    }

    fn apply_all(&mut self) {
        for event in self.unapplied.drain(..) {
            self.state.apply(&event);
        }
        let last = self.stream.last();
        if self.policy.every.is_none_or(|every| last - self.snapshot_at < every) {
            return;
        }
        self.snapshot_at = last;
        // A state that cannot be encoded and read again may be so later; until then its events do.
        if let Ok(payload) = event::encode(&self.state, Vec::new())
            && event::decode::<S>(&payload).is_ok()
        {
            self.stream.snapshot(S::SNAPSHOT_VERSION, payload, self.policy.prune);
        }
    }
}

fn prove<S: EventSourced>(record: &Record) -> Result<(), PersistError> {
    S::Event::decode(record).map(drop).map_err(|error| {
        let (name, version) = (&record.name, record.version);
        let text = format!("{name:?} version {version} could not be read again: {error}");
        PersistError::Unencodable(EncodeError(text))
    })
}

impl<S: EventSourced> Deref for Sourced<S> {
    type Target = S;

    fn deref(&self) -> &S {
        &self.state
    }
}

impl<S: EventSourced + fmt::Debug> fmt::Debug for Sourced<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sourced").field("state", &self.state).field("stream", &self.stream).finish()
    }
}
