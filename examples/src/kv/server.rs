//! A whole server: its system, its actors, its beginning and its end.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use greenroom::journal::{Embedded, Journal, StoreError};
use greenroom::net::Node;
use greenroom::{
    BuildError, Config, EventStream, Idle, Ref, Scheduler, ShutdownError, SpawnError, System,
};
use tokio::sync::Notify;
use tokio::task::JoinSet;

use super::backend::{Backend, Home};
use super::broker::Broker;
use super::cluster::{Neighbour, NodeError, Plan};
use super::keeper::{self, DirError};
use super::listener::Listener;
use super::shard_actor::ShardActor;
use super::shared::{Limits, Shared};
use super::stats::Cut;

#[cfg(test)]
mod tests;

/// How long a command may take at most: one shard works through one batch.
const COMMAND_TIMEOUT: Duration = Duration::from_secs(60);
/// How long a worker looks for requests before it sleeps. With many clients the next one comes sooner, and a client that
/// has to have a thread woken pays for that as much as for its request.
const SPIN: Duration = Duration::from_micros(20);
/// Clients that may wait to be accepted.
const BACKLOG: i32 = 1024;
/// Shards of each node, unless told otherwise.
const NODE_SHARDS: usize = 4;
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
    /// The file of a node, if the server is one of several that share the keys.
    pub node: Option<PathBuf>,
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
            node: None,
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
    /// The server cannot be one of several nodes.
    #[error("cannot be the node of {}", file.display())]
    Node {
        /// The node's file.
        file: PathBuf,
        /// Why not.
        source: Box<NodeError>,
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
    node: Option<Node>,
    /// Ready when a shard has ended.
    ends: JoinSet<()>,
    /// Tells why it has, if that is not missed among all that happens.
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
        let node_failed = |source| {
            let file = settings.node.clone().unwrap_or_default();
            StartError::Node { file, source: Box::new(source) }
        };
        let plan = settings.node.as_deref().map(Plan::read).transpose().map_err(node_failed)?;
        let owner = plan.as_ref().map_or_else(|| keeper::ALONE.to_owned(), Plan::owner);
        let (shards, journal) = open(&settings, &owner)?;
        let queue = settings.queue.name().to_owned();
        let mut shared = Shared::new(settings.limits, address, shards, settings.workers, queue);
        shared.dir = settings.dir;
        if let Some(plan) = &plan {
            shared.node = plan.me().0;
            shared.layout = plan.layout(shards, SHARDS_MAX).map_err(node_failed)?;
        }
        let shared = Arc::new(shared);
        let system = System::builder()
            .idle(Idle::Spin(SPIN))
            .config(&Config::from_env()?)?
            .workers(settings.workers)
            .scheduler(settings.queue.scheduler())
            .thread_name("kv")
            .ask_timeout(COMMAND_TIMEOUT)
            .build()?;
        let events = system.events();
        let (mut actors, mut ends) = (Vec::with_capacity(shards), JoinSet::new());
        let here = shared.layout.first().map_or(0, |_| shards);
        for index in 0..here {
            let shard = system.spawn::<ShardActor>((index, Arc::clone(&shared), journal.clone()));
            let shard = shard.named(format!("shard-{index}")).await?;
            let watched = shard.clone();
            ends.spawn(async move { watched.ended().await });
            actors.push(shard);
        }
        let broker = system.spawn::<Broker>(Arc::clone(&shared)).named("broker").await?;
        let neighbours = plan.as_ref().map(|plan| plan.neighbours(&shared.layout));
        let (mut node, neighbours) = (None, neighbours.unwrap_or_default());
        let homes = homes(&shared, &actors, &neighbours);
        if let Some(plan) = plan {
            let started = plan.start(&system, &shared.layout, &actors, neighbours).await;
            let (started, nodes) = started.map_err(node_failed)?;
            node = Some(started);
            // Nobody has set it before.
            let _ = shared.nodes.set(nodes);
        }
        let backend = Backend { shared: Arc::clone(&shared), shards: homes, broker };
        let closing = Arc::new(Notify::new());
        system
            .spawn::<Listener>((listener, backend, Arc::clone(&closing)))
            .named("listener")
            .await?;
        Ok(Self { system, shared, closing, journal, node, ends, events })
    }

    /// Waits until the server cannot go on, because a shard has ended; returns why. A shard ends when the disk
    /// does not take what it has done.
    ///
    /// # Cancel safety
    ///
    /// Nothing is lost when the future is dropped.
    pub async fn failed(&mut self) -> String {
        if self.ends.join_next().await.is_none() {
            // There is no shard here.
            while self.events.next().await.is_some() {}
            return "the actor system has ended".to_owned();
        }
        while let Some(event) = self.events.try_next() {
            if let greenroom::Event::Ended { actor, reason } = event
                && actor.kind() == std::any::type_name::<ShardActor>()
            {
                return format!("a shard {reason}");
            }
        }
        "a shard has ended".to_owned()
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

    /// Accepts nobody more, serves what clients have sent and what they still send within a second, closes their
    /// connections and ends. Who has not read its replies when three quarters of the time are over is cut off.
    ///
    /// # Errors
    ///
    /// [`ShutdownError`] if something did not end in time; it is killed.
    pub async fn shutdown(self, deadline: Duration) -> Result<(), ShutdownError> {
        let end = Instant::now() + deadline;
        let patient = end - deadline / 4;
        self.closing.notify_one();
        while self.shared.client_count() > 0 && Instant::now() < end {
            let is_patient = Instant::now() < patient;
            for client in self.shared.clients() {
                if is_patient {
                    client.close();
                } else {
                    client.cut(Cut::SlowReader);
                }
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        if let Some(node) = self.node {
            // The others learn of it now, not when they have waited in vain.
            let left = end.saturating_duration_since(Instant::now());
            let _ = tokio::time::timeout(left, node.close()).await;
        }
        let outcome = self.system.shutdown(SYSTEM_TIMEOUT).await;
        if let Some(journal) = self.journal {
            // Everything acknowledged is on disk; this gives the directory to whoever comes next.
            journal.close().await;
        }
        if outcome.is_ok() {
            // Which tests see, and those of the program by how it ends. Last, or a panic would leave the journal open.
            debug_assert_eq!(self.system.leftovers(), Vec::<String>::new());
        }
        outcome
    }
}

/// Says where every shard is.
fn homes(shared: &Shared, here: &[Ref<ShardActor>], neighbours: &[Arc<Neighbour>]) -> Arc<[Home]> {
    let layout = &shared.layout;
    let home = |shard: usize| {
        let local = layout.first().and_then(|first| here.get(shard.checked_sub(first)?));
        if let Some(actor) = local {
            return Home::Here(actor.clone());
        }
        let node = layout.nodes()[shard / layout.per_node()];
        let neighbour = neighbours.iter().find(|neighbour| neighbour.id == node);
        Home::There(Arc::clone(neighbour.expect("who is not here is a peer of the node's file")))
    };
    (0..layout.shards()).map(home).collect()
}

/// Opens the journal if there is to be one, which is that of `owner`, and says how many shards there are.
fn open(settings: &Settings, owner: &str) -> Result<(usize, Option<Journal>), StartError> {
    // Nodes on different machines must agree without a word.
    let usual = if settings.node.is_some() { NODE_SHARDS } else { settings.workers };
    let usual = usual.clamp(1, SHARDS_MAX);
    let wanted = settings.shards.map(|shards| shards.clamp(1, SHARDS_MAX));
    let Some(dir) = settings.dir.clone() else { return Ok((wanted.unwrap_or(usual), None)) };
    // First, for it locks the directory: of two servers that begin in one, one says how many shards there are.
    let mut store =
        Embedded::open(&dir).map_err(|source| StartError::Journal { dir: dir.clone(), source })?;
    let shards = keeper::shards_of(&dir, &mut store, owner, wanted, usual)
        .map_err(|source| StartError::Dir { dir: dir.clone(), source })?;
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
