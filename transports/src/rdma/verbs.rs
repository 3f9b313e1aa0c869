//! What is asked of an RDMA device: memory, queue pairs, completions.
//!
//! Implemented by the device's driver and by a simulator; everything above is generic over it, so that
//! posting and polling cost no dynamic call and no allocation.
//!
//! What every implementation keeps, and what callers may build on:
//! 1. **Memory is owned.** A [slot](Device::Slot) is a piece of registered memory that one owner has. Posting
//!    gives it to the queue pair, and only a completion (or the end of the queue pair) gives it back. So
//!    nobody can touch memory that the device may still read or write.
//! 2. **Handles are owned.** What a handle was made of lives as long as the handle. Dropping in any order
//!    is fine; a queue pair that is dropped is destroyed before its slots are.
//! 3. **SEND and RECV only.** Memory is registered for local writes alone, and queue pairs are made with no
//!    access for peers. [`QueuePair::access`] reads back what the device has.
//! 4. **Misuse is an error.** What does not fit, what belongs to another device and what comes in the wrong
//!    state is refused, with the slot handed back. Nothing panics.
//! 5. **Little blocks.** [`QueuePair::connect`] and [`Device::address`] may, for a second: on Ethernet the system looks for
//!    the peer. [`Device::connect_apart`] does the first elsewhere. What opens, makes and registers takes as long as the
//!    driver takes; nothing else waits.
//!
//! Posting is in two steps: `push` puts a request behind those that wait, and `ring` gives all of them to
//! the device with one doorbell.
//!
//! ```text
//!   slot -> push_send -> ring -> device -> poll -> Completion -> sent     -> slot
//!   slot -> push_receive -> ring -> device -> poll -> Completion -> received -> slot with bytes
//! ```

mod completion;
mod data;
mod error;
mod rings;

pub(in crate::rdma) use completion::OWNER_MAX;
pub use completion::{Completion, Direction, Outcome, WorkId};
pub use data::{
    DeviceEvent, DeviceInfo, Endpoint, Limits, LinkLayer, Port, QueuePairConfig, QueuePairState,
    Timing, Via,
};
pub(in crate::rdma) use error::told;
pub use error::{ConnectError, CreateError, DeviceError, OpenError, PostError, RegisterError};
#[cfg(test)]
pub(in crate::rdma) use rings::beginning;
pub use rings::{FullRing, ReceiveRing, SendRing};

use std::fmt::Debug;
use std::future::Future;
use std::ops::Range;
use std::task::{Context, Poll};

/// Bytes that a packet carries on any path at most: the longest MTU there is.
pub(crate) const MTU_BYTES_MAX: usize = 4096;

/// Bytes in front of every datagram that is received: where it came from, if it came over a router.
pub const GRH_BYTES: usize = 40;

/// Finds devices.
pub trait Verbs {
    /// What it opens.
    type Device: Device;

    /// The devices that this machine has.
    ///
    /// # Errors
    /// [`OpenError::NoLibrary`] without the system's library, [`OpenError::OldLibrary`] without all that is needed of it,
    /// [`OpenError::System`] otherwise.
    fn devices(&self) -> Result<Vec<DeviceInfo>, OpenError>;

    /// Opens a port of the device of that name, to be reached by the GID at `gid_index` of its table.
    /// Ports count from 1.
    ///
    /// # Errors
    /// There is no such device, port or GID, the port is down, or the caller may not.
    fn open(&self, name: &str, port: u8, gid_index: u8) -> Result<Self::Device, OpenError>;
}

/// An open device and one of its ports, with a protection domain of its own.
pub trait Device: Debug + Sized {
    /// A piece of registered memory: always of the same length, the contents stay when it is posted.
    type Slot: AsRef<[u8]> + AsMut<[u8]> + Send + Debug + 'static;
    /// Where it says what it has done.
    type CompletionQueue: CompletionQueue;
    /// Receives that several connected queue pairs take from.
    type SharedReceives: Receives<Slot = Self::Slot>;
    /// Where to send datagrams to.
    type Address: Clone + Debug;
    /// Sends and receives.
    type QueuePair: QueuePair<Slot = Self::Slot, Address = Self::Address>;
    /// A queue pair that is being connected, and comes back once it is. One that does not connect is destroyed.
    type Connecting: Future<Output = Result<Self::QueuePair, ConnectError>> + Debug + Unpin;

    /// What the device can do at most.
    fn limits(&self) -> Limits;

