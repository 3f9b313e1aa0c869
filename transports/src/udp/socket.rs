//! A UDP socket that moves many datagrams with one call: GSO when sending, GRO and `recvmmsg` when
//! receiving, by `quinn-udp`, which does without where the kernel does.
//!
//! Datagrams are never fragmented; one that is too long for the way out comes back as an error. What routers and other
//! hosts say of addresses is not heard: anybody may say it, a socket tells it at its next call, whatever address that is
//! for, and what is not read takes the room of datagrams. Nothing here allocates after the start, unless the socket is full
//! or the kernel refuses a place.

mod cutting;
mod marks;
mod places;
mod registered;
mod segments;
#[cfg(test)]
mod tests;

use crate::link::Ecn;
use crate::secure::audit::SendFailure;
use crate::secure::endpoint::Arrival;
use places::{Places, UNCUT_FOR};
use quinn_udp::{BATCH_SIZE, RecvMeta, UdpSockRef, UdpSocketState};
use registered::Registered;
use std::io::{self, ErrorKind, IoSliceMut};
use std::net::{IpAddr, SocketAddr};
use std::num::NonZeroUsize;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

/// What a socket is to be like.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// How many bytes the kernel may hold for each direction; it may grant less.
    pub buffer_bytes: usize,
    /// Whether the kernel may cut one long send into datagrams.
    pub offload: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self { buffer_bytes: 4 << 20, offload: true }
    }
}

/// A socket of the runtime that it was made in.
#[derive(Debug)]
pub struct Socket {
    io: Registered,
    state: UdpSocketState,
    offload: bool,
    address: SocketAddr,
    /// From which address the kernel would not send, and when that was.
    refused: Option<(IpAddr, Instant)>,
    /// Where it would send nothing to.
    invalid: Places,
    /// Where it would not send what it is to cut into datagrams.
    uncut: Places,
    /// The way on which it takes no marks, nor segmentation, for which the socket does without for as long as nothing goes
    /// elsewhere.
    unmarked: Option<SocketAddr>,
    call: Call,
}

/// The call that sends, [`UdpSocketState::try_send`].
type Call = fn(&UdpSocketState, UdpSockRef<'_>, &quinn_udp::Transmit<'_>) -> io::Result<()>;

/// Why datagrams were not sent.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SendError {
    /// The kernel's buffer is full: send again when the socket is writable.
    #[error("the socket's buffer is full")]
    Full,
    /// The datagram is longer than the path takes.
    #[error("the datagram is too long for the path")]
    TooBig,
    /// There is no network, no way to the address, or nobody there.
    #[error("there is no way to the address")]
    Unreachable,
    /// The kernel says no, and firewalls do.
    #[error("sending is not permitted")]
    Denied,
    /// Anything else that the kernel says.
    #[error(transparent)]
    Other(io::Error),
}

impl SendError {
    /// As the audit counts it.
    pub(super) fn failure(&self) -> SendFailure {
        match self {
            Self::TooBig => SendFailure::TooBig,
            Self::Unreachable => SendFailure::Unreachable,
            Self::Denied => SendFailure::Denied,
            Self::Full | Self::Other(_) => SendFailure::Other,
        }
    }
}

impl From<io::Error> for SendError {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            _ if quinn_udp::is_msg_size_err(&error) => Self::TooBig,
            ErrorKind::WouldBlock => Self::Full,
            ErrorKind::NetworkUnreachable
            | ErrorKind::HostUnreachable
            | ErrorKind::NetworkDown
            | ErrorKind::ConnectionRefused
            | ErrorKind::AddrNotAvailable => Self::Unreachable,
            ErrorKind::PermissionDenied => Self::Denied,
            _ => Self::Other(error),
        }
    }
}

/// Whether nothing was sent, it may be, because the machine has the address no more from which it was to be sent, or may
/// not send from there. Linux says the first of an address of IPv6 that is gone, and the second of one of IPv4; of one
/// that a rule of routing or a firewall forbids, also that the host is out of reach, or the last.
fn may_be_of_source(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::InvalidInput
            | ErrorKind::NetworkUnreachable
            | ErrorKind::HostUnreachable
            | ErrorKind::AddrNotAvailable
    ) || crate::planted!("source-forbidden": error.kind() == ErrorKind::PermissionDenied => false)
}

