//! What all connections and shards of one server share: settings, counts, the list of clients.

use std::collections::BTreeMap;
use std::hash::{BuildHasher, RandomState};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use parking_lot::Mutex;

use super::budget::Budget;
use super::client::{Client, Event};
use super::clock::now_ms;
use super::cluster::Nodes;
use super::layout::Layout;
use super::session::Effect;
use super::stats::{Count, Cut, Stats, Traffic};
use super::store::WatchId;

/// The limits of a server that are not Redis's own constants.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Clients connected at one time.
    pub clients_max: usize,
    /// Bytes of data after which commands that add some are refused.
    pub memory_bytes_max: Option<u64>,
    /// How long a client may send nothing; `None`: as long as it likes.
    pub idle_timeout: Option<Duration>,
    /// How long a client may leave its replies unread; one that still sends has this long after every read, but not
    /// longer than this and the time in which it would have sent as much at [`Limits::REQUEST_BYTES_PER_S`].
    pub write_timeout: Duration,
    /// How long a client may take over one command before it must send [`Limits::REQUEST_BYTES_PER_S`].
    pub request_timeout: Duration,
    /// Bytes that may wait for a client that listens to channels.
    pub listener_bytes_max: usize,
    /// Bytes of unread replies, unfinished commands and waiting messages of all clients together, after which who holds
    /// most is cut off; `None`: no limit.
    pub clients_bytes_max: Option<u64>,
    /// Bytes of kept commands after which a shard is written as a whole, unless it takes more than they do.
    pub rewrite_bytes_min: u64,
}

impl Limits {
    /// Bytes a second that a command under way must grow by in the long run.
    pub const REQUEST_BYTES_PER_S: u64 = 16 * 1024;
    /// Bytes of one read buffer, as Redis's `client-query-buffer-limit`.
    pub const QUERY_BYTES_MAX: usize = 1 << 30;
    /// Bytes of commands that are taken in from clients which have replies to read, of all of them together.
    pub const AHEAD_BYTES_MAX: usize = 64 << 20;
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            clients_max: 10_000,
            memory_bytes_max: None,
            idle_timeout: None,
            write_timeout: Duration::from_secs(60),
            request_timeout: Duration::from_secs(60),
            listener_bytes_max: 32 << 20,
            clients_bytes_max: Some(1 << 30),
            rewrite_bytes_min: 64 << 20,
        }
    }
}

/// What all shards have in their journal.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    /// Bytes of commands.
    pub(crate) log_bytes: Count,
    /// Bytes of shards written as a whole.
    pub(crate) base_bytes: Count,
    /// How often one was.
    pub(crate) rewrites: Count,
}

/// The shared part of a server.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) limits: Limits,
    pub(crate) address: SocketAddr,
    pub(crate) shards: usize,
    /// Which node this is; zero if it is alone.
    pub(crate) node: u64,
    /// The nodes, once it takes part.
    pub(crate) nodes: OnceLock<Nodes>,
    pub(crate) layout: Layout,
    pub(crate) workers: usize,
    pub(crate) scheduler: String,
    pub(crate) stats: Stats,
    /// How often the counts were started anew.
    pub(crate) resets: Count,
    pub(crate) started_ms: i64,
    /// What tells this run of the server from others.
    pub(crate) run_id: String,
    /// Bytes of data after which commands that add some are refused; zero: no limit.
    pub(crate) memory_max: Count,
    /// Bytes of data on all shards, and of what they are about to store.
    pub(crate) memory_used: Count,
    /// The most that they have been.
    pub(crate) memory_peak: Count,
    /// What clients make the server hold.
    pub(crate) budget: Budget,
    /// Channels that somebody listens to, and patterns.
    pub(crate) channels: Count,
    pub(crate) patterns: Count,
    /// Bytes of commands queued in transactions.
    pub(crate) queued: Count,
    /// Bytes of commands taken in from clients which have replies to read.
    pub(crate) ahead_bytes: Count,
    /// Where keys are kept, if they are.
    pub(crate) dir: Option<PathBuf>,
    pub(crate) kept: Kept,
    clients: Mutex<Clients>,
}

/// Returns 40 random digits, as Redis does.
fn run_id() -> String {
    let random = |_| format!("{:016x}", RandomState::new().hash_one(0));
    let mut digits: String = (0..3).map(random).collect();
    digits.truncate(40);
    digits
}

#[derive(Debug, Default)]
struct Clients {
    next: u64,
    by_id: BTreeMap<u64, Arc<Client>>,
    /// The traffic of clients that are gone.
    past: Traffic,
}

