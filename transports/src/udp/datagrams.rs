//! What datagrams go through: a socket of the kernel, or of a simulated world.

use super::socket::{Batch, Bound, Options, SendError, Socket};
use crate::link::Ecn;
use crate::secure::endpoint::Arrival;
use greenroom::sim;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::num::NonZeroUsize;
use std::task::{Context, Poll};

/// A socket as the carrier needs it. One task uses it, inside of a tokio runtime.
pub trait Datagrams: Send + 'static {
    /// Gives `sink` what has come, as much as one call gives, with where it came from, and to which address of several.
    ///
    /// # Errors
    /// The socket is broken.
    fn poll_receive(
        &mut self,
        cx: &mut Context<'_>,
        sink: &mut dyn FnMut(Arrival, &mut [u8]),
    ) -> Poll<io::Result<()>>;

    /// Sends datagrams that lie one after the other, each `segment` bytes long but the last, which may be shorter; from
    /// that address of this machine, as long as it has that, and with that mark if it can.
    ///
    /// # Errors
    /// How many bytes were sent before, and why no more.
    fn send(
        &mut self,
        from: Option<IpAddr>,
        to: SocketAddr,
        ecn: Ecn,
        datagrams: &[u8],
        segment: NonZeroUsize,
    ) -> Result<(), (usize, SendError)>;

    /// Sends one datagram that IP may cut up on its way, as [`send`](Self::send) does.
    ///
    /// # Errors
    /// Why it was not sent.
    fn send_cut(
        &mut self,
        from: Option<IpAddr>,
        to: SocketAddr,
        datagram: &[u8],
    ) -> Result<(), SendError>;

    /// Whether there is room after [`SendError::Full`].
    ///
    /// # Errors
    /// The socket is broken.
    fn poll_writable(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>>;

    /// How many datagrams one call sends at most.
    fn segments_max(&self) -> usize;
}

/// A socket of the kernel, which becomes the runtime's when it is first used.
#[derive(Debug)]
pub(super) struct Kernel {
    bound: Option<Bound>,
    offload: bool,
    socket: Option<Socket>,
    batch: Batch,
    /// Calls that failed since something was received.
    errors: u32,
}

impl Kernel {
    pub(super) fn bind(address: SocketAddr, options: Options) -> io::Result<(Self, SocketAddr)> {
        let bound = Bound::new(address, &options)?;
        let address = bound.address()?;
        let offload = options.offload;
        Ok((
            Self { bound: Some(bound), offload, socket: None, batch: Batch::new(), errors: 0 },
            address,
        ))
    }

    /// How many bytes the kernel holds that have come, if it says so.
    pub(super) fn receive_bytes(&self) -> Option<u64> {
        let (_, receive) = self.bound.as_ref()?.buffer_bytes().ok()?;
        u64::try_from(receive).ok()
    }
}

impl Datagrams for Kernel {
    fn poll_receive(
        &mut self,
        cx: &mut Context<'_>,
        sink: &mut dyn FnMut(Arrival, &mut [u8]),
    ) -> Poll<io::Result<()>> {
        if let Some(bound) = self.bound.take() {
            self.socket = Some(Socket::of(bound, self.offload)?);
        }
        let Some(socket) = &self.socket else { return Poll::Pending };
        loop {
            std::task::ready!(socket.poll_readable(cx))?;
            let received = socket.receive(&mut self.batch);
            if !self.batch.is_empty() {
                self.errors = 0;
                break;
            }
            // Some kernels tell here of addresses that cannot be reached, which is no fault of the socket.
            match received {
                Err(_) if self.errors < ERRORS_MAX => self.errors += 1,
                received => received?,
            }
        }
        // Of one address the kernel need not be told.
        let is_any = socket.address().ip().is_unspecified();
        for (arrival, datagram) in self.batch.datagrams() {
            let at = arrival.at.filter(|at| is_any && is_of_one(*at));
            sink(Arrival { at, ..arrival }, datagram);
        }
        Poll::Ready(Ok(()))
    }

    fn send(
        &mut self,
        from: Option<IpAddr>,
        to: SocketAddr,
        ecn: Ecn,
        datagrams: &[u8],
        segment: NonZeroUsize,
    ) -> Result<(), (usize, SendError)> {
        let Some(socket) = &mut self.socket else { return Ok(()) };
        let sent = socket.send_from(from, to, ecn, datagrams, segment);
        if sent.is_ok() {
            socket.forget_room();
        }
        sent
    }