/// For how long nothing is sent from an address that the kernel has refused, or to a place.
const REFUSED_FOR: Duration = Duration::from_secs(1);

/// A socket that is bound, and no runtime's yet.
#[derive(Debug)]
pub struct Bound {
    io: std::net::UdpSocket,
    state: UdpSocketState,
}

impl Bound {
    /// Binds to an address; with port 0 to a port that the kernel chooses.
    ///
    /// # Errors
    ///
    /// What the kernel says: the address is taken, is not of this host, or there are no sockets left.
    pub fn new(address: SocketAddr, options: &Options) -> io::Result<Self> {
        let io = std::net::UdpSocket::bind(address)?;
        let state = marks::state(&io)?;
        // The kernel grants what it may; what it did can be asked for.
        state.set_send_buffer_size((&io).into(), options.buffer_bytes)?;
        state.set_recv_buffer_size((&io).into(), options.buffer_bytes)?;
        // [UDP-72]
        if crate::planted!("socket-hears-of-paths": false => true) {
            state.enable_transport_errors((&io).into())?;
        }
        io.set_nonblocking(true)?;
        Ok(Self { io, state })
    }

    /// The address that it is bound to.
    ///
    /// # Errors
    ///
    /// What the kernel says.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.io.local_addr()
    }

    /// How many bytes the kernel holds at most, on their way out and in.
    ///
    /// # Errors
    ///
    /// What the kernel says.
    pub fn buffer_bytes(&self) -> io::Result<(usize, usize)> {
        let send = self.state.send_buffer_size((&self.io).into())?;
        Ok((send, self.state.recv_buffer_size((&self.io).into())?))
    }
}

impl Socket {
    /// Binds to an address; with port 0 to a port that the kernel chooses.
    ///
    /// # Errors
    ///
    /// What the kernel says: the address is taken, is not of this host, or there are no sockets left.
    ///
    /// # Panics
    ///
    /// Outside a tokio runtime with its I/O enabled.
    pub fn bind(address: SocketAddr, options: &Options) -> io::Result<Self> {
        Self::of(Bound::new(address, options)?, options.offload)
    }

    /// Takes over a socket that is bound.
    ///
    /// # Errors
    ///
    /// What the kernel says.
    ///
    /// # Panics
    ///
    /// Outside a tokio runtime with its I/O enabled.
    pub fn of(bound: Bound, offload: bool) -> io::Result<Self> {
        let Bound { io, state } = bound;
        let address = io.local_addr()?;
        let io = Registered::new(io)?;
        // What the kernel never had it cannot take back.
        let offload = offload && state.max_gso_segments() > 1;
        let (invalid, uncut) = (Places::new(REFUSED_FOR), Places::new(UNCUT_FOR));
        let (refused, unmarked, call) = (None, None, UdpSocketState::try_send);
        Ok(Self { io, state, offload, address, refused, invalid, uncut, unmarked, call })
    }

    /// The address that it is bound to.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// How many datagrams one call to the kernel may send; one without segmentation.
    #[must_use]
    pub fn segments_max(&self) -> usize {
        if self.offload { self.state.max_gso_segments() } else { 1 }
    }

    /// How many datagrams the kernel may join into one buffer as they come; one without GRO.
    #[must_use]
    pub fn joins_max(&self) -> usize {
        self.state.gro_segments()
    }

    /// How many bytes the kernel holds at most, on their way out and in.
    ///
    /// # Errors
    ///
    /// What the kernel says.
    pub fn buffer_bytes(&self) -> io::Result<(usize, usize)> {
        let send = self.state.send_buffer_size(self.io.socket().into())?;
        Ok((send, self.state.recv_buffer_size(self.io.socket().into())?))
    }