impl Shared {
    pub(crate) fn new(
        limits: Limits,
        address: SocketAddr,
        shards: usize,
        workers: usize,
        scheduler: String,
    ) -> Self {
        let memory_max = Count::default();
        memory_max.set(limits.memory_bytes_max.unwrap_or(0));
        let budget = Budget::new(limits.clients_bytes_max.unwrap_or(0));
        Self {
            limits,
            address,
            shards,
            node: 0,
            nodes: OnceLock::new(),
            layout: Layout::alone(shards),
            workers,
            scheduler,
            stats: Stats::default(),
            resets: Count::default(),
            started_ms: now_ms(),
            run_id: run_id(),
            memory_max,
            memory_used: Count::default(),
            memory_peak: Count::default(),
            budget,
            channels: Count::default(),
            patterns: Count::default(),
            queued: Count::default(),
            ahead_bytes: Count::default(),
            dir: None,
            kept: Kept::default(),
            clients: Mutex::default(),
        }
    }

    /// Returns the name under which a client's watches are known on all nodes.
    pub(crate) fn watcher(&self, client: u64) -> WatchId {
        WatchId { node: self.node, client }
    }

    /// Adds a client; `make` is given its id.
    pub(crate) fn add_client(&self, make: impl FnOnce(u64) -> Client) -> Arc<Client> {
        let mut clients = self.clients.lock();
        clients.next += 1;
        let client = Arc::new(make(clients.next));
        clients.by_id.insert(client.id, Arc::clone(&client));
        client
    }

    pub(crate) fn remove_client(&self, id: u64) {
        let mut clients = self.clients.lock();
        if let Some(client) = clients.by_id.remove(&id) {
            clients.past.add(client.shown.lock().traffic);
            client.account.close(&self.budget);
        }
    }

    /// Hands an event over to a client.
    pub(crate) fn send(&self, client: &Client, event: Event) {
        client.send(event, self.limits.listener_bytes_max, &self.budget);
        self.evict();
    }

    /// Notes what a client's connection has.
    pub(crate) fn hold(&self, client: &Client, bytes: usize) {
        if client.account.set_own(bytes as u64, &self.budget) {
            self.evict();
        }
    }

    /// While clients hold more than they may, cuts off who holds most; who asked to be spared, when no other is left.
    fn evict(&self) {
        while self.budget.is_exceeded() {
            let clients = self.clients.lock();
            // Another thread may have done so while this one waited.
            if !self.budget.is_exceeded() {
                return;
            }
            let ranked =
                clients.by_id.values().filter_map(|client| Some((client.account.rank()?, client)));
            let Some((_, most)) = ranked.max_by_key(|(rank, _)| *rank) else { return };
            most.cut(Cut::Evicted);
            most.account.close(&self.budget);
        }
    }

    /// Takes so many bytes of the memory, or what is left if that is less; returns how many.
    pub(crate) fn take_memory(&self, bytes: u64) -> u64 {
        match self.memory_max.get() {
            0 => 0,
            max => self.memory_used.add_within(bytes, max),
        }
    }

    /// Returns all clients, oldest first.
    pub(crate) fn clients(&self) -> Vec<Arc<Client>> {
        self.clients.lock().by_id.values().cloned().collect()
    }

    /// Returns the traffic of all clients so far.
    pub(crate) fn traffic(&self) -> Traffic {
        let clients = self.clients.lock();
        let mut sum = clients.past;
        clients.by_id.values().for_each(|client| sum.add(client.shown.lock().traffic));
        sum
    }

    /// Does what a client's command does to others.
    pub(crate) fn apply(&self, effect: Effect) {
        match effect {
            Effect::Cut(client) => client.cut(Cut::Killed),
            Effect::Spare(client, is_spared) => client.account.spare(is_spared),
            Effect::MemoryMax(bytes) => self.memory_max.set(bytes),
            Effect::ClientsMax(bytes) => {
                self.budget.max.set(bytes);
                self.evict();
            }
            Effect::ResetStats => self.reset_stats(),
        }
    }

    /// Starts all counts anew; each shard does so with its own before it counts more.
    fn reset_stats(&self) {
        self.stats.reset();
        self.kept.rewrites.set(0);
        self.resets.add(1);
        let mut clients = self.clients.lock();
        clients.past = Traffic::default();
        clients.by_id.values().for_each(|client| client.shown.lock().traffic = Traffic::default());
    }

    pub(crate) fn client_count(&self) -> usize {
        self.clients.lock().by_id.len()
    }
}
