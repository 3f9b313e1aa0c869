//! The connected queue pairs (RC) of one worker: one for each peer and lane, with one completion queue, and one queue
//! of receives that all of them take from.
//!
//! A packet is what both ends tell each other of receives, 8 bytes, and what [`Connected::send`]'s caller wrote behind
//! it, or nothing if it only tells. The device repeats what is lost and keeps the order, so what comes is what
//! was sent, up to the end of the connection; what was under way then may or may not have come. [RDMA-14] [RDMA-15]
//!
//! Memory is registered as it is needed, for what is under way: a peer may send few packets at first, and more once it
//! does. When receives are short, peers that do not need theirs are asked to give them back, and only then there
//! are more.
//!
//! ```text
//!   turn: poll (32 at most) -> sink, in the slot -> receives posted again, or others for those that are lent, one doorbell
//!         -> who may send more
//!         send*             -> fill, in the slot -> flush: credit, one doorbell
//!         nothing for a while: arm -> poll once more -> wait for poll_event
//! ```
//!
//! A connection that ends fails at first. Its queue pair goes once its completions have come, so that the receives
//! that it took come back.

mod connecting;
mod ending;
pub(super) mod lending;
mod link;
mod settle;
pub(super) mod shared;
mod taking;

pub use super::credit::PREFIX_BYTES;
use super::credit::RECEIVES_MAX;
use super::ended::Ended;
use super::sends::SendError;
use super::verbs::{
    Completion, CompletionQueue, ConnectError, CreateError, Device, DeviceError, Endpoint, Limits,
    QueuePairConfig, Receives, RegisterError, Timing,
};
use connecting::Away;
pub use lending::Came;
use lending::Lending;
use link::Link;
pub(super) use shared::CONNECTIONS_MAX;
use shared::{Memory, Shared};
use std::collections::{BTreeMap, VecDeque};
use std::task::{Context, Poll};

/// So many completions are taken at a time.
const BATCH: usize = 32;

/// How large things are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// Connections at a time: 64, or fewer where a device has no room for the completions of as many; at most 32,511.
    pub connections_max: u16,
    /// Packets under way to one peer: 64.
    pub sends: u32,
    /// Packets under way from one peer that sends many: 64, at least 4.
    pub receives: u32,
    /// Bytes of a packet, those in front included: 8192.
    pub slot_bytes: usize,
    /// Packets of so many bytes are copied into the request: 220, as far as the device can.
    pub inline_bytes: u32,
    /// How long a device tries.
    pub timing: Timing,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            connections_max: 64,
            sends: 64,
            receives: 64,
            slot_bytes: 8192,
            inline_bytes: 220,
            timing: Timing::default(),
        }
    }
}

impl Config {
    /// How many connections a device has room for, of so many completions, and how many receives they share.
    fn fitting(&self, limits: &Limits) -> (u16, u32, u32) {
        // [RDMA-6] Room for all that may be under way, so that it never overflows.
        let room = |connections: u16| {
            let pairs = u32::from(connections) + LEAVING_MAX;
            let most = pairs.saturating_mul(self.receives);
            let depth = most.min(RECEIVES_MAX).min(limits.shared_requests);
            ((self.sends + 1).saturating_mul(pairs).saturating_add(depth), depth)
        };
        let fits = |connections: &u16| room(*connections).0 <= limits.completions;
        let wanted = self.connections_max.min(CONNECTIONS_MAX);
        // The device says so if not even one has room.
        let connections_max = (1..=wanted).rev().find(fits).unwrap_or(wanted);
        let (room, depth) = room(connections_max);
        (connections_max, room, depth)
    }
}

/// One connection among those of a worker. It is never used for another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnectionId {
    index: u16,
    /// Which of those that had this index.
    use_count: u32,
}

#[cfg(test)]
impl ConnectionId {
    /// One of no worker, for tests of what only tells them apart.
    pub(in crate::rdma) const fn of_nobody(index: u16) -> Self {
        Self { index, use_count: 0 }
    }
}

