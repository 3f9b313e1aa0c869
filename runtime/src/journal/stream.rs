//! The events of one key, as their one writer sees them.

use super::error::{EncodeError, PersistError, RecoverError, StoreError};
use super::store::{Claim, Record, Snapshot, Write, bytes_of};
use super::writer::{Job, Journal, Span};
use crate::actor::Incarnation;
use crate::sync::panic::quietly;
use crate::sync::{Arc, Mutex, planted};
use std::collections::VecDeque;
use std::fmt;
use tokio::sync::{Notify, oneshot};

/// Bytes of events read in one piece while a key is recovered. Commits of others go on in between.
const READ_BYTES: usize = 1 << 20;

/// The longest key or name, in bytes: an index of PostgreSQL takes it.
const TEXT_BYTES_MAX: usize = 1_024;

/// Whether every store takes the text for a key or a name.
fn is_plain(text: &str) -> bool {
    text.len() <= TEXT_BYTES_MAX && !text.contains('\0')
}

/// What is known of a stream's writes, and who waits to know more. Those are woken in the order in which they
/// came; `tokio::sync::watch` draws one, which no simulated world could repeat.
#[derive(Debug)]
struct Progress {
    known: Mutex<Known>,
    changed: Notify,
}

/// What is known of a stream's writes.
#[derive(Debug)]
struct Known {
    /// Everything up to this event is durable.
    durable: u64,
    /// Why nothing more will be.
    failed: Option<PersistError>,
}

impl Progress {
    fn new(durable: u64) -> Self {
        let known = Known { durable, failed: None };
        Self { known: Mutex::new(known), changed: Notify::new() }
    }

    fn change(&self, change: impl FnOnce(&mut Known)) {
        change(&mut self.known.lock());
        // Who waits may be anybody.
        quietly(|| self.changed.notify_waiters());
    }

    /// What became of everything up to an event, once that is known.
    fn outcome(&self, sequence: u64) -> Option<Result<(), PersistError>> {
        let known = self.known.lock();
        if planted!("journal-seen-early": known.durable >= sequence => true) {
            return Some(Ok(()));
        }
        known.failed.clone().map(Err)
    }
}

/// A writer that waits for the outcome of its write.
pub(super) struct Waiting {
    progress: Arc<Progress>,
    /// The last event that is durable after the write.
    last: u64,
    /// Fails with the write.
    writer: Incarnation,
    is_over: bool,
}

impl Waiting {
    /// Tells the outcome. The writer is failed first: when somebody sees the error, it is on its way.
    pub(super) fn end(mut self, outcome: Result<(), PersistError>) {
        self.is_over = true;
        match outcome {
            Ok(()) => self.progress.change(|known| known.durable = known.durable.max(self.last)),
            Err(error) => self.fail(error),
        }
    }

    fn fail(&self, error: PersistError) {
        self.writer.fail(error.exit_reason());
        self.progress.change(|known| known.failed = Some(error));
    }
}

impl Drop for Waiting {
    /// The journal ended without an answer.
    fn drop(&mut self) {
        if !self.is_over {
            self.fail(PersistError::Closed);
        }
    }
}

/// The right to write events under a key, as long as nobody else claims it.
///
/// Made by [`Journal::stream`]. An incarnation of an actor owns it: when a write fails, the incarnation
/// does. What is handed in is written in order.
pub struct Stream {
    journal: Journal,
    key: String,
    epoch: u64,
    last: u64,
    progress: Arc<Progress>,
    writer: Incarnation,
}

impl Stream {
    /// Bytes that events take which are handed in together, or a snapshot, at most: 2 GiB. PostgreSQL takes less
    /// than one; what has more fails its own writer there, and nobody else.
    pub const BYTES_MAX: usize = 2 << 30;

    /// The key.
    #[must_use]
    pub fn key(&self) -> &str {
        &self.key
    }

    /// The sequence of the last event that was handed in, zero before the first.
    #[must_use]
    pub fn last(&self) -> u64 {
        self.last
    }

    /// Hands events in, to be written all or none. An event's name has 1,024 bytes at most, and no NUL.
    /// Allocates; does not wait.
    ///
    /// Nothing of them may be shown to others before the [`Commit`] is over. Await one now and then: what
    /// is handed in is kept in memory until it is written.
    ///
    /// # Errors
    /// [`PersistError::Unencodable`] for another name, and [`PersistError::TooLarge`] for more than
    /// [`Stream::BYTES_MAX`]; nothing is handed in.
    pub fn append(&mut self, records: Vec<Record>) -> Result<Commit, PersistError> {
        // A store that stumbles over it would fail what others write in the same commit.
        if let Some(Record { name, .. }) = records.iter().find(|record| !is_plain(&record.name)) {
            return Err(PersistError::Unencodable(EncodeError(format!(
                "{name:?} is no name, which has 1,024 bytes at most and no NUL"
            ))));
        }
        let bytes = bytes_of(&records);
        if bytes > Self::BYTES_MAX {
            return Err(PersistError::TooLarge { bytes, max: Self::BYTES_MAX });
        }
        let first = self.last + 1;
        self.last += records.len() as u64;
        if !records.is_empty() {
            let (key, epoch) = (self.key.clone(), self.epoch);
            self.send(Write::Append { key, epoch, first, records });
        }
        Ok(self.commit())
    }

