//! Who writes for all, a thread or a future, and the handle to it.

use super::error::{PersistError, RecoverError, StoreError};
use super::sourced::{EventSourced, Opening};
use super::store::{Claim, Record, Refused, Snapshot, Store, Write, Written, bytes_of};
use super::stream::{Recovery, Waiting};
use crate::actor::{Actor, Context};
use crate::sync::{planted, thread};
use std::fmt;
use std::future::Future;
use std::io;
use tokio::sync::{mpsc, oneshot};

/// Jobs taken at once, and so writes in one commit, at most.
const BATCH_MAX: usize = 4096;
/// Bytes of one commit at most, unless one write has more: a store that cannot take so much fails everybody in it.
const COMMIT_BYTES_MAX: usize = 64 << 20;

/// A handle to a journal; cloning gives another one.
///
/// The journal ends when the last handle and the last [`Stream`](super::Stream) are gone, or by
/// [`Journal::close`].
#[derive(Clone)]
pub struct Journal {
    jobs: mpsc::UnboundedSender<Job>,
}

/// Something to be done by whoever has the store.
pub(super) enum Job {
    /// Write, and let them know.
    Write(Write, Waiting),
    /// Claim a key.
    Claim(String, oneshot::Sender<Result<Claim, RecoverError>>),
    /// Read a snapshot.
    Snapshot(String, oneshot::Sender<Result<Option<Snapshot>, StoreError>>),
    /// Read events.
    Read(Span, oneshot::Sender<Result<Vec<(u64, Record)>, StoreError>>),
    /// Take no more jobs.
    Close(oneshot::Sender<()>),
}

/// Which events to read.
pub(super) struct Span {
    pub(super) key: String,
    pub(super) after: u64,
    pub(super) bytes_max: usize,
}

impl Journal {
    /// Starts the thread that writes to `store`.
    ///
    /// # Errors
    /// The system's, when there is no thread to be had.
    pub fn new(store: impl Store) -> io::Result<Self> {
        let (sender, jobs) = mpsc::unbounded_channel();
        let mut writer = Writer::new(store, jobs);
        thread::Builder::new().name("greenroom-journal".to_owned()).spawn(move || {
            while writer.jobs.blocking_recv_many(&mut writer.taken, BATCH_MAX) > 0 {
                writer.round();
            }
        })?;
        Ok(Self { jobs: sender })
    }

    /// A journal whose writer is a future, in place of a thread: it writes when it is polled, what was handed
    /// in by then in one commit, and is over when the journal is. If it is dropped before, the journal is
    /// closed and what it has not written is not written.
    ///
    /// It is for a [simulated world](crate::sim), where a [task of the node](crate::sim::Node::spawn) drives it: the
    /// world decides when it writes, and it ends where the node crashes. Elsewhere take [`Journal::new`], because
    /// each poll blocks as long as the store does.
    ///
    /// ```
    /// use greenroom::journal::{Journal, Memory};
    /// use greenroom::sim::World;
    ///
    /// let disk = Memory::new(); // outlives the node
    /// let mut world = World::new(7);
    /// let node = world.node("bank").boot(move |node| {
    ///     let (journal, writer) = Journal::without_thread(disk.clone());
    ///     node.spawn(writer);
    ///     async move {
    ///         // Spawn the actors here, with `journal`, as `main` does.
    ///         journal.close().await;
    ///     }
    /// });
    /// node.start();
    /// world.settle();
    /// ```
    pub fn without_thread(store: impl Store) -> (Self, impl Future<Output = ()> + Send + 'static) {
        let (sender, jobs) = mpsc::unbounded_channel();
        let mut writer = Writer::new(store, jobs);
        let written = async move {
            while writer.jobs.recv_many(&mut writer.taken, BATCH_MAX).await > 0 {
                writer.round();
            }
        };
        (Self { jobs: sender }, written)
    }

    /// The state `S` kept under `key`, to be recovered by the actor whose start hook runs. A key has 1,024
    /// bytes at most, and no NUL.
    pub fn open<S: EventSourced>(&self, key: impl Into<String>) -> Opening<S> {
        Opening::new(self.clone(), key.into())
    }

    /// Claims `key` for the actor whose start hook runs, and reads what is there. Whoever had it claimed
    /// before can write no more.
    ///
    /// # Errors
    /// [`RecoverError::InvalidKey`] for one longer than 1,024 bytes or with a NUL in it,
    /// [`RecoverError::Store`] or [`RecoverError::Closed`].
    pub async fn stream<A: Actor>(
        &self,
        key: impl Into<String>,
        cx: &Context<A>,
    ) -> Result<Recovery, RecoverError> {
        Recovery::begin(self.clone(), key.into(), cx.handle()).await
    }

    /// Writes what was handed in so far and gives the store up; ready when it is dropped. What is handed
    /// in later fails with [`PersistError::Closed`].
    pub async fn close(self) {
        let (sender, closed) = oneshot::channel();
        if self.send(Job::Close(sender)).is_ok() {
            // Nothing is ever sent: what is awaited is that the sender is gone, and the store before it.
            let _ = closed.await;
        }
        self.jobs.closed().await;
    }

