//! A whole server: its system, its actors, its beginning and its end.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use greenroom::journal::{Embedded, Journal, StoreError};
use greenroom::{BuildError, Config, EventStream, Scheduler, ShutdownError, SpawnError, System};
use tokio::sync::Notify;

use super::backend::Backend;
use super::broker::Broker;
use super::client::Event;
use super::keeper::{self, DirError};
use super::listener::Listener;
use super::shard_actor::ShardActor;
use super::shared::{Limits, Shared};

/// How long a command may take at most: one shard works through one batch.
const COMMAND_TIMEOUT: Duration = Duration::from_secs(60);
/// Clients that may wait to be accepted.
const BACKLOG: i32 = 1024;
/// How long the actors have to end when all clients are gone.
const SYSTEM_TIMEOUT: Duration = Duration::from_secs(5);

/// Which scheduler runs the actors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Queue {
    /// What suits the number of workers.
    #[default]
    Auto,
    /// One queue behind a lock.
    Locked,
    /// One queue without a lock.
    LockFree,
    /// Actors that live on one worker each.
    PerCore,
    /// A queue per worker, with stealing.
    Stealing,
}

impl Queue {
    /// Every queue with its name.
    pub const ALL: [(Self, &'static str); 5] = [
        (Self::Auto, "auto"),
        (Self::Locked, "locked"),
        (Self::LockFree, "lock_free"),
        (Self::PerCore, "per_core"),
        (Self::Stealing, "stealing"),
    ];

    /// Returns its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(queue, _)| *queue == self).map_or("auto", |(_, name)| name)
    }

    fn scheduler(self) -> Scheduler {
        match self {
            Self::Auto => Scheduler::auto(),
            Self::Locked => Scheduler::locked(),
            Self::LockFree => Scheduler::lock_free(),
            Self::PerCore => Scheduler::per_core(),
            Self::Stealing => Scheduler::stealing(),
        }
    }
}

/// How a server is set up.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The address to listen on; port 0 takes any.
    pub listen: SocketAddr,
    /// Worker threads.
    pub workers: usize,
    /// The scheduler.
    pub queue: Queue,
    /// Parts of the key space; `None`: as many as workers.
    pub shards: Option<usize>,
    /// What clients may take up.
    pub limits: Limits,
    /// Where keys are kept, so that they outlive the process; `None`: nowhere.
    pub dir: Option<PathBuf>,
}

impl Default for Settings {
    fn default() -> Self {
        let workers = std::thread::available_parallelism().map_or(1, usize::from);
        let listen = SocketAddr::from(([127, 0, 0, 1], 6379));
        Self {
            listen,
            workers,
            queue: Queue::Auto,
            shards: None,
            limits: Limits::default(),
            dir: None,
        }
    }
}

/// Most parts of the key space: what a `SCAN` cursor can name.
pub const SHARDS_MAX: usize = 1024;