/// Why a connection is not opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectionError {
    /// As many are open as may be.
    #[error("{0} connections are open, which is all there may be")]
    TooMany(u16),
    /// The connection has ended, or is connected.
    #[error("the connection has ended, or is connected")]
    State,
    /// Fewer than four receives: there is no room for credit.
    #[error("{0} receives are too few, four are the least")]
    Receives(u32),
    /// The device does not make a part.
    #[error(transparent)]
    Create(#[from] CreateError),
    /// All receives are others', or were lost with queue pairs that failed.
    #[error("no receives are left")]
    NoReceives,
    /// All connections of the device have ended with it.
    #[error("the device, or what all connections share, has failed")]
    Failed,
    /// Memory is not registered.
    #[error(transparent)]
    Register(#[from] RegisterError),
    /// The queue pair does not connect.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// The device is gone.
    #[error(transparent)]
    Device(#[from] DeviceError),
}

impl ConnectionError {
    /// Whether there is no memory for it, mostly because the process may not lock as much.
    pub(in crate::rdma) const fn is_short(&self) -> bool {
        matches!(self, Self::Register(_) | Self::Create(CreateError::Locked { .. }))
    }
}

/// A place for a connection.
#[derive(Debug)]
struct Place<D: Device> {
    use_count: u32,
    link: Option<Link<D>>,
}

/// The connections of one worker. [`connect`](Self::connect) may look for a peer for a second. All else does not wait for
/// others, but calls the system where a queue pair is made or ends, memory grows, or a doorbell rings; memory grows to what
/// is under way.
#[derive(Debug)]
pub struct Connected<D: Device> {
    config: Config,
    completions: D::CompletionQueue,
    places: Vec<Place<D>>,
    /// Where the connection of a queue pair is, by its number.
    routes: BTreeMap<u32, u16>,
    shared: Shared<D>,
    memory: Memory<D>,
    lending: Lending<D::Slot>,
    /// Connections whose queue pairs are being connected.
    away: Vec<Away<D>>,
    /// Connections that failed while packets were handed in: their queue pairs are to fail after that.
    failed: Vec<Link<D>>,
    /// Connections that ended, until the device has said all of them.
    leaving: Vec<Link<D>>,
    /// Connections with something that waits for a doorbell, or that owe credit.
    dirty: Vec<u16>,
    /// Connections whose peers are to have more credit than there is, in their turn.
    waiting: VecDeque<u16>,
    ended: VecDeque<(ConnectionId, Ended)>,
    has_failed: bool,
    /// Whether the last poll took completions.
    has_taken: bool,
    /// Room for what one poll takes.
    batch: Box<[Completion]>,
    /// Last, so that it is closed after everything of it.
    device: D,
}

impl<D: Device> Connected<D> {
    /// None yet, on that device.
    ///
    /// # Errors
    /// The device has no completion queue of that size, or there are too few receives.
    pub fn new(device: D, mut config: Config) -> Result<Self, ConnectionError> {
        if config.receives < RECEIVES_MIN {
            return Err(ConnectionError::Receives(config.receives));
        }
        let (connections_max, room, depth) = config.fitting(&device.limits());
        config.connections_max = connections_max;
        let completions = device.completion_queue(room)?;
        Ok(Self {
            config,
            completions,
            places: Vec::new(),
            routes: BTreeMap::new(),
            shared: Shared::new(&device, depth, connections_max)?,
            memory: Memory::new(config.slot_bytes),
            lending: Lending::new(),
            away: Vec::new(),
            failed: Vec::new(),
            leaving: Vec::new(),
            dirty: Vec::new(),
            waiting: VecDeque::new(),
            ended: VecDeque::new(),
            has_failed: false,
            has_taken: false,
            batch: vec![Completion::default(); BATCH].into(),
            device,
        })
    }

    /// Whether it is of no more use, with all its connections: the device has to be opened again.
    #[must_use]
    pub const fn has_failed(&self) -> bool {
        self.has_failed
    }

    /// The device, to ask it for what happened to it.
    pub fn device(&mut self) -> &mut D {
        &mut self.device
    }

    /// How many connections there may be at a time.
    #[must_use]
    pub const fn connections_max(&self) -> u16 {
        self.config.connections_max
    }

    /// Bytes that a packet has room for.
    #[must_use]
    pub const fn packet_bytes_max(&self) -> usize {
        self.config.slot_bytes.saturating_sub(PREFIX_BYTES)
    }

    /// How many receives the peer has to be told of: those that a connection has from the beginning, and whatever
    /// others do.
    #[must_use]
    pub fn receives(&self) -> u32 {
        self.config.receives.min(START)
    }

    /// How many receives are posted, for all connections.
    #[must_use]
    pub fn receives_posted(&self) -> usize {
        self.shared.queue.receives_posted()
    }

    /// Opens a connection with its receives posted; [`connect`](Self::connect) or [`connect_apart`](Self::connect_apart)
    /// is next. `psn` has to be random. Registers memory, unless there is some that nobody uses.
    ///
    /// # Errors
    /// There are too many, or the device does not want to.
    pub fn open(&mut self, psn: u32) -> Result<ConnectionId, ConnectionError> {
        if self.has_failed {
            return Err(ConnectionError::Failed);
        }
        self.renew();
        let is_kept = |at| crate::planted!("rdma-place-early": self.is_away(at) => false);
        let is_free = |&at: &usize| self.places[at].link.is_none() && !is_kept(at);
        let index = (0..self.places.len()).find(is_free).unwrap_or(self.places.len());
        let max = self.config.connections_max;
        let index = u16::try_from(index).ok().filter(|&index| index < max);
        let pairs = self.routes.len() + self.ended_away() + self.leaving();
        let is_full = pairs >= usize::from(max) + LEAVING_MAX as usize;
        let index = index.filter(|_| !is_full).ok_or(ConnectionError::TooMany(max))?;
        let link = self.make_link(index, psn)?;
        self.routes.insert(link.qpn(), index);
        if usize::from(index) == self.places.len() {
            self.places.push(Place { use_count: 0, link: None });
        }
        let place = &mut self.places[usize::from(index)];
        place.use_count += 1;
        place.link = Some(link);
        Ok(ConnectionId { index, use_count: place.use_count })
    }

    fn make_link(&mut self, index: u16, psn: u32) -> Result<Link<D>, ConnectionError> {
        let config = QueuePairConfig {
            // One more, for the last word.
            sends_max: self.config.sends + 1,
            receives_max: 0,
            inline_bytes: self.config.inline_bytes,
            owner: index,
            psn,
        };
        let pair = self.device.connected(&self.completions, Some(&self.shared.queue), &config)?;
        // [RDMA-10] Before the peer can know that this end is there.
        let start = self.receives();
        self.retry();
        let ensured = self.shared.ensure(&self.device, &mut self.memory, start);
        if let Err(ConnectionError::Device(error)) = ensured {
            self.fail_all(Ended::Device(error));
        }
        ensured?;
        if self.shared.pool.free() < start {
            return Err(ConnectionError::NoReceives);
        }
        self.shared.pool.claim(start);
        Ok(Link::new(pair, self.config.sends, start))
    }

    /// What the peer has to know to connect; none while the queue pair is being connected apart.
    #[must_use]
    pub fn endpoint(&self, id: ConnectionId) -> Option<Endpoint> {
        Some(self.link(id)?.endpoint())
    }

    /// Whether a packet could be sent now. Registers memory for it, if there is none.
    #[must_use]
    pub fn has_room(&mut self, id: ConnectionId) -> bool {
        self.link(id).is_some_and(Link::has_room) && self.memory.has_spare(&self.device)
    }

    /// Whether there is room for a packet, but for memory, which [`has_room`](Self::has_room) would register.
    pub(in crate::rdma) fn is_short(&self) -> bool {
        let mut links = self.places.iter().filter_map(|place| place.link.as_ref());
        self.memory.is_short() && links.any(Link::has_room)
    }

    /// Registers memory to send from, if there is none.
    pub(in crate::rdma) fn make_room(&mut self) {
        self.memory.has_spare(&self.device);
    }

    /// Sends the packet that `fill` writes, in registered memory; it returns how many bytes that is, or
    /// zero for none. The device is told only after `fill` is dropped. Packets leave at [`flush`](Self::flush), or sixteen at a time.
    ///
    /// # Errors
    /// There is no room, or the connection is not connected yet, and `fill` was not asked; or the connection
    /// has ended, and what it wrote is gone.
    pub fn send(
        &mut self,
        id: ConnectionId,
        fill: impl FnOnce(&mut [u8]) -> usize,
    ) -> Result<usize, SendError> {
        self.memory.has_spare(&self.device);
        let link = Self::found(&mut self.places, id).ok_or(SendError::Ended)?;
        let sent = link.send(&mut self.memory.spare, fill);
        match sent {
            Ok(_) => self.mark(id.index),
            Err(SendError::Ended) => self.fail(id.index, Ended::Device(DeviceError::Failed)),
            Err(SendError::Full) => {}
        }
        sent
    }

    /// Lets everything leave that was sent, and tells peers of receives where they need to know.
    pub fn flush(&mut self) {
        let mut dirty = std::mem::take(&mut self.dirty);
        for index in dirty.drain(..) {
            let Some(link) = self.places[usize::from(index)].link.as_mut() else { continue };
            link.dirty = false;
            if link.must_tell() {
                self.memory.has_spare(&self.device);
            }
            match link.flush(&mut self.memory.spare) {
                Ok(true) => {}
                Ok(false) => self.mark(index),
                Err(error) => self.fail(index, Ended::Device(error)),
            }
        }
        if self.dirty.is_empty() {
            self.dirty = dirty;
        }
    }

    /// Whether packets that were sent may not have left yet. Peers are told of receives once more, if it takes that for the
    /// device to say so.
    pub fn is_sending(&mut self) -> bool {
        self.memory.has_spare(&self.device);
        let links = self.places.iter_mut().filter_map(|place| place.link.as_mut());
        links.fold(false, |is_sending, link| is_sending | link.is_sending(&mut self.memory.spare))
    }

    /// Whether the last poll took anything, if only room that was freed or told of: there may be more, and more
    /// may be sent.
    #[must_use]
    pub const fn has_taken(&self) -> bool {
        self.has_taken
    }

    /// A connection that ended by itself, and why. Its memory is used again.
    pub fn poll_ended(&mut self) -> Option<(ConnectionId, Ended)> {
        self.ended.pop_front()
    }

    /// Ends a connection. What was under way may or may not arrive.
    pub fn end(&mut self, id: ConnectionId) {
        if self.link(id).is_some() {
            self.close(id.index);
        }
        self.end_away(id);
    }

    /// Asks for an event at the next completion. Poll once more after this, and wait for
    /// [`poll_event`](Self::poll_event) only if that [took](Self::has_taken) nothing.
    pub fn arm(&mut self) {
        if let Err(error) = self.completions.arm() {
            self.fail_all(Ended::Device(error));
        }
    }

    /// Ready once there is something to poll after [`arm`](Self::arm), or nothing more will come.
    pub fn poll_event(&mut self, context: &mut Context<'_>) -> Poll<()> {
        match self.completions.poll_event(context) {
            Poll::Ready(Err(error)) => {
                self.fail_all(Ended::Device(error));
                Poll::Ready(())
            }
            other => other.map(|_| ()),
        }
    }

    fn link(&self, id: ConnectionId) -> Option<&Link<D>> {
        let place = self.places.get(usize::from(id.index))?;
        place.link.as_ref().filter(|_| place.use_count == id.use_count)
    }

    fn link_mut(&mut self, id: ConnectionId) -> Option<&mut Link<D>> {
        Self::found(&mut self.places, id)
    }

    fn found(places: &mut [Place<D>], id: ConnectionId) -> Option<&mut Link<D>> {
        let place = places.get_mut(usize::from(id.index))?;
        place.link.as_mut().filter(|_| place.use_count == id.use_count)
    }

    fn mark(&mut self, index: u16) {
        let Some(link) = self.places[usize::from(index)].link.as_mut() else { return };
        if !std::mem::replace(&mut link.dirty, true) {
            self.dirty.push(index);
        }
    }
}

/// With fewer, half of them is one.
const RECEIVES_MIN: u32 = 4;

/// What a peer may send from the beginning, and keeps whatever others need: enough for who asks now and then.
const START: u32 = 8;

/// So many queue pairs may be left of connections that ended, besides those that are open.
const LEAVING_MAX: u32 = 8;

#[cfg(test)]
pub(crate) mod tests;