    /// Sends datagrams that lie one after the other, each `segment` bytes long but the last, which may
    /// be shorter. Never waits.
    ///
    /// # Errors
    ///
    /// How many bytes were sent before, always whole datagrams, and why no more.
    pub fn send(
        &self,
        to: SocketAddr,
        datagrams: &[u8],
        segment: NonZeroUsize,
    ) -> Result<(), (usize, SendError)> {
        let most = self.segments_max();
        let sent = self.pass(None, to, Ecn::NotCapable, datagrams, segment, most);
        let sent = sent.or_else(|(sent, error)| {
            let rest = datagrams.get(sent..).unwrap_or_default();
            if !self.is_halted() || rest.len() <= segment.get() {
                return Err((sent, error));
            }
            // The kernel took segmentation back: what is left goes one by one.
            let rest = self.pass(None, to, Ecn::NotCapable, rest, segment, 1);
            rest.map_err(|(more, error)| (sent + more, error))
        });
        sent.map_err(|(sent, error)| (sent, error.into()))
    }

    /// As [`send`](Self::send), from that address of this machine, or from another one if it has that no more, and with
    /// that mark.
    ///
    /// # Errors
    ///
    /// As [`send`](Self::send).
    pub fn send_from(
        &mut self,
        from: Option<IpAddr>,
        to: SocketAddr,
        ecn: Ecn,
        datagrams: &[u8],
        segment: NonZeroUsize,
    ) -> Result<(), (usize, SendError)> {
        self.send_or_without(from, to, ecn, datagrams, segment, false)
    }

    /// As [`send_from`](Self::send_from), also while IP may cut datagrams up.
    fn send_or_without(
        &mut self,
        from: Option<IpAddr>,
        to: SocketAddr,
        ecn: Ecn,
        datagrams: &[u8],
        segment: NonZeroUsize,
        may_be_cut: bool,
    ) -> Result<(), (usize, SendError)> {
        if crate::planted!("socket-asks-again": self.invalid.has(to) => false) {
            return Err((0, io::Error::from(ErrorKind::InvalidInput).into()));
        }
        if self.is_halted_elsewhere(to) {
            self.regain_for(to, may_be_cut);
        }
        let from = from.filter(|from| !self.is_refused(*from));
        let (source, sent) = match (from, self.send_all(from, to, ecn, datagrams, segment)) {
            (Some(source), Err((sent, error))) if may_be_of_source(&error) => (source, sent),
            (_, sent) => return self.settle(to, sent),
        };
        self.regain_for(to, may_be_cut);
        let rest = datagrams.get(sent..).unwrap_or_default();
        let without = self.send_all(None, to, ecn, rest, segment);
        // Otherwise it was not for the source that the kernel would not.
        if !matches!(&without, Err((_, error)) if may_be_of_source(error)) {
            self.refused = Some((source, Instant::now()));
        }
        self.settle(to, without.map_err(|(more, error)| (sent + more, error)))
    }

    /// Whether the kernel would not send from there a moment ago. To ask it each time would take some calls more for
    /// each, and all that segmentation saves.
    fn is_refused(&self, from: IpAddr) -> bool {
        let refused = self.refused.filter(|(refused, _)| *refused == from);
        refused.is_some_and(|(_, since)| since.elapsed() < REFUSED_FOR)
    }

    /// Sends one datagram that IP may cut up on its way, where the kernel can be told so; else as
    /// [`send_from`](Self::send_from). Never waits.
    ///
    /// # Errors
    ///
    /// Why it was not sent.
    pub fn send_cut(
        &mut self,
        from: Option<IpAddr>,
        to: SocketAddr,
        datagram: &[u8],
    ) -> Result<(), SendError> {
        let Some(segment) = NonZeroUsize::new(datagram.len()) else { return Ok(()) };
        // Nobody else sends meanwhile: a socket has one owner.
        cutting::set(self.io.socket(), to, true);
        let sent = self.send_or_without(from, to, Ecn::NotCapable, datagram, segment, true);
        cutting::set(self.io.socket(), to, false);
        sent.map_err(|(_, error)| error)
    }

