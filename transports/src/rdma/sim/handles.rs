//! What users of a simulated device hold.

use super::super::inline::Inline;
use super::super::verbs::{
    Completion, CompletionQueue, CreateError, Device, DeviceError, DeviceEvent, DeviceInfo,
    Endpoint, Limits, OWNER_MAX, OpenError, Port, PostError, QueuePairConfig, QueuePairState,
    Receives, RegisterError, SendRing, Timing, Verbs,
};
use super::fabric::{State, identity};
use super::pair::{Kind, Pair};
use super::queue_pair::{SimConnecting, SimQueuePair, push_receive};
use super::transfer::NEVER;
use std::cell::{RefCell, RefMut};
use std::collections::VecDeque;
use std::io;
use std::rc::Rc;
use std::task::{Context, Poll};

/// The devices of one simulated machine.
#[derive(Clone, Debug)]
pub struct SimVerbs {
    at: At,
}

/// A machine in a network.
#[derive(Clone)]
pub(super) struct At {
    state: Rc<RefCell<State>>,
    pub(super) host: usize,
}

impl std::fmt::Debug for At {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("At").field("host", &self.host).finish_non_exhaustive()
    }
}

impl At {
    pub(super) fn state(&self) -> RefMut<'_, State> {
        self.state.borrow_mut()
    }

    /// The network, unless the device is gone.
    pub(super) fn alive(&self) -> Result<RefMut<'_, State>, DeviceError> {
        let state = self.state();
        state.alive(self.host)?;
        Ok(state)
    }

    /// The network, for what takes a call of the system with a real device.
    pub(super) fn called(&self) -> RefMut<'_, State> {
        #[cfg(test)]
        super::calls::made();
        self.state()
    }

    fn is_same(&self, other: &Self) -> bool {
        Rc::ptr_eq(&self.state, &other.state) && self.host == other.host
    }
}

impl SimVerbs {
    pub(super) fn new(state: Rc<RefCell<State>>, host: usize) -> Self {
        Self { at: At { state, host } }
    }

    /// Which machine it is, from 0.
    #[must_use]
    pub fn host(&self) -> usize {
        self.at.host
    }
}

const NAME: &str = "sim0";

impl Verbs for SimVerbs {
    type Device = SimDevice;

    fn devices(&self) -> Result<Vec<DeviceInfo>, OpenError> {
        let is_there = self.at.alive().is_ok();
        let it = DeviceInfo { name: NAME.to_owned(), guid: self.at.host as u64 + 1 };
        Ok(is_there.then_some(it).into_iter().collect())
    }

    fn open(&self, name: &str, port: u8, gid_index: u8) -> Result<SimDevice, OpenError> {
        let mut state = self.at.alive().map_err(|_| OpenError::NoDevice(name.to_owned()))?;
        let is_up = state.is_up(self.at.host);
        let host = state.host_mut(self.at.host);
        let gid = host.gids.get(usize::from(gid_index)).filter(|_| !host.is_unplugged).copied();
        match (name, port, gid) {
            (NAME, 1, None) => Err(OpenError::NoGid(gid_index)),
            (NAME, 1, Some(gid)) if is_up => {
                host.opened += 1;
                Ok(SimDevice { at: self.at.clone(), gid, inline: Inline::new() })
            }
            (NAME, 1, Some(_)) => Err(OpenError::PortDown(port)),
            (NAME, ..) => Err(OpenError::NoPort(port)),
            _ => Err(OpenError::NoDevice(name.to_owned())),
        }
    }
}

/// A simulated device.
#[derive(Debug)]
pub struct SimDevice {
    at: At,
    /// Of its port, when it was opened.
    gid: [u8; 16],
    inline: Inline,
}

impl Drop for SimDevice {
    fn drop(&mut self) {
        self.at.state().host_mut(self.at.host).opened -= 1;
    }
}

/// A piece of a simulated device's memory.
#[derive(Debug)]
pub struct SimSlot {
    bytes: Box<[u8]>,
    pub(super) host: usize,
}

