//! An actor that keeps a list of numbers: its state shows every event, once, and their order.

use greenroom::journal::{
    Commit, Event, EventSourced, Journal, PersistError, RecoverError, Sourced,
};
use greenroom::{Actor, Context, Ref, SpawnError, System, handlers};
use serde::{Deserialize, Serialize};
use tokio::sync::mpsc;

#[derive(Clone, Debug, PartialEq, Event)]
pub(crate) enum Noted {
    #[event(name = "number")]
    Number(u64),
    #[event(name = "text", version = 4)]
    Text { text: String, times: u8 },
    #[event(name = "cleared")]
    Cleared,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Notes(pub(crate) Vec<String>);

impl EventSourced for Notes {
    type Event = Noted;

    fn apply(&mut self, event: &Noted) {
        match event {
            Noted::Number(number) => self.0.push(number.to_string()),
            Noted::Text { text, times } => {
                (0..*times).for_each(|_| self.0.push(text.clone()));
            }
            Noted::Cleared => self.0.clear(),
        }
    }
}

/// How a ledger opens its key.
#[derive(Clone, Debug)]
pub(crate) struct Opened {
    pub(crate) journal: Journal,
    pub(crate) key: String,
    pub(crate) every: Option<u64>,
    pub(crate) prune: bool,
    /// Told why it could not be recovered.
    pub(crate) errors: Option<mpsc::UnboundedSender<RecoverError>>,
}

impl Opened {
    pub(crate) fn new(journal: &Journal, key: &str) -> Self {
        let (journal, key) = (journal.clone(), key.to_owned());
        Self { journal, key, every: None, prune: false, errors: None }
    }
}

/// Restarts when it fails, if that can help.
#[derive(Actor)]
#[actor(restart = transient(5 in "1h"))]
pub(crate) struct Ledger {
    notes: Sourced<Notes>,
    handled: u32,
}

#[handlers]
impl Ledger {
    #[start]
    async fn start(opened: Opened, cx: &mut Context<Self>) -> Result<Self, RecoverError> {
        let Opened { journal, key, every, prune, errors } = opened;
        let mut opening = journal.open::<Notes>(key);
        if let Some(every) = every {
            opening = opening.snapshot_every(every);
        }
        if prune {
            opening = opening.prune();
        }
        let notes = opening.recover(cx).await.inspect_err(|error| {
            errors.iter().for_each(|errors| errors.send(error.clone()).expect("the test waits"));
        })?;
        Ok(Self { notes, handled: 0 })
    }

    /// Returns the sequence of the event.
    #[ask]
    pub(crate) async fn note(&mut self, event: Noted) -> Result<u64, PersistError> {
        self.handled += 1;
        self.notes.persist(event).await?;
        Ok(self.notes.last())
    }

    #[ask]
    pub(crate) async fn note_all(&mut self, events: Vec<Noted>) -> Result<u64, PersistError> {
        self.notes.persist_all(events).await?;
        Ok(self.notes.last())
    }

    /// Begins to persist and goes away before it is done.
    #[ask]
    pub(crate) async fn note_in_vain(&mut self, event: Noted) -> Vec<String> {
        {
            let mut persisting = std::pin::pin!(self.notes.persist(event));
            std::future::poll_fn(|cx| {
                assert!(persisting.as_mut().poll(cx).is_pending(), "the store is held");
                std::task::Poll::Ready(())
            })
            .await;
        }
        self.notes.0.clone()
    }

    /// Does not wait for the disk.
    #[ask]
    pub(crate) fn record(&mut self, event: Noted) -> (Vec<String>, Result<Commit, PersistError>) {
        let commit = self.notes.record(event);
        (self.notes.0.clone(), commit)
    }

    #[ask]
    pub(crate) fn notes(&mut self) -> Vec<String> {
        self.notes.0.clone()
    }

    /// How many `note`s this incarnation has begun.
    #[ask]
    pub(crate) fn handled(&mut self) -> u32 {
        self.handled
    }
}

pub(crate) async fn open(system: &System, opened: &Opened) -> Result<Ref<Ledger>, SpawnError> {
    system.spawn::<Ledger>(opened.clone()).await
}

pub(crate) fn numbers(range: std::ops::RangeInclusive<u64>) -> Vec<String> {
    range.map(|number| number.to_string()).collect()
}
