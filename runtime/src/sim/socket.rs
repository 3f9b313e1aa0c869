//! A node's end of the wires.

use super::fabric::Datagram;
use super::mark::Ecn;
use super::stage::Stage;
use crate::sync::{Arc, planted};
use std::fmt;
use std::future::poll_fn;
use std::net::SocketAddr;
use std::task::{Context, Poll};

/// A port of a node, for datagrams to and from other nodes of the same world. Closed when dropped.
pub struct Socket {
    stage: Arc<Stage>,
    node: usize,
    incarnation: u64,
    at: SocketAddr,
}

/// Why nothing can be received.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SocketError {
    /// Another socket has the port.
    #[error("the port is in use")]
    InUse,
    /// The node that the socket belonged to has been killed or stopped.
    #[error("the node is down")]
    Down,
}

impl Socket {
    pub(super) fn bind(
        stage: Arc<Stage>,
        node: usize,
        incarnation: u64,
        at: SocketAddr,
    ) -> Result<Self, SocketError> {
        if !stage.fabric.lock().bind(at) {
            return Err(SocketError::InUse);
        }
        Ok(Self { stage, node, incarnation, at })
    }

    /// Where others send to, to reach the socket: its own address, or how that looks from outside.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.stage.fabric.lock().looks(self.at)
    }

    /// Sends a datagram. Like any datagram it may be lost, and nobody is told. A node that is down sends
    /// nothing. Never blocks; allocates.
    pub fn send(&self, to: SocketAddr, bytes: &[u8]) {
        self.send_as(self.address(), to, bytes);
    }

    /// As [`Socket::send`], with a mark of congestion.
    pub fn send_marked(&self, to: SocketAddr, ecn: Ecn, bytes: &[u8]) {
        self.send_all(self.address(), to, ecn, bytes);
    }

    /// As [`Socket::send`], but with a sender's address that may be anybody's: a forger's datagram.
    pub fn send_as(&self, from: SocketAddr, to: SocketAddr, bytes: &[u8]) {
        self.send_all(from, to, Ecn::NotCapable, bytes);
    }

    fn send_all(&self, from: SocketAddr, to: SocketAddr, ecn: Ecn, bytes: &[u8]) {
        if !self.is_up() {
            return;
        }
        let (now, len) = (self.stage.now(), bytes.len());
        self.stage.log(|| format!("{} sends {len} bytes to {to}", self.at));
        let mut fabric = self.stage.fabric.lock();
        self.stage.choose(|choices| fabric.send(now, [self.at, from, to], ecn, bytes, choices));
    }

    /// Lets no more than so many datagrams wait here; 4096 unless set. What finds no room is lost.
    pub fn set_buffer(&self, datagrams: usize) {
        self.stage.fabric.lock().limit(self.at, datagrams);
    }

    /// Takes the next datagram, if one has arrived.
    ///
    /// # Errors
    /// [`SocketError::Down`] when the socket's node is.
    pub fn try_receive(&self) -> Result<Option<Datagram>, SocketError> {
        if !self.is_up() {
            return Err(SocketError::Down);
        }
        self.stage.fabric.lock().receive(self.at).map_err(|()| SocketError::Down)
    }

    /// Waits for the next datagram. One task at a time may wait.
    ///
    /// # Errors
    /// As [`Socket::try_receive`].
    ///
    /// # Cancel safety
    /// Nothing is lost when the future is dropped.
    pub async fn receive(&self) -> Result<Datagram, SocketError> {
        poll_fn(|cx| self.poll_receive(cx)).await
    }

    /// As [`Socket::receive`], for hand-written futures.
    ///
    /// # Errors
    /// As [`Socket::try_receive`].
    pub fn poll_receive(&self, cx: &mut Context<'_>) -> Poll<Result<Datagram, SocketError>> {
        match self.try_receive() {
            Ok(Some(datagram)) => Poll::Ready(Ok(datagram)),
            Ok(None) => {
                self.stage.fabric.lock().wait(self.at, cx.waker());
                Poll::Pending
            }
            Err(error) => Poll::Ready(Err(error)),
        }
    }

    /// Whether the incarnation of the node that opened the socket is there still.
    fn is_up(&self) -> bool {
        let faces = self.stage.faces.lock();
        let face = &faces[self.node];
        let is_up = face.incarnation == self.incarnation && face.system.is_some();
        !self.stage.has_ended() && planted!("sim-dead-send": is_up => true)
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        if self.is_up() {
            self.stage.fabric.lock().unbind(self.at);
        }
    }
}

impl fmt::Debug for Socket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Socket({})", self.at)
    }
}