impl AsRef<[u8]> for SimSlot {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl AsMut<[u8]> for SimSlot {
    fn as_mut(&mut self) -> &mut [u8] {
        &mut self.bytes
    }
}

/// Where a simulated device sends datagrams to.
#[derive(Clone, Copy, Debug)]
pub struct SimAddress {
    pub(super) gid: [u8; 16],
    pub(super) host: usize,
}

fn within(what: &'static str, asked: u32, max: u32) -> Result<(), CreateError> {
    if asked <= max {
        return Ok(());
    }
    Err(CreateError::LimitReached { what, asked: asked.into(), max: max.into() })
}

impl SimDevice {
    fn pair(
        &self,
        completions: &SimCompletionQueue,
        shared: Option<&SimSharedReceives>,
        config: &QueuePairConfig,
        kind: Kind,
    ) -> Result<SimQueuePair, CreateError> {
        drop(self.at.called());
        let mut state = self.at.alive()?;
        let limits = State::LIMITS;
        within("sends of a queue pair", config.sends_max, limits.requests)?;
        within("receives of a queue pair", config.receives_max, limits.requests)?;
        if config.owner > OWNER_MAX {
            return Err(CreateError::Range("the owner"));
        }
        let is_own = self.at.is_same(&completions.at);
        if !is_own || shared.is_some_and(|shared| !self.at.is_same(&shared.at)) {
            return Err(CreateError::Foreign);
        }
        let inline_max = state.host_mut(self.at.host).inline_bytes_max;
        let inline = self.inline.make(config.inline_bytes, |bytes| match bytes <= inline_max {
            true => Ok(bytes),
            false => Err(io::ErrorKind::InvalidInput.into()),
        });
        let inline_bytes = inline.map_err(CreateError::System)?;
        let mut config = QueuePairConfig { inline_bytes, ..*config };
        let receives = shared.map_or_else(
            || state.add_receives(config.receives_max, config.owner),
            |shared| shared.queue,
        );
        if shared.is_some() {
            config.receives_max = 0;
        }
        let is_datagram = matches!(kind, Kind::Datagram { .. });
        let mtu_bytes = state.host_mut(self.at.host).mtu_bytes;
        let pair = state.add_pair(self.at.host, |place, qpn| Pair {
            host: self.at.host,
            gid: self.gid,
            qpn,
            mtu_bytes,
            kind,
            config,
            state: if is_datagram { QueuePairState::Ready } else { QueuePairState::Made },
            completions: completions.queue,
            receives,
            slots: SendRing::new(config.sends_max, config.owner).of(identity(place)),
            waiting: VecDeque::new(),
            outgoing: VecDeque::new(),
            last_due: NEVER,
            last_shown: NEVER,
            blocked_until: NEVER,
            searched_until: NEVER,
            tries: [0, 0],
        });
        let at = self.at.clone();
        Ok(SimQueuePair {
            at,
            pair,
            receives,
            is_own: shared.is_none(),
            inline: config.inline_bytes,
        })
    }
}

impl Device for SimDevice {
    type Slot = SimSlot;
    type CompletionQueue = SimCompletionQueue;
    type SharedReceives = SimSharedReceives;
    type Address = SimAddress;
    type QueuePair = SimQueuePair;
    type Connecting = SimConnecting;

    fn limits(&self) -> Limits {
        let shared_receives = self.at.state().host_mut(self.at.host).shared_receives;
        Limits { shared_receives, ..State::LIMITS }
    }

    fn port(&self) -> Result<Port, DeviceError> {
        let mut state = self.at.alive()?;
        if state.host_mut(self.at.host).is_unplugged {
            return Err(DeviceError::Gone);
        }
        // No other GID takes the place of one that is gone.
        let is_there = state.host_mut(self.at.host).gids.contains(&self.gid);
        Ok(state.port(self.at.host, if is_there { self.gid } else { [0; 16] }))
    }

    fn register(&self, count: usize, slot_bytes: usize) -> Result<Vec<SimSlot>, RegisterError> {
        let max = State::LIMITS.memory_bytes;
        match count.checked_mul(slot_bytes) {
            Some(0) => return Err(RegisterError::Nothing),
            Some(bytes) if bytes as u64 <= max => {}
            _ => return Err(RegisterError::TooLong { max }),
        }
        let host = self.at.host;
        let mut state = self.at.called();
        let machine = state.host_mut(host);
        let left = machine.memory_left_bytes;
        let wanted = (count * slot_bytes) as u64;
        let Some(rest) = left.checked_sub(wanted) else {
            machine.memory_refused += 1;
            return Err(RegisterError::Locked { wanted, limit: left });
        };
        machine.memory_left_bytes = rest;
        Ok((0..count).map(|_| SimSlot { bytes: vec![0; slot_bytes].into(), host }).collect())
    }

    fn completion_queue(&self, depth: u32) -> Result<SimCompletionQueue, CreateError> {
        drop(self.at.called());
        within("completions in a queue", depth, State::LIMITS.completions)?;
        let mut state = self.at.alive()?;
        if let Some(limit) = state.host_mut(self.at.host).queues_limit_bytes {
            return Err(CreateError::Locked { limit });
        }
        let queue = state.add_completions(self.at.host, depth);
        Ok(SimCompletionQueue { at: self.at.clone(), queue })
    }