/// Why a server did not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// The address cannot be listened on.
    #[error("cannot listen on {address}: {source}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// Why not.
        source: io::Error,
    },
    /// The directory cannot be served from.
    #[error("cannot keep keys in {}", dir.display())]
    Dir {
        /// The directory.
        dir: PathBuf,
        /// Why not.
        source: DirError,
    },
    /// The journal in the directory cannot be opened; perhaps another server has it open.
    #[error("cannot open the journal in {}", dir.display())]
    Journal {
        /// The directory.
        dir: PathBuf,
        /// Why not.
        source: StoreError,
    },
    /// The journal's thread could not be started.
    #[error("cannot start the journal's thread")]
    Thread(#[from] io::Error),
    /// The actor system could not be built.
    #[error("cannot build the actor system")]
    Build(#[from] BuildError),
    /// An actor could not be started.
    #[error("cannot start an actor")]
    Spawn(#[from] SpawnError),
}

/// A running server.
pub struct Server {
    system: System,
    shared: Arc<Shared>,
    closing: Arc<Notify>,
    journal: Option<Journal>,
    events: EventStream,
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server").field("address", &self.shared.address).finish_non_exhaustive()
    }
}

impl Server {
    /// Starts a server; it accepts clients when this returns.
    ///
    /// # Errors
    ///
    /// [`StartError`] says what stood in the way; the port being taken is the usual thing.
    pub async fn start(settings: Settings) -> Result<Self, StartError> {
        let failed = |source| StartError::Listen { address: settings.listen, source };
        let listener = listen(settings.listen).map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let (shards, journal) = open(&settings)?;
        let queue = settings.queue.name().to_owned();
        let mut shared = Shared::new(settings.limits, address, shards, settings.workers, queue);
        shared.dir = settings.dir;
        let shared = Arc::new(shared);
        let system = System::builder()
            .config(&Config::from_env()?)?
            .workers(settings.workers)
            .scheduler(settings.queue.scheduler())
            .thread_name("kv")
            .ask_timeout(COMMAND_TIMEOUT)
            .build()?;
        let events = system.events();
        let mut actors = Vec::with_capacity(shards);
        for index in 0..shards {
            let shard = system.spawn::<ShardActor>((index, Arc::clone(&shared), journal.clone()));
            actors.push(shard.named(format!("shard-{index}")).await?);
        }
        let broker = system.spawn::<Broker>(Arc::clone(&shared)).named("broker").await?;
        let backend = Backend { shared: Arc::clone(&shared), shards: actors.into(), broker };
        let closing = Arc::new(Notify::new());
        system
            .spawn::<Listener>((listener, backend, Arc::clone(&closing)))
            .named("listener")
            .await?;
        Ok(Self { system, shared, closing, journal, events })
    }

    /// Waits until the server cannot go on, because a shard has ended; returns why. A shard ends when the disk
    /// does not take what it has done.
    ///
    /// # Cancel safety
    ///
    /// Nothing is lost when the future is dropped.
    pub async fn failed(&mut self) -> String {
        loop {
            match self.events.next().await {
                Some(greenroom::Event::Ended { actor, reason })
                    if actor.kind() == std::any::type_name::<ShardActor>() =>
                {
                    return format!("a shard {reason}");
                }
                Some(_) => {}
                None => return "the actor system has ended".to_owned(),
            }
        }
    }

    /// Returns the address listened on.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.shared.address
    }

    /// Returns the number of shards.
    #[must_use]
    pub fn shards(&self) -> usize {
        self.shared.shards
    }

    /// Returns the number of clients connected now.
    #[must_use]
    pub fn clients(&self) -> usize {
        self.shared.client_count()
    }

    /// Accepts nobody more, lets clients finish what they have sent, closes their connections and ends.
    ///
    /// # Errors
    ///
    /// [`ShutdownError`] if something did not end in time; it is killed.
    pub async fn shutdown(self, deadline: Duration) -> Result<(), ShutdownError> {
        let end = Instant::now() + deadline;
        self.closing.notify_one();
        while self.shared.client_count() > 0 && Instant::now() < end {
            for client in self.shared.clients() {
                client.send(Event::Close, usize::MAX);
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        let outcome = self.system.shutdown(SYSTEM_TIMEOUT).await;
        if let Some(journal) = self.journal {
            // Everything acknowledged is on disk; this gives the directory to whoever comes next.
            journal.close().await;
        }
        outcome
    }
}

/// Opens the journal if there is to be one, and says how many shards there are.
fn open(settings: &Settings) -> Result<(usize, Option<Journal>), StartError> {
    let usual = settings.workers.clamp(1, SHARDS_MAX);
    let wanted = settings.shards.map(|shards| shards.clamp(1, SHARDS_MAX));
    let Some(dir) = settings.dir.clone() else { return Ok((wanted.unwrap_or(usual), None)) };
    let shards = keeper::shards_of(&dir, wanted, usual)
        .map_err(|source| StartError::Dir { dir: dir.clone(), source })?;
    let store =
        Embedded::open(&dir).map_err(|source| StartError::Journal { dir: dir.clone(), source })?;
    Ok((shards, Some(Journal::new(store)?)))
}

/// Opens the listening socket.
fn listen(address: SocketAddr) -> io::Result<std::net::TcpListener> {
    let domain = socket2::Domain::for_address(address);
    let socket = socket2::Socket::new(domain, socket2::Type::STREAM, Some(socket2::Protocol::TCP))?;
    // Connections of a server that has just ended must not keep the port.
    socket.set_reuse_address(true)?;
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    socket.set_nonblocking(true)?;
    Ok(socket.into())
}