    /// Nobody waits for room any more, as it was found.
    pub(super) fn forget_room(&mut self) {
        self.io.forget_room();
    }

    /// Whether the socket takes datagrams again, after it was full. Makes an entry with the runtime meanwhile, which
    /// allocates.
    ///
    /// # Panics
    ///
    /// Outside a tokio runtime with its I/O enabled.
    pub fn poll_writable(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.io.poll_writable(context)
    }

    /// Whether datagrams are there.
    pub fn poll_readable(&self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.io.poll_readable(context)
    }

    /// Takes what has come, as much as one call gives. Never waits; nothing may be there. Only what the runtime has seen
    /// is taken: wait until it is [readable](Socket::poll_readable).
    ///
    /// # Errors
    ///
    /// What the kernel says.
    pub fn receive(&self, batch: &mut Batch) -> io::Result<()> {
        batch.filled = 0;
        let Batch { memory, meta, filled, room } = batch;
        let offered = *room;
        let mut buffers: [IoSliceMut<'_>; BATCH_SIZE] =
            std::array::from_fn(|_| IoSliceMut::new(&mut []));
        for (buffer, memory) in
            buffers.iter_mut().zip(memory.chunks_mut(BUFFER_BYTES)).take(offered)
        {
            *buffer = IoSliceMut::new(memory);
        }
        // Only where the runtime has seen something, and so that it knows when that is taken: a call that did not
        // fill its room has taken all, and the next one would only hear that nothing is there.
        let received = self.io.try_read(|socket| {
            *filled = self.state.recv(socket.into(), &mut buffers[..offered], meta)?;
            let has_taken_all = FILLS_ROOM && *filled < offered;
            if has_taken_all { Err(ErrorKind::WouldBlock.into()) } else { Ok(()) }
        });
        *room = (2 * *filled).clamp(ROOM_MIN, BATCH_SIZE);
        match received {
            Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(()),
            received => received,
        }
    }
}

/// Room for what the kernel joins into one.
const BUFFER_BYTES: usize = 1 << 16;

/// Whether a call that receives takes all that is there, as far as it has room. Without `recvmmsg` it takes one.
const FILLS_ROOM: bool = cfg!(any(target_os = "linux", target_os = "android"));

/// For how many datagrams a call has room at least. Room for many is worth its cost only where many come.
const ROOM_MIN: usize = if BATCH_SIZE < 4 { BATCH_SIZE } else { 4 };

/// Room for what one call receives.
pub struct Batch {
    memory: Box<[u8]>,
    meta: [RecvMeta; BATCH_SIZE],
    filled: usize,
    /// For how many the next call has room.
    room: usize,
}

impl Batch {
    /// An empty one, of two megabytes.
    #[must_use]
    pub fn new() -> Self {
        let memory = vec![0; BATCH_SIZE * BUFFER_BYTES].into_boxed_slice();
        Self { memory, meta: [RecvMeta::default(); BATCH_SIZE], filled: 0, room: ROOM_MIN }
    }

    /// Whether nothing was received last.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.filled == 0
    }

    /// The datagrams that were received last, with where they came from and to.
    pub fn datagrams(&mut self) -> impl Iterator<Item = (Arrival, &mut [u8])> {
        let filled = self.meta.iter().zip(self.memory.chunks_mut(BUFFER_BYTES)).take(self.filled);
        filled.flat_map(|(meta, memory)| {
            let joined = &mut memory[..meta.len.min(BUFFER_BYTES)];
            let arrival = Arrival { from: meta.addr, at: meta.dst_ip, ecn: marks::mark(meta.ecn) };
            // One without a byte is one, too. [UDP-90]
            let empty = joined.is_empty().then(<&mut [u8]>::default);
            let datagrams = empty.into_iter().chain(joined.chunks_mut(meta.stride.max(1)));
            datagrams.map(move |datagram| (arrival, datagram))
        })
    }
}

impl Default for Batch {
    fn default() -> Self {
        Self::new()
    }
}

impl std::fmt::Debug for Batch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Batch").field("filled", &self.filled).finish_non_exhaustive()
    }
}
