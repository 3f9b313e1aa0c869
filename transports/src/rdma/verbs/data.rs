//! What devices, ports and queue pairs are like.

/// A device that could be opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceInfo {
    /// What it is called: `rxe0`, `mlx5_0`.
    pub name: String,
    /// Its number, the same after a restart.
    pub guid: u64,
}

/// What a device can do at most.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Ports; they count from 1.
    pub ports: u8,
    /// Queue pairs.
    pub queue_pairs: u32,
    /// Requests in one queue of a queue pair.
    pub requests: u32,
    /// Completions in one queue.
    pub completions: u32,
    /// Queues of shared receives; zero if there are none.
    pub shared_receives: u32,
    /// Receives in one of these.
    pub shared_requests: u32,
    /// Addresses.
    pub addresses: u32,
    /// Bytes in one registration.
    pub memory_bytes: u64,
}

/// What carries a port's packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum LinkLayer {
    /// InfiniBand: reached by LID within a subnet.
    #[default]
    InfiniBand,
    /// Ethernet (RoCE): always reached by GID.
    Ethernet,
}

/// A port as it is now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Port {
    /// Whether packets leave and come.
    pub is_up: bool,
    /// What carries them.
    pub layer: LinkLayer,
    /// Bytes that a datagram has at most; connected queue pairs cut messages into pieces of this.
    pub mtu_bytes: u16,
    /// Its address within a subnet; zero on Ethernet.
    pub lid: u16,
    /// The GID at the index that it was opened with; zero if there is none any more.
    pub gid: [u8; 16],
}

/// What one end has to know of the other's queue pair, exchanged over a channel that is authentic.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Endpoint {
    /// The port's GID.
    pub gid: [u8; 16],
    /// The port's LID; zero on Ethernet.
    pub lid: u16,
    /// The queue pair's number, 24 bits.
    pub qpn: u32,
    /// The number of the first packet that it sends, 24 bits, random.
    pub psn: u32,
    /// The key that its datagrams need; zero if it is connected.
    pub qkey: u32,
    /// Bytes in a packet on its port at most.
    pub mtu_bytes: u16,
}

/// How large a queue pair is, and whose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueuePairConfig {
    /// Sends that are not known to be done.
    pub sends_max: u32,
    /// Receives that are posted; zero with shared ones.
    pub receives_max: u32,
    /// Bytes to send inline that are asked for; the device may have less.
    pub inline_bytes: u32,
    /// What its completions carry, to know it by: below 32,768.
    pub owner: u16,
    /// The number of the first packet, of which 24 bits count. To be drawn at random, so that nobody
    /// off the path can put packets between.
    pub psn: u32,
}

/// How long a connected queue pair tries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// Waits 4.096 µs times two to the power of this for an answer, below 32. 18 is 1.07 s.
    pub timeout: u8,
    /// Repeats so often without an answer: at most 7, which Soft-RoCE takes for ever.
    pub retries: u8,
    /// Repeats so often while the peer has nothing to receive into: at most 7, which is for ever.
    pub not_ready_retries: u8,
    /// The code of how long the peer asks to wait then (IBTA 9.7.5.2.8): 12 is 0.64 ms.
    pub not_ready_delay: u8,
}

impl Default for Timing {
    /// Slow enough for a device in software. Credit makes sure that the peer is ready, so one that is not
    /// breaks the rules, and is not waited for without end.
    fn default() -> Self {
        Self { timeout: 18, retries: 6, not_ready_retries: 6, not_ready_delay: 12 }
    }
}

/// The state of a queue pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum QueuePairState {
    /// Takes receives.
    Made,
    /// Receives and does not send: on the way to `Ready`.
    Receives,
    /// Receives and sends.
    Ready,
    /// Of no more use.
    Failed,
}

/// Whom a send is for.
#[derive(Debug)]
pub enum Via<'a, A> {
    /// The peer that the queue pair is connected to.
    Connection,
    /// A queue pair at that address, which takes datagrams with that key.
    Datagram {
        /// The peer's port.
        address: &'a A,
        /// The peer's queue pair.
        qpn: u32,
        /// The key it takes.
        qkey: u32,
    },
}

// By hand: deriving would ask for `A: Clone`, and only the reference is copied.
impl<A> Clone for Via<'_, A> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<A> Copy for Via<'_, A> {}

/// What happened to a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DeviceEvent {
    /// It was pulled away: nothing of it is of any more use.
    Gone,
    /// The port went down.
    PortDown,
    /// The port came up.
    PortUp,
    /// The port has other GIDs, which may be any but the one that it was opened with.
    GidsChanged,
    /// A queue pair failed.
    QueuePairFailed {
        /// Its number.
        qpn: u32,
    },
    /// A queue of completions overflowed or failed.
    CompletionsFailed,
    /// A queue of shared receives failed.
    ReceivesFailed,
    /// Something else, by the number that the device gives.
    Other(u32),
}
