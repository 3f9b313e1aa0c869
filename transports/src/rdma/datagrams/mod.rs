//! Datagrams over one queue pair (UD): one for each lane of a node, for all peers.
//!
//! The device loses and reorders them, and loses without a word what is too long for the path or finds no
//! receive; so packets are those of the whole engine, as over UDP, and slots come back whatever becomes of them. [RDMA-22]
//! A peer costs an address, made once.
//! What comes says which port and which queue pair there sent it ([`Sender`]), which anyone can write: who it is, the packet
//! has to prove, unless everybody on the network is trusted.
//!
//! Turns are as those of [`connected`](super::connected).

mod senders;

pub use senders::Sender;

use super::ended::Ended;
use super::rpc::Carrier;
use super::sends::{SendError, Sends};
use super::verbs::{
    Completion, CompletionQueue, CreateError, Device, DeviceError, Direction, Endpoint, GRH_BYTES,
    MTU_BYTES_MAX, Outcome, QueuePair, QueuePairConfig, Receives, RegisterError, Via,
};
use senders::Senders;
use std::task::{Context, Poll};

/// So many completions are taken at a time.
const BATCH: usize = 32;

/// How large things are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// Peers at a time: 1024.
    pub peers_max: u32,
    /// Datagrams on their way to the device: 128.
    pub sends: u32,
    /// Datagrams that came and were not taken: 512. What finds no receive is lost.
    pub receives: u32,
    /// Datagrams of so many bytes are copied into the request: 220, as far as the device can.
    pub inline_bytes: u32,
}

impl Default for Config {
    fn default() -> Self {
        Self { peers_max: 1024, sends: 128, receives: 512, inline_bytes: 220 }
    }
}

/// One peer. It is never used for another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PeerId {
    index: u32,
    /// Which of those that had this index.
    use_count: u32,
}