    fn send_cut(
        &mut self,
        from: Option<IpAddr>,
        to: SocketAddr,
        datagram: &[u8],
    ) -> Result<(), SendError> {
        self.socket.as_mut().map_or(Ok(()), |socket| socket.send_cut(from, to, datagram))
    }

    fn poll_writable(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.socket.as_mut().map_or(Poll::Pending, |socket| socket.poll_writable(cx))
    }

    fn segments_max(&self) -> usize {
        self.socket.as_ref().map_or(1, Socket::segments_max)
    }
}

/// Whether an address is that of one machine: nothing leaves from that of a group, nor from that of all.
fn is_of_one(at: IpAddr) -> bool {
    !match at.to_canonical() {
        IpAddr::V4(v4) => v4.is_multicast() || v4.is_broadcast(),
        IpAddr::V6(v6) => v6.is_multicast(),
    }
}

/// A socket that fails so often, and receives nothing meanwhile, is broken.
const ERRORS_MAX: u32 = 10_000;

/// Datagrams that are taken with one call.
const DATAGRAMS_PER_CALL: usize = 32;

impl Datagrams for sim::Socket {
    fn poll_receive(
        &mut self,
        cx: &mut Context<'_>,
        sink: &mut dyn FnMut(Arrival, &mut [u8]),
    ) -> Poll<io::Result<()>> {
        for taken in 0..DATAGRAMS_PER_CALL {
            match Self::poll_receive(self, cx) {
                Poll::Ready(Ok(mut datagram)) => {
                    let ecn = of_world(datagram.ecn);
                    let arrival = Arrival { ecn, ..datagram.from.into() };
                    sink(arrival, &mut datagram.bytes);
                }
                Poll::Ready(Err(error)) => return Poll::Ready(Err(io::Error::other(error))),
                Poll::Pending if taken == 0 => return Poll::Pending,
                Poll::Pending => break,
            }
        }
        Poll::Ready(Ok(()))
    }

    fn send(
        &mut self,
        _: Option<IpAddr>,
        to: SocketAddr,
        ecn: Ecn,
        datagrams: &[u8],
        segment: NonZeroUsize,
    ) -> Result<(), (usize, SendError)> {
        let ecn = to_world(ecn);
        for (index, datagram) in datagrams.chunks(segment.get()).enumerate() {
            let full = |_| (index * segment.get(), SendError::Full);
            #[cfg(test)]
            has_no_secret(datagram);
            self.try_send(to, ecn, datagram).map_err(full)?;
        }
        Ok(())
    }

    fn send_cut(
        &mut self,
        _: Option<IpAddr>,
        to: SocketAddr,
        datagram: &[u8],
    ) -> Result<(), SendError> {
        #[cfg(test)]
        has_no_secret(datagram);
        self.try_send(to, sim::Ecn::NotCapable, datagram).map_err(|_| SendError::Full)
    }

    fn poll_writable(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Self::poll_writable(self, cx).map_err(io::Error::other)
    }

    fn segments_max(&self) -> usize {
        1
    }
}

/// No part of a key leaves the node that has it, in any world.
#[cfg(test)]
fn has_no_secret(datagram: &[u8]) {
    assert!(!crate::secure::packet::watch::is_in(datagram), "a secret is in {datagram:?}");
}

pub(super) const fn to_world(ecn: Ecn) -> sim::Ecn {
    match ecn {
        Ecn::NotCapable => sim::Ecn::NotCapable,
        Ecn::Capable0 => sim::Ecn::Capable0,
        Ecn::Capable1 => sim::Ecn::Capable1,
        Ecn::Congested => sim::Ecn::Congested,
    }
}

pub(super) const fn of_world(ecn: sim::Ecn) -> Ecn {
    match ecn {
        sim::Ecn::NotCapable => Ecn::NotCapable,
        sim::Ecn::Capable0 => Ecn::Capable0,
        sim::Ecn::Capable1 => Ecn::Capable1,
        sim::Ecn::Congested => Ecn::Congested,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_no_address_to_answer_from() {
        for (at, expected) in [
            ("192.0.2.1", true),
            ("2001:db8::1", true),
            ("224.0.0.1", false),
            ("255.255.255.255", false),
            ("::ffff:224.0.0.1", false),
            ("ff02::1", false),
        ] {
            assert_eq!(is_of_one(at.parse().expect("an address")), expected, "{at}");
        }
    }
}