    /// Hands a job in; it is dropped when the journal is closed.
    pub(super) fn send(&self, job: Job) -> Result<(), Closed> {
        self.jobs.send(job).map_err(|_| Closed)
    }
}

/// The journal takes no more.
pub(super) struct Closed;

impl fmt::Debug for Journal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Journal").finish_non_exhaustive()
    }
}

/// Who waits for a write.
enum Waits {
    Writer(Waiting),
    Claimant(oneshot::Sender<Result<Claim, RecoverError>>),
}

/// Has the store, and does what is handed in.
struct Writer {
    store: Box<dyn Store>,
    /// Those who close the journal. They stand behind the store, and hear of the end when it is dropped.
    closing: Vec<oneshot::Sender<()>>,
    jobs: mpsc::UnboundedReceiver<Job>,
    /// What is to be done next.
    taken: Vec<Job>,
}

impl Writer {
    fn new(store: impl Store, jobs: mpsc::UnboundedReceiver<Job>) -> Self {
        Self { store: Box::new(store), closing: Vec::new(), jobs, taken: Vec::new() }
    }

    /// Does all that was taken, and first what is to be written, in as few commits as take it.
    fn round(&mut self) {
        let (mut batch, mut reads) = (Batch::default(), Vec::new());
        let store = &mut *self.store;
        for job in self.taken.drain(..) {
            match job {
                Job::Write(write, waiting) => batch.add(write, Waits::Writer(waiting), store),
                Job::Claim(key, claimant) => {
                    batch.add(Write::Claim { key }, Waits::Claimant(claimant), store);
                }
                Job::Close(done) => {
                    self.jobs.close();
                    self.closing.push(done);
                }
                Job::Snapshot(..) | Job::Read(..) => reads.push(job),
            }
        }
        batch.commit(store);
        reads.into_iter().for_each(|job| read(store, job));
    }
}

/// What goes into one commit.
#[derive(Default)]
struct Batch {
    writes: Vec<Write>,
    waits: Vec<Waits>,
    bytes: usize,
}

impl Batch {
    /// Adds a write; if that is too much together, what was there before is committed first.
    fn add(&mut self, write: Write, waits: Waits, store: &mut dyn Store) {
        let bytes = bytes(&write);
        let bytes_max = planted!("journal-commits-all-at-once": COMMIT_BYTES_MAX => usize::MAX);
        if self.bytes + bytes > bytes_max {
            self.commit(store);
        }
        self.bytes += bytes;
        self.writes.push(write);
        self.waits.push(waits);
    }

    /// Commits what is there.
    fn commit(&mut self, store: &mut dyn Store) {
        let Self { writes, waits, .. } = std::mem::take(self);
        if !writes.is_empty() {
            tell(waits, store.commit(&writes));
        }
    }
}

/// The bytes that a write takes, about.
fn bytes(write: &Write) -> usize {
    match write {
        Write::Claim { key } => key.len(),
        Write::Append { key, records, .. } => key.len() + bytes_of(records),
        Write::Snapshot { key, snapshot, .. } => key.len() + snapshot.payload.len(),
    }
}

/// Tells everybody what became of their writes.
fn tell(waits: Vec<Waits>, outcome: Result<Vec<Result<Written, Refused>>, StoreError>) {
    let outcomes = match outcome {
        Ok(outcomes) if outcomes.len() == waits.len() => outcomes.into_iter().map(Ok).collect(),
        Ok(_) => vec![Err(StoreError::new("the store answered another commit")); waits.len()],
        Err(error) => vec![Err(error); waits.len()],
    };
    for (waits, outcome) in waits.into_iter().zip(outcomes) {
        match waits {
            Waits::Writer(waiting) => waiting.end(written(outcome)),
            // An error means that the claimant has gone; its claim does no harm.
            Waits::Claimant(claimant) => drop(claimant.send(claimed(outcome))),
        }
    }
}

type Outcome = Result<Result<Written, Refused>, StoreError>;

fn written(outcome: Outcome) -> Result<(), PersistError> {
    match outcome {
        Ok(Ok(_)) => Ok(()),
        Ok(Err(Refused::Fenced)) => Err(PersistError::Fenced),
        Ok(Err(refused)) => Err(PersistError::Store(StoreError::new(refused.to_string()))),
        Err(error) => Err(PersistError::Store(error)),
    }
}

fn claimed(outcome: Outcome) -> Result<Claim, RecoverError> {
    let text = match outcome {
        Ok(Ok(Written::Claimed(claim))) => return Ok(claim),
        Ok(Ok(Written::Done)) => "the store did not claim the key".to_owned(),
        Ok(Err(refused)) => refused.to_string(),
        Err(error) => return Err(RecoverError::Store(error)),
    };
    Err(RecoverError::Store(StoreError::new(text)))
}

fn read(store: &mut dyn Store, job: Job) {
    // An error means that the reader has gone.
    match job {
        Job::Snapshot(key, reader) => drop(reader.send(store.snapshot(&key))),
        Job::Read(span, reader) => {
            drop(reader.send(store.read(&span.key, span.after, span.bytes_max)));
        }
        Job::Write(..) | Job::Claim(..) | Job::Close(_) => {}
    }
}