/// Why there is no queue pair, or no address.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DatagramError {
    /// As many peers are known as may be.
    #[error("{0} peers are known, which is all there may be")]
    TooMany(u32),
    /// The device does not make a part.
    #[error(transparent)]
    Create(#[from] CreateError),
    /// Memory is not registered.
    #[error(transparent)]
    Register(#[from] RegisterError),
    /// The device is gone.
    #[error(transparent)]
    Device(#[from] DeviceError),
}

/// What has to be known to send to a peer.
#[derive(Debug)]
struct Route<A> {
    address: A,
    peer: Endpoint,
    bytes_max: usize,
}

#[derive(Debug)]
struct Place<A> {
    use_count: u32,
    route: Option<Route<A>>,
}

/// The datagrams of one lane. No call waits for a peer but [`add`](Self::add), and none allocates but
/// that, [`remove`](Self::remove) and `new`. After [`DeviceEvent::GidsChanged`](super::verbs::DeviceEvent) of its
/// [device](Self::device) make another one: whom datagrams are from is told by the address that its port had when this was made.
#[derive(Debug)]
pub struct Datagrams<D: Device> {
    // First, so that the queue pair is destroyed before what it was made of.
    pair: D::QueuePair,
    completions: D::CompletionQueue,
    sends: Sends,
    /// Slots to send from.
    free: Vec<D::Slot>,
    places: Vec<Place<D::Address>>,
    senders: Senders,
    peers_max: u32,
    mtu_bytes: usize,
    /// Receives that wait for the doorbell.
    to_post: u32,
    ended: Option<Ended>,
    /// Whether the last poll took completions.
    has_taken: bool,
    /// Room for what one poll takes.
    batch: Box<[Completion]>,
    device: D,
}

impl<D: Device> Datagrams<D> {
    /// A queue pair on that device that receives from now on. `psn` and `qkey` have to be random, the key
    /// without its highest bit.
    ///
    /// # Errors
    /// The device does not want to.
    pub fn new(device: D, config: &Config, psn: u32, qkey: u32) -> Result<Self, DatagramError> {
        let mtu_bytes = usize::from(device.port()?.mtu_bytes);
        // [RDMA-6]
        let completions = device.completion_queue(config.sends.saturating_add(config.receives))?;
        let sizes = QueuePairConfig {
            sends_max: config.sends,
            receives_max: config.receives,
            inline_bytes: config.inline_bytes,
            owner: 0,
            psn,
        };
        let mut pair = device.datagram(&completions, &sizes, qkey)?;
        // A datagram for which its slot is too short would end the queue pair, and a peer's port may take longer ones than this
        // end's. [RDMA-22]
        let slot_bytes = GRH_BYTES + MTU_BYTES_MAX.max(mtu_bytes);
        for slot in device.register(config.receives as usize, slot_bytes)? {
            pair.push_receive(slot).map_err(|_| DeviceError::Failed)?;
        }
        pair.ring_receives()?;
        let free = device.register(config.sends as usize, mtu_bytes)?;
        Ok(Self {
            senders: Senders::new(pair.endpoint().gid),
            pair,
            completions,
            sends: Sends::new(config.sends),
            free,
            places: Vec::new(),
            peers_max: config.peers_max,
            mtu_bytes,
            to_post: 0,
            ended: None,
            has_taken: false,
            batch: vec![Completion::default(); BATCH].into(),
            device,
        })
    }

    /// The device, to ask it for what happened to it.
    pub fn device(&mut self) -> &mut D {
        &mut self.device
    }

    /// What peers have to know to send here.
    #[must_use]
    pub fn endpoint(&self) -> Endpoint {
        self.pair.endpoint()
    }

    /// Gets to know a peer. One that was known before is so by both ids, and what comes is from the new one. On Ethernet the
    /// system looks for a peer that is nowhere for up to a second before it says so.
    ///
    /// # Errors
    /// There are too many, or the device does not reach it.
    pub fn add(&mut self, peer: &Endpoint) -> Result<PeerId, DatagramError> {
        let free = self.places.iter().position(|place| place.route.is_none());
        let index = u32::try_from(free.unwrap_or(self.places.len()));
        let index = index.ok().filter(|&index| index < self.peers_max);
        let index = index.ok_or(DatagramError::TooMany(self.peers_max))?;
        let address = self.device.address(peer)?;
        // [RDMA-20] Devices do not say that a datagram was too long.
        let bytes_max = self.mtu_bytes.min(peer.mtu_bytes.into());
        if free.is_none() {
            self.places.push(Place { use_count: 0, route: None });
        }
        let place = &mut self.places[index as usize];
        place.use_count += 1;
        place.route = Some(Route { address, peer: *peer, bytes_max });
        let id = PeerId { index, use_count: place.use_count };
        self.senders.add(peer, id);
        Ok(id)
    }

    /// Forgets a peer. Allocates where another one is known by something of it.
    pub fn remove(&mut self, peer: PeerId) {
        let Some(place) = self.places.get_mut(peer.index as usize) else { return };
        if place.use_count != peer.use_count {
            return;
        }
        let Some(Route { peer: gone, .. }) = place.route.take() else { return };
        if !self.senders.remove(&gone, peer) {
            return;
        }
        // It may be known by another id, and have had something in common with others.
        for (index, place) in (0..).zip(&self.places) {
            if let Some(Route { peer, .. }) = &place.route
                && peer.qpn == gone.qpn
            {
                self.senders.give_back(peer, PeerId { index, use_count: place.use_count });
            }
        }
    }

    /// Bytes that a datagram to that peer has at most: what both ports take. The path may take less.
    #[must_use]
    pub fn bytes_max(&self, peer: PeerId) -> Option<usize> {
        let place = self.places.get(peer.index as usize)?;
        let route = place.route.as_ref().filter(|_| place.use_count == peer.use_count)?;
        Some(route.bytes_max)
    }

    /// Whether a datagram could be sent now.
    #[must_use]
    pub fn has_room(&self) -> bool {
        self.ended.is_none() && self.sends.has_room(&self.pair)
    }

    /// Sends the datagram that `fill` writes, in registered memory; it returns how many bytes that is, or
    /// zero for none. Datagrams leave at [`flush`](Self::flush), or sixteen at a time.
    ///
    /// # Errors
    /// There is no room, and `fill` was not asked; or the peer is not known, or the queue pair has ended.
    pub fn send(
        &mut self,
        peer: PeerId,
        fill: impl FnOnce(&mut [u8]) -> usize,
    ) -> Result<usize, SendError> {
        if self.ended.is_some() {
            return Err(SendError::Ended);
        }
        let place = self.places.get(peer.index as usize).ok_or(SendError::Ended)?;
        let route = place.route.as_ref().filter(|_| place.use_count == peer.use_count);
        let Route { address, peer, bytes_max } = route.ok_or(SendError::Ended)?;
        let via = Via::Datagram { address, qpn: peer.qpn, qkey: peer.qkey };
        let fill = |slot: &mut [u8]| {
            let room = slot.len().min(*bytes_max);
            fill(&mut slot[..room]).min(room)
        };
        let sent = self.sends.send(&mut self.pair, &mut self.free, via, fill);
        if sent == Err(SendError::Ended) {
            self.fail(Ended::Device(DeviceError::Failed));
        }
        sent
    }

    /// Lets everything leave that was sent.
    pub fn flush(&mut self) {
        if self.ended.is_none()
            && let Err(error) = self.sends.ring(&mut self.pair)
        {
            self.fail(Ended::Device(error));
        }
    }

    /// Hands in datagrams that came, where they lie, with whom they say they are from; at most 32, and says how
    /// many. The memory is received into again after the call; if `sink` panics, that of its datagram is not.
    pub fn poll(&mut self, mut sink: impl FnMut(Sender<'_>, &mut [u8])) -> usize {
        self.has_taken = false;
        if self.ended.is_some() {
            return 0;
        }
        let polled = self.completions.poll(&mut self.batch).map_err(Ended::Device);
        let mut datagrams = 0;
        let done = polled.and_then(|count| {
            self.has_taken = count > 0;
            for at in 0..count {
                let completion = self.batch[at];
                datagrams += usize::from(self.on_completion(&completion, &mut sink)?);
            }
            if std::mem::take(&mut self.to_post) > 0 {
                self.pair.ring_receives().map_err(Ended::Device)?;
            }
            Ok(())
        });
        if let Err(why) = done {
            self.fail(why);
        }
        datagrams
    }

    /// Whether the last poll took anything, if only room that was freed: there may be more, and more may be sent.
    #[must_use]
    pub const fn has_taken(&self) -> bool {
        self.has_taken
    }

    /// Says whether it was a datagram.
    fn on_completion(
        &mut self,
        completion: &Completion,
        sink: &mut impl FnMut(Sender<'_>, &mut [u8]),
    ) -> Result<bool, Ended> {
        if completion.outcome != Outcome::Done {
            return Err(Ended::Failed(completion.outcome));
        }
        if completion.work.direction() == Direction::Send {
            self.pair.sent(completion, |slot| self.free.push(slot));
            return Ok(false);
        }
        let Some(mut slot) = self.pair.received(completion) else { return Ok(false) };
        let end = completion.bytes as usize;
        // [RDMA-21] An empty one is not worth handing in; nor is one that is shorter than its route.
        let parts = slot.as_mut().get_mut(..end).and_then(<[u8]>::split_first_chunk_mut);
        let parts = parts.filter(|(_, datagram)| !datagram.is_empty());
        let is_datagram = parts.is_some();
        if let Some((route, datagram)) = parts {
            sink(Sender::new(&self.senders, completion, route), datagram);
        }
        self.pair.push_receive(slot).map_err(|_| Ended::Device(DeviceError::Failed))?;
        self.to_post += 1;
        Ok(is_datagram)
    }

    /// Why the queue pair ended by itself, if it has: nothing is sent or received any more, and peers have to be told of
    /// another one. Soft-RoCE ends it where the system knows no way to a peer, as while the link is down.
    ///
    /// It does not end when its port is reached by another address: after [`DeviceEvent::GidsChanged`](super::verbs::DeviceEvent)
    /// make another one, for senders are not told apart any more.
    #[must_use]
    pub fn ended(&self) -> Option<Ended> {
        self.ended
    }

    /// Asks for an event at the next completion. Poll once more after this, and wait for
    /// [`poll_event`](Self::poll_event) only if that [took](Self::has_taken) nothing.
    pub fn arm(&mut self) {
        if let Err(error) = self.completions.arm() {
            self.fail(Ended::Device(error));
        }
    }

    /// Ready once there is something to poll after [`arm`](Self::arm), or nothing more will come.
    pub fn poll_event(&mut self, context: &mut Context<'_>) -> Poll<()> {
        if self.ended.is_some() {
            return Poll::Ready(());
        }
        match self.completions.poll_event(context) {
            Poll::Ready(Err(error)) => {
                self.fail(Ended::Device(error));
                Poll::Ready(())
            }
            other => other.map(|_| ()),
        }
    }

    fn fail(&mut self, why: Ended) {
        self.ended.get_or_insert(why);
    }
}

impl<D: Device> Carrier for Datagrams<D> {
    type Peer = PeerId;

    fn send(
        &mut self,
        to: PeerId,
        fill: impl FnOnce(&mut [u8]) -> usize,
    ) -> Result<usize, SendError> {
        Self::send(self, to, fill)
    }
}

#[cfg(test)]
mod tests;
