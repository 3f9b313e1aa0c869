//! Two devices that cost next to nothing: what one sends is in the other's memory when it is pushed, without a network,
//! time, faults, or anything but datagrams. What a driver does for every device, the rings of slots, is done here, too.

use greenroom_transports::rdma::sim::{Fabric, Weather};
use greenroom_transports::rdma::verbs::{
    Completion, CompletionQueue, ConnectError, CreateError, Device, DeviceError, DeviceEvent,
    Direction, Endpoint, GRH_BYTES, Limits, Port, PostError, QueuePair, QueuePairConfig,
    QueuePairState, ReceiveRing, Receives, RegisterError, SendRing, Timing, Verbs, Via, WorkId,
};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::error::Error;
use std::future::{Ready, ready};
use std::hint::black_box;
use std::ops::Range;
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::Duration;

/// Bytes of the longest datagram.
pub(crate) const MTU_BYTES: usize = 256;
/// Datagrams that came and were not taken, a power of two.
const DEPTH: usize = 1024;

/// What came, until it is taken into its slot.
#[derive(Clone, Copy, Debug)]
struct Came {
    into: WorkId,
    len: usize,
    bytes: [u8; MTU_BYTES],
}

/// One device.
#[derive(Debug)]
struct End {
    completions: VecDeque<Completion>,
    posted: VecDeque<WorkId>,
    sent: VecDeque<WorkId>,
    came: Box<[Came]>,
    came_count: usize,
    taken_count: usize,
}

/// Two devices and what is between them.
#[derive(Debug)]
pub(crate) struct Wire {
    ends: [End; 2],
    /// Doorbells that were rung for sends and for receives.
    pub(crate) rung: [u64; 2],
    /// Only devices can say that something has come, so one that is simulated has said it.
    receipt: Completion,
}

impl Wire {
    /// With nothing under way.
    pub(crate) fn new() -> Result<Self, Box<dyn Error>> {
        let nothing = Came { into: WorkId::default(), len: 0, bytes: [0; MTU_BYTES] };
        let end = || End {
            completions: VecDeque::with_capacity(DEPTH),
            posted: VecDeque::with_capacity(DEPTH),
            sent: VecDeque::with_capacity(DEPTH),
            came: vec![nothing; DEPTH].into(),
            came_count: 0,
            taken_count: 0,
        };
        Ok(Self { ends: [end(), end()], rung: [0; 2], receipt: receipt()? })
    }

    /// Sends to the other end. Without a receive there the datagram is lost.
    #[inline(never)]
    pub(crate) fn send(&mut self, from: usize, bytes: &[u8]) {
        let peer = &mut self.ends[1 - from];
        let Some(into) = peer.posted.pop_front() else { return };
        let came = &mut peer.came[peer.came_count % DEPTH];
        (came.into, came.len) = (into, bytes.len());
        came.bytes[..bytes.len()].copy_from_slice(bytes);
        peer.came_count += 1;
        let mut completion = self.receipt;
        completion.bytes = (GRH_BYTES + bytes.len()) as u32;
        peer.completions.push_back(completion);
    }

    /// Says that everything was sent up to this.
    #[inline(never)]
    pub(crate) fn signal(&mut self, end: usize, work: WorkId) {
        self.ends[end].sent.push_back(work);
        self.ends[end].completions.push_back(Completion::default());
    }

    /// Posts a receive.
    #[inline(never)]
    pub(crate) fn post(&mut self, end: usize, into: WorkId) {
        self.ends[end].posted.push_back(into);
    }

    /// Takes completions.
    #[inline(never)]
    pub(crate) fn poll(&mut self, end: usize, into: &mut [Completion]) -> usize {
        let completions = &mut self.ends[end].completions;
        let count = into.len().min(completions.len());
        into.iter_mut().zip(completions.drain(..count)).for_each(|(place, it)| *place = it);
        count
    }