    /// The port as it is now.
    ///
    /// # Errors
    /// The device is gone, or does not say.
    fn port(&self) -> Result<Port, DeviceError>;

    /// Registers one piece of memory, zeroed, and cuts it into `count` slots of `slot_bytes` bytes.
    /// Takes tens of microseconds and locks the memory: done at start, not for each message.
    ///
    /// # Errors
    /// Nothing to register, more than the device takes, or more than the user may lock.
    fn register(&self, count: usize, slot_bytes: usize) -> Result<Vec<Self::Slot>, RegisterError>;

    /// A queue for `depth` completions. It must have room for all that its queue pairs may have under
    /// way: one that overflows is of no more use, nor are they.
    ///
    /// # Errors
    /// More than the device has.
    fn completion_queue(&self, depth: u32) -> Result<Self::CompletionQueue, CreateError>;

    /// A queue of `depth` receives to be shared. Their completions carry `owner`.
    ///
    /// # Errors
    /// The device has none of these, or no more of them.
    fn shared_receives(&self, depth: u32, owner: u16) -> Result<Self::SharedReceives, CreateError>;

    /// A reliable queue pair (RC), ready for receives to be posted; [`QueuePair::connect`] makes it send.
    /// Receives come from `shared` if that is given, and [`Receives::push_receive`] is refused then.
    ///
    /// # Errors
    /// More than the device has, or parts of another device.
    fn connected(
        &self,
        completions: &Self::CompletionQueue,
        shared: Option<&Self::SharedReceives>,
        config: &QueuePairConfig,
    ) -> Result<Self::QueuePair, CreateError>;

    /// Connects a queue pair as [`QueuePair::connect`] does, and nobody stands still until the system has found the peer.
    /// The queue pair is out of reach meanwhile. Whoever drops what is returned does not wait for it either: the queue
    /// pair is destroyed when the system is done with it, and what it was made of lives until then.
    fn connect_apart(
        &self,
        pair: Self::QueuePair,
        peer: &Endpoint,
        timing: &Timing,
    ) -> Self::Connecting;

    /// A datagram queue pair (UD), ready to receive and send. It takes what comes with `qkey`, and sends
    /// under it. A `qkey` with the highest bit set means another one and is refused.
    ///
    /// # Errors
    /// More than the device has, parts of another device, or that key.
    fn datagram(
        &self,
        completions: &Self::CompletionQueue,
        config: &QueuePairConfig,
        qkey: u32,
    ) -> Result<Self::QueuePair, CreateError>;

    /// Where to send datagrams for the peer's port, whichever queue pair there. On Ethernet the system looks for a port that
    /// is nowhere for up to a second before it says so.
    ///
    /// # Errors
    /// More than the device has, or the peer cannot be reached from this port.
    fn address(&self, peer: &Endpoint) -> Result<Self::Address, CreateError>;

    /// What happened to the device since the last time; wakes the task once more does.
    ///
    /// # Errors
    /// The device does not say any more.
    fn poll_event(&mut self, context: &mut Context<'_>) -> Poll<Result<DeviceEvent, DeviceError>>;
}

/// Where a device says what it has done.
pub trait CompletionQueue: Debug {
    /// Takes up to as many completions as there is room for, oldest first, and says how many.
    /// Never waits.
    ///
    /// # Errors
    /// It overflowed, or the device is gone: its queue pairs are of no more use.
    fn poll(&mut self, into: &mut [Completion]) -> Result<usize, DeviceError>;

    /// Asks for an event at the next completion. What came before does not make one: poll once more
    /// before waiting.
    ///
    /// # Errors
    /// The device is gone.
    fn arm(&mut self) -> Result<(), DeviceError>;

    /// Ready once a completion came after [`arm`](Self::arm); wakes the task then. Takes the event: to
    /// wait again, arm again.
    ///
    /// # Errors
    /// The device is gone.
    fn poll_event(&mut self, context: &mut Context<'_>) -> Poll<Result<(), DeviceError>>;
}

/// A queue of memory to receive into.
pub trait Receives: Debug {
    /// What is received into.
    type Slot;

    /// Puts a slot behind those that wait for [`ring_receives`](Self::ring_receives).
    ///
    /// # Errors
    /// Why not, with the slot.
    fn push_receive(&mut self, slot: Self::Slot) -> Result<(), PostError<Self::Slot>>;