    fn shared_receives(&self, depth: u32, owner: u16) -> Result<SimSharedReceives, CreateError> {
        drop(self.at.called());
        within("shared receives", depth, State::LIMITS.shared_requests)?;
        if owner > OWNER_MAX {
            return Err(CreateError::Range("the owner"));
        }
        let mut state = self.at.alive()?;
        let max = state.host_mut(self.at.host).shared_receives;
        within("queues of shared receives", 1, max)?;
        let queue = state.add_receives(depth, owner);
        Ok(SimSharedReceives { at: self.at.clone(), queue })
    }

    fn connected(
        &self,
        completions: &SimCompletionQueue,
        shared: Option<&SimSharedReceives>,
        config: &QueuePairConfig,
    ) -> Result<SimQueuePair, CreateError> {
        let kind = Kind::Connected { peer: None, timing: Timing::default() };
        self.pair(completions, shared, config, kind)
    }

    fn connect_apart(&self, pair: SimQueuePair, peer: &Endpoint, timing: &Timing) -> SimConnecting {
        SimConnecting::new(pair, peer, timing)
    }

    fn datagram(
        &self,
        completions: &SimCompletionQueue,
        config: &QueuePairConfig,
        qkey: u32,
    ) -> Result<SimQueuePair, CreateError> {
        if qkey >> 31 != 0 {
            return Err(CreateError::Range("the Q_Key"));
        }
        self.pair(completions, None, config, Kind::Datagram { qkey })
    }

    fn address(&self, peer: &Endpoint) -> Result<SimAddress, CreateError> {
        self.at.alive()?;
        Ok(SimAddress { gid: peer.gid, host: self.at.host })
    }

    fn poll_event(&mut self, context: &mut Context<'_>) -> Poll<Result<DeviceEvent, DeviceError>> {
        let mut state = self.at.state();
        let host = state.host_mut(self.at.host);
        match host.news.pop_front() {
            Some(event) => Poll::Ready(Ok(event)),
            None if host.is_gone => Poll::Ready(Err(DeviceError::Gone)),
            None => {
                host.waker = Some(context.waker().clone());
                Poll::Pending
            }
        }
    }
}

/// A simulated completion queue.
#[derive(Debug)]
pub struct SimCompletionQueue {
    at: At,
    queue: usize,
}

impl CompletionQueue for SimCompletionQueue {
    fn poll(&mut self, into: &mut [Completion]) -> Result<usize, DeviceError> {
        self.at.alive()?.poll(self.queue, into)
    }

    fn arm(&mut self) -> Result<(), DeviceError> {
        drop(self.at.called());
        self.at.alive()?.completions(self.queue).arm();
        Ok(())
    }

    fn poll_event(&mut self, context: &mut Context<'_>) -> Poll<Result<(), DeviceError>> {
        let mut state = self.at.alive()?;
        match state.completions(self.queue).take_event(context.waker()) {
            true => Poll::Ready(Ok(())),
            false => Poll::Pending,
        }
    }
}

impl Drop for SimCompletionQueue {
    fn drop(&mut self) {
        drop(self.at.called());
    }
}

/// Simulated receives that several queue pairs take from.
#[derive(Debug)]
pub struct SimSharedReceives {
    at: At,
    queue: usize,
}

impl Drop for SimSharedReceives {
    fn drop(&mut self) {
        drop(self.at.called());
    }
}

impl Receives for SimSharedReceives {
    type Slot = SimSlot;

    fn push_receive(&mut self, slot: SimSlot) -> Result<(), PostError<SimSlot>> {
        push_receive(&self.at, self.queue, slot)
    }

    fn ring_receives(&mut self) -> Result<(), DeviceError> {
        drop(self.at.called());
        let mut state = self.at.alive()?;
        let queue = state.receives(self.queue);
        if queue.has_failed {
            return Err(DeviceError::Failed);
        }
        queue.ring();
        Ok(())
    }

    fn received(&mut self, completion: &Completion) -> Option<SimSlot> {
        if completion.queue != identity(self.queue) {
            return None;
        }
        self.at.state().receives(self.queue).slots.take(completion.work)
    }

    fn receives_posted(&self) -> usize {
        self.at.state().receives(self.queue).slots.len()
    }

    fn receives_overtaken(&self) -> usize {
        self.at.state().receives(self.queue).slots.overtaken()
    }
}