    /// Takes the oldest datagram that came; the slot that its receive posted is found by `slot`.
    #[inline(never)]
    pub(crate) fn take<S: AsMut<[u8]>>(
        &mut self,
        end: usize,
        slot: impl FnOnce(WorkId) -> Option<S>,
    ) -> Option<S> {
        let end = &mut self.ends[end];
        let came = &end.came[end.taken_count % DEPTH];
        let mut slot = slot(came.into)?;
        slot.as_mut().get_mut(GRH_BYTES..)?[..came.len].copy_from_slice(&came.bytes[..came.len]);
        end.taken_count += 1;
        Some(slot)
    }

    /// The oldest send that was signalled and not asked for.
    #[inline(never)]
    pub(crate) fn sent(&mut self, end: usize) -> Option<WorkId> {
        self.ends[end].sent.pop_front()
    }
}

/// What a device says when a datagram has come.
fn receipt() -> Result<Completion, Box<dyn Error>> {
    let fabric = Fabric::new(1, Weather::fair());
    let device = fabric.host().open("sim0", 1, 0)?;
    let mut completions = device.completion_queue(2)?;
    let config = pair_config(1, 1);
    let mut pair = device.datagram(&completions, &config, 1)?;
    for slot in device.register(1, GRH_BYTES + 1)? {
        pair.push_receive(slot).map_err(|_| "it takes no receive")?;
    }
    pair.ring_receives()?;
    let Endpoint { qpn, qkey, .. } = pair.endpoint();
    let address = device.address(&pair.endpoint())?;
    pair.push_inline(&[1], Via::Datagram { address: &address, qpn, qkey }, false)
        .map_err(|_| "it does not send")?;
    pair.ring_sends()?;
    fabric.advance(fabric.now() + Duration::from_secs(1));
    let mut said = [Completion::default()];
    completions.poll(&mut said)?;
    let is_receipt = said[0].work().direction() == Direction::Receive;
    is_receipt.then_some(said[0]).ok_or_else(|| "nothing came".into())
}

fn pair_config(sends_max: u32, receives_max: u32) -> QueuePairConfig {
    QueuePairConfig { sends_max, receives_max, inline_bytes: 220, owner: 0, psn: 0 }
}

/// One end of a wire. All that is made of it is that end, too: there is one queue of each kind.
#[derive(Clone, Debug)]
pub(crate) struct Direct {
    pub(crate) wire: Rc<RefCell<Wire>>,
    pub(crate) end: usize,
    /// Whether each send is signalled, whatever was asked for.
    pub(crate) signals_all: bool,
}

impl Device for Direct {
    type Slot = Box<[u8]>;
    type CompletionQueue = Self;
    type SharedReceives = DirectPair;
    type Address = ();
    type QueuePair = DirectPair;
    type Connecting = Ready<Result<DirectPair, ConnectError>>;

    fn limits(&self) -> Limits {
        Limits::default()
    }

    fn port(&self) -> Result<Port, DeviceError> {
        Ok(Port { is_up: true, mtu_bytes: MTU_BYTES as u16, ..Port::default() })
    }

    fn register(&self, count: usize, slot_bytes: usize) -> Result<Vec<Box<[u8]>>, RegisterError> {
        Ok((0..count).map(|_| vec![0; slot_bytes].into()).collect())
    }

    fn completion_queue(&self, _depth: u32) -> Result<Self, CreateError> {
        Ok(self.clone())
    }

    fn shared_receives(&self, _depth: u32, _owner: u16) -> Result<DirectPair, CreateError> {
        Err(CreateError::Range("only datagrams"))
    }

    fn connected(
        &self,
        _completions: &Self,
        _shared: Option<&DirectPair>,
        _config: &QueuePairConfig,
    ) -> Result<DirectPair, CreateError> {
        Err(CreateError::Range("only datagrams"))
    }

    fn connect_apart(
        &self,
        _pair: DirectPair,
        _peer: &Endpoint,
        _timing: &Timing,
    ) -> Self::Connecting {
        ready(Err(ConnectError::State))
    }