    /// Gives the device the slots that wait, with one doorbell. Nothing to give is fine.
    ///
    /// # Errors
    /// The device does not take them: the queue is of no more use, and gives the slots back when it ends.
    fn ring_receives(&mut self) -> Result<(), DeviceError>;

    /// The slot that a completion filled, with [`Completion::bytes`] in it. None if the completion is not
    /// of this queue, or was seen already.
    fn received(&mut self, completion: &Completion) -> Option<Self::Slot>;

    /// How many slots were posted and not given back.
    fn receives_posted(&self) -> usize;

    /// How many of them were posted before one that came back: a packet is coming into them, or a queue pair of
    /// shared receives has ended while one was. What is lost so stays posted for as long as the queue is there.
    fn receives_overtaken(&self) -> usize;
}

/// A pair of a send queue and a receive queue, connected (RC) or for datagrams (UD).
pub trait QueuePair: Receives {
    /// Where to send datagrams to.
    type Address;

    /// What the peer has to know of this queue pair.
    fn endpoint(&self) -> Endpoint;

    /// How many bytes may be sent inline at most.
    fn inline_bytes_max(&self) -> usize;

    /// Connects to the peer's queue pair, which connects to this one: ready to receive and to send. On Ethernet the system
    /// looks for a peer that is nowhere for up to a second before it says so.
    ///
    /// # Errors
    /// It is connected or for datagrams, the ends do not fit together, or the device does not want to.
    fn connect(&mut self, peer: &Endpoint, timing: &Timing) -> Result<(), ConnectError>;

    /// Puts `bytes` of the slot behind what waits for [`ring_sends`](Self::ring_sends).
    ///
    /// With `signalled`, the device says when it is done with this one and all before it; without, only a
    /// later one tells. An error is always told.
    ///
    /// # Errors
    /// Why not, with the slot: also if [`Via`] is not of this kind of queue pair, or a datagram is longer
    /// than the path takes, which devices do not say.
    fn push_send(
        &mut self,
        slot: Self::Slot,
        bytes: Range<usize>,
        via: Via<'_, Self::Address>,
        signalled: bool,
    ) -> Result<(), PostError<Self::Slot>>;

    /// As [`push_send`](Self::push_send), of bytes that are copied at once and need not be registered.
    ///
    /// # Errors
    /// Why not: also if there are more than [`inline_bytes_max`](Self::inline_bytes_max).
    fn push_inline(
        &mut self,
        bytes: &[u8],
        via: Via<'_, Self::Address>,
        signalled: bool,
    ) -> Result<(), PostError<()>>;

    /// Gives the device the sends that wait, with one doorbell. Nothing to give is fine.
    ///
    /// # Errors
    /// The device does not take them: the queue pair is of no more use, and gives the slots back when it
    /// ends.
    fn ring_sends(&mut self) -> Result<(), DeviceError>;

    /// Hands over every slot that a completion says was sent: its own, and those before it that were not
    /// signalled. Nothing if the completion is not of this queue pair, or was seen already.
    fn sent(&mut self, completion: &Completion, back: impl FnMut(Self::Slot))
    where
        Self: Sized;

    /// Whether a completion is of a send of this queue pair that is not known to be done, and of none before that had its number.
    fn owns(&self, completion: &Completion) -> bool;

    /// How many sends were pushed and are not known to be done; at most [`QueuePairConfig::sends_max`].
    fn sends_posted(&self) -> usize;

    /// The state that the device says it is in.
    ///
    /// # Errors
    /// The device is gone.
    fn state(&self) -> Result<QueuePairState, DeviceError>;

    /// What the device says peers may do with this node's memory: the `IBV_ACCESS` bits.
    ///
    /// # Errors
    /// The device is gone.
    fn access(&self) -> Result<u32, DeviceError>;

    /// Puts it into the error state: everything posted completes, as flushed.
    ///
    /// # Errors
    /// The device is gone.
    fn fail(&mut self) -> Result<(), DeviceError>;

    /// As [`fail`](Self::fail), and no sends are posted any more once everything has completed, what came into shared
    /// receives included: there is one more send, for which the caller has left room.
    ///
    /// # Errors
    /// The device is gone, or says nothing more of it.
    fn drain(&mut self) -> Result<(), DeviceError>;

    /// Destroys it and hands over every slot that it still held. Shared receives stay where they are; what came into
    /// them and was not polled may be lost.
    fn end(self, back: impl FnMut(Self::Slot))
    where
        Self: Sized;
}