    /// Hands a snapshot in, of the state after the last event. With `prune` the events that are in it are
    /// given up. The actor goes on meanwhile, and fails if it cannot be written. One that takes more than
    /// [`Stream::BYTES_MAX`] is not handed in, and the events stay.
    pub fn snapshot(&mut self, version: u32, payload: Vec<u8>, prune: bool) {
        if payload.len() > Self::BYTES_MAX {
            return;
        }
        let (key, epoch) = (self.key.clone(), self.epoch);
        let snapshot = Snapshot { sequence: self.last, version, payload };
        self.send(Write::Snapshot { key, epoch, snapshot, prune });
    }

    /// What is over when all that was handed in so far is durable.
    pub fn commit(&self) -> Commit {
        Commit { progress: self.progress.clone(), sequence: self.last }
    }

    fn send(&self, write: Write) {
        let waiting = Waiting {
            progress: self.progress.clone(),
            last: self.last,
            writer: self.writer.clone(),
            is_over: false,
        };
        // A closed journal drops the job, and the drop tells.
        let _ = self.journal.send(Job::Write(write, waiting));
    }
}

impl fmt::Debug for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stream")
            .field("key", &self.key)
            .field("epoch", &self.epoch)
            .field("last", &self.last)
            .finish_non_exhaustive()
    }
}

/// Events on their way to the disk.
#[derive(Debug)]
#[must_use = "nothing may be shown before it is over"]
pub struct Commit {
    progress: Arc<Progress>,
    sequence: u64,
}

impl Commit {
    /// Whether the events are durable by now.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.progress.known.lock().durable >= self.sequence
    }

    /// Waits until the events are durable.
    ///
    /// # Errors
    /// [`PersistError`] when they will not be, as far as is known; the writing actor ends then.
    ///
    /// # Cancel safety
    /// The events are written all the same.
    pub async fn wait(self) -> Result<(), PersistError> {
        loop {
            // Before the look: from here on no change is missed.
            let changed = self.progress.changed.notified();
            if let Some(outcome) = self.progress.outcome(self.sequence) {
                return outcome;
            }
            changed.await;
        }
    }
}

/// A claimed key whose events are being read; in the end it gives the [`Stream`].
#[derive(Debug)]
pub struct Recovery {
    stream: Stream,
    /// The last event that was given out, or that the snapshot stands for.
    at: u64,
    read: VecDeque<(u64, Record)>,
}

impl Recovery {
    pub(super) async fn begin(
        journal: Journal,
        key: String,
        writer: Incarnation,
    ) -> Result<Self, RecoverError> {
        // A store that stumbles over it would fail what others write in the same commit.
        if !is_plain(&key) {
            return Err(RecoverError::InvalidKey(key));
        }
        let (sender, claim) = oneshot::channel();
        ask(&journal, Job::Claim(key.clone(), sender))?;
        let Claim { epoch, last } = claim.await.map_err(|_| RecoverError::Closed)??;
        let progress = Arc::new(Progress::new(last));
        let stream = Stream { journal, key, epoch, last, progress, writer };
        Ok(Self { stream, at: 0, read: VecDeque::new() })
    }

    /// The snapshot, if there is one. Events from it on follow; or all that are left, if it is not wanted
    /// and [`Recovery::skip_to`] is not called.
    ///
    /// # Errors
    /// [`RecoverError::Store`] or [`RecoverError::Closed`].
    pub async fn snapshot(&mut self) -> Result<Option<Snapshot>, RecoverError> {
        let (sender, snapshot) = oneshot::channel();
        ask(&self.stream.journal, Job::Snapshot(self.stream.key.clone(), sender))?;
        answer(snapshot.await)
    }

    /// Leaves out the events up to `sequence`, which a snapshot stands for.
    pub fn skip_to(&mut self, sequence: u64) {
        self.at = sequence;
        self.read.clear();
    }

    /// The next event with its sequence; `None` after the last.
    ///
    /// # Errors
    /// [`RecoverError::MissingEvent`] where one is missing, [`RecoverError::Store`] or
    /// [`RecoverError::Closed`].
    pub async fn next(&mut self) -> Result<Option<(u64, Record)>, RecoverError> {
        if self.at >= self.stream.last {
            return Ok(None);
        }
        if self.read.is_empty() {
            let (sender, events) = oneshot::channel();
            let key = self.stream.key.clone();
            let span = Span { key, after: self.at, bytes_max: READ_BYTES };
            ask(&self.stream.journal, Job::Read(span, sender))?;
            self.read = answer(events.await)?.into();
        }
        let expected = self.at + 1;
        match self.read.pop_front() {
            Some((sequence, record)) if sequence == expected => {
                self.at = expected;
                Ok(Some((sequence, record)))
            }
            _ => {
                Err(RecoverError::MissingEvent { key: self.stream.key.clone(), sequence: expected })
            }
        }
    }

    /// The stream, once all events were taken; those that were not are left as they are.
    #[must_use]
    pub fn finish(self) -> Stream {
        self.stream
    }

    /// The key.
    #[must_use]
    pub fn key(&self) -> &str {
        &self.stream.key
    }
}

fn ask(journal: &Journal, job: Job) -> Result<(), RecoverError> {
    journal.send(job).map_err(|_| RecoverError::Closed)
}

fn answer<T>(
    answer: Result<Result<T, StoreError>, oneshot::error::RecvError>,
) -> Result<T, RecoverError> {
    answer.map_err(|_| RecoverError::Closed)?.map_err(RecoverError::Store)
}