    fn datagram(
        &self,
        _completions: &Self,
        config: &QueuePairConfig,
        _qkey: u32,
    ) -> Result<DirectPair, CreateError> {
        Ok(DirectPair {
            device: self.clone(),
            sends: SendRing::new(config.sends_max, config.owner),
            receives: ReceiveRing::new(config.receives_max, config.owner),
            inline_bytes: config.inline_bytes as usize,
        })
    }

    fn address(&self, _peer: &Endpoint) -> Result<(), CreateError> {
        Ok(())
    }

    fn poll_event(&mut self, _: &mut Context<'_>) -> Poll<Result<DeviceEvent, DeviceError>> {
        Poll::Pending
    }
}

impl CompletionQueue for Direct {
    fn poll(&mut self, into: &mut [Completion]) -> Result<usize, DeviceError> {
        Ok(self.wire.borrow_mut().poll(self.end, into))
    }

    fn arm(&mut self) -> Result<(), DeviceError> {
        Ok(())
    }

    fn poll_event(&mut self, _: &mut Context<'_>) -> Poll<Result<(), DeviceError>> {
        Poll::Ready(Ok(()))
    }
}

/// Completions that are asked for through a table of functions, as where one queue serves pairs of several kinds.
#[derive(Debug)]
pub(crate) struct Boxed(Box<dyn CompletionQueue>);

impl CompletionQueue for Boxed {
    fn poll(&mut self, into: &mut [Completion]) -> Result<usize, DeviceError> {
        self.0.poll(into)
    }

    fn arm(&mut self) -> Result<(), DeviceError> {
        self.0.arm()
    }

    fn poll_event(&mut self, context: &mut Context<'_>) -> Poll<Result<(), DeviceError>> {
        self.0.poll_event(context)
    }
}

/// The same device, whose completion queue is [`Boxed`].
#[derive(Debug)]
pub(crate) struct Dynamic(pub(crate) Direct);

impl Device for Dynamic {
    type Slot = Box<[u8]>;
    type CompletionQueue = Boxed;
    type SharedReceives = DirectPair;
    type Address = ();
    type QueuePair = DirectPair;
    type Connecting = Ready<Result<DirectPair, ConnectError>>;

    fn limits(&self) -> Limits {
        self.0.limits()
    }

    fn port(&self) -> Result<Port, DeviceError> {
        self.0.port()
    }

    fn register(&self, count: usize, slot_bytes: usize) -> Result<Vec<Box<[u8]>>, RegisterError> {
        self.0.register(count, slot_bytes)
    }

    fn completion_queue(&self, depth: u32) -> Result<Boxed, CreateError> {
        // Which one it is must not be known where it is asked.
        Ok(Boxed(black_box(Box::new(self.0.completion_queue(depth)?))))
    }

    fn shared_receives(&self, depth: u32, owner: u16) -> Result<DirectPair, CreateError> {
        self.0.shared_receives(depth, owner)
    }

    fn connected(
        &self,
        _completions: &Boxed,
        shared: Option<&DirectPair>,
        config: &QueuePairConfig,
    ) -> Result<DirectPair, CreateError> {
        self.0.connected(&self.0, shared, config)
    }

    fn connect_apart(
        &self,
        pair: DirectPair,
        peer: &Endpoint,
        timing: &Timing,
    ) -> Self::Connecting {
        self.0.connect_apart(pair, peer, timing)
    }

    fn datagram(
        &self,
        _completions: &Boxed,
        config: &QueuePairConfig,
        qkey: u32,
    ) -> Result<DirectPair, CreateError> {
        self.0.datagram(&self.0, config, qkey)
    }

    fn address(&self, peer: &Endpoint) -> Result<(), CreateError> {
        self.0.address(peer)
    }

    fn poll_event(&mut self, context: &mut Context<'_>) -> Poll<Result<DeviceEvent, DeviceError>> {
        Device::poll_event(&mut self.0, context)
    }
}

/// The queue pair of an end.
#[derive(Debug)]
pub(crate) struct DirectPair {
    device: Direct,
    sends: SendRing<Box<[u8]>>,
    receives: ReceiveRing<Box<[u8]>>,
    inline_bytes: usize,
}

impl Receives for DirectPair {
    type Slot = Box<[u8]>;

    fn push_receive(&mut self, slot: Box<[u8]>) -> Result<(), PostError<Box<[u8]>>> {
        let work = self.receives.push(slot).map_err(|full| PostError::Full(full.0))?;
        self.device.wire.borrow_mut().post(self.device.end, work);
        Ok(())
    }

    fn ring_receives(&mut self) -> Result<(), DeviceError> {
        self.device.wire.borrow_mut().rung[1] += 1;
        Ok(())
    }

    fn received(&mut self, _completion: &Completion) -> Option<Box<[u8]>> {
        let receives = &mut self.receives;
        self.device.wire.borrow_mut().take(self.device.end, |work| receives.take(work))
    }

    fn receives_posted(&self) -> usize {
        self.receives.len()
    }

    fn receives_overtaken(&self) -> usize {
        0
    }
}

impl QueuePair for DirectPair {
    type Address = ();

    fn endpoint(&self) -> Endpoint {
        Endpoint { mtu_bytes: MTU_BYTES as u16, ..Endpoint::default() }
    }

    fn inline_bytes_max(&self) -> usize {
        self.inline_bytes
    }

    fn connect(&mut self, _peer: &Endpoint, _timing: &Timing) -> Result<(), ConnectError> {
        Err(ConnectError::State)
    }

    fn push_send(
        &mut self,
        slot: Box<[u8]>,
        bytes: Range<usize>,
        _via: Via<'_, ()>,
        signalled: bool,
    ) -> Result<(), PostError<Box<[u8]>>> {
        let Direct { wire, end, signals_all } = &self.device;
        if self.sends.is_full() {
            return Err(PostError::Full(slot));
        }
        let mut wire = wire.borrow_mut();
        wire.send(*end, &slot[bytes]);
        if let Ok(work) = self.sends.push(Some(slot))
            && (signalled || *signals_all)
        {
            wire.signal(*end, work);
        }
        Ok(())
    }

    fn push_inline(
        &mut self,
        bytes: &[u8],
        _via: Via<'_, ()>,
        signalled: bool,
    ) -> Result<(), PostError<()>> {
        let work = self.sends.push(None).map_err(|_| PostError::Full(()))?;
        let mut wire = self.device.wire.borrow_mut();
        wire.send(self.device.end, bytes);
        if signalled || self.device.signals_all {
            wire.signal(self.device.end, work);
        }
        Ok(())
    }

    fn ring_sends(&mut self) -> Result<(), DeviceError> {
        self.device.wire.borrow_mut().rung[0] += 1;
        Ok(())
    }

    fn sent(&mut self, _completion: &Completion, back: impl FnMut(Box<[u8]>)) {
        let work = self.device.wire.borrow_mut().sent(self.device.end);
        if let Some(work) = work {
            self.sends.release(work, back);
        }
    }

    /// Each device has one.
    fn owns(&self, _completion: &Completion) -> bool {
        true
    }

    fn sends_posted(&self) -> usize {
        self.sends.len()
    }

    fn state(&self) -> Result<QueuePairState, DeviceError> {
        Ok(QueuePairState::Ready)
    }

    fn access(&self) -> Result<u32, DeviceError> {
        Ok(0)
    }

    fn fail(&mut self) -> Result<(), DeviceError> {
        Err(DeviceError::Failed)
    }

    fn drain(&mut self) -> Result<(), DeviceError> {
        Err(DeviceError::Failed)
    }

    fn end(mut self, mut back: impl FnMut(Box<[u8]>)) {
        self.sends.release_all(&mut back);
        self.receives.take_all(back);
    }
}
