//! A node's end of the wires.

use super::course::Dropped;
use super::fabric::{Datagram, Way};
use super::mark::Ecn;
use super::rule::{Fate, Packet, Rules, flip};
use super::stage::Stage;
use crate::sync::{Arc, Mutex, planted};
use std::fmt;
use std::future::poll_fn;
use std::net::SocketAddr;
use std::task::{Context, Poll};
use std::time::Duration;

/// A port of a node, for datagrams to and from other nodes of the same world. Closed when dropped.
pub struct Socket {
    stage: Arc<Stage>,
    node: usize,
    incarnation: u64,
    at: SocketAddr,
    /// What wakes who waits for room.
    alarm: Mutex<Option<(u64, u64)>>,
}

/// Why a socket does not do what it is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SocketError {
    /// Another socket has the port, or is seen there.
    #[error("the port is in use")]
    InUse,
    /// The node that the socket belonged to has been killed or stopped.
    #[error("the node is down")]
    Down,
    /// There is no room now for what is to be sent.
    #[error("the socket has no room")]
    Full,
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
        Ok(Self { stage, node, incarnation, at, alarm: Mutex::new(None) })
    }

    /// Where others send to, to reach the socket: its own address, or how that looks from outside.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.stage.fabric.lock().looks(self.at)
    }

    /// Sends a datagram. Like any datagram it may be lost, also here, where there is no room for it
    /// ([`Link::full`](super::Link::full)), and nobody is told. A node that is down sends nothing. Never blocks;
    /// allocates.
    pub fn send(&self, to: SocketAddr, bytes: &[u8]) {
        self.send_as(self.address(), to, bytes);
    }

    /// As [`Socket::send`], but with a sender's address that may be anybody's: a forger's datagram.
    pub fn send_as(&self, from: SocketAddr, to: SocketAddr, bytes: &[u8]) {
        if self.send_all(from, to, Ecn::NotCapable, bytes).is_err() {
            self.stage.fabric.lock().refuse();
        }
    }

    /// As [`Socket::send`], with a mark of congestion, and only if there is room: what it takes may be lost all the same, as
    /// it is on a node that is down. Never blocks; allocates.
    ///
    /// # Errors
    /// [`SocketError::Full`], after which [`Socket::poll_writable`] says when there is.
    pub fn try_send(&self, to: SocketAddr, ecn: Ecn, bytes: &[u8]) -> Result<(), SocketError> {
        self.send_all(self.address(), to, ecn, bytes)
    }

    /// Whether there is room again for something to be sent; otherwise wakes the task when there is, the last one that has
    /// asked. Never blocks; allocates.
    ///
    /// # Errors
    /// [`SocketError::Down`] when the socket's node is.
    pub fn poll_writable(&self, cx: &mut Context<'_>) -> Poll<Result<(), SocketError>> {
        if !self.is_up() {
            return Poll::Ready(Err(SocketError::Down));
        }
        let until = self.stage.fabric.lock().full_until(self.at);
        if until <= self.stage.now() {
            return Poll::Ready(Ok(()));
        }
        let alarm = self.stage.wake_at(until, cx.waker().clone());
        if let Some(before) = self.alarm.lock().replace(alarm) {
            self.stage.forget(before);
        }
        Poll::Pending
    }

    fn send_all(
        &self,
        says: SocketAddr,
        to: SocketAddr,
        ecn: Ecn,
        bytes: &[u8],
    ) -> Result<(), SocketError> {
        if !self.is_up() {
            return Ok(());
        }
        let (now, len, ends) = (self.stage.now(), bytes.len(), [self.at, says, to]);
        let mut fabric = self.stage.fabric.lock();
        let offered = self.stage.choose(|choices| fabric.offer(now, ends, ecn, bytes, choices));
        self.stage.log(|| {
            let why = offered.err().map(|why| format!(", dropped: {why:?}")).unwrap_or_default();
            format!("{} sends {len} bytes to {to}{why}", self.at)
        });
        match offered {
            Ok(()) => {}
            Err(Dropped::NoRoom) => return Err(SocketError::Full),
            Err(_) => return Ok(()),
        }
        let rules = fabric.take_rules(self.at, to);
        drop(fabric);
        let packet = Packet { at: Duration::from_nanos(now), from: says, to, ecn, bytes };
        let fate = rules.map_or_else(|| Some(Fate::default()), |rules| self.judge(rules, &packet));
        let mut fabric = self.stage.fabric.lock();
        self.stage.choose(|choices| match &fate {
            Some(fate) => fabric.send(now, ends, ecn, (bytes, fate), choices),
            None => fabric.lose(Dropped::ByRule, choices),
        });
        Ok(())
    }

    /// What the rules of its link make of a packet; `None` if it is dropped.
    fn judge(&self, (way, mut rules): (Way, Rules), packet: &Packet<'_>) -> Option<Fate> {
        let fate = rules.judge(packet, |bytes, bits| {
            self.stage.choose(|choices| flip(bytes, bits as u64, choices));
        });
        self.stage.fabric.lock().put_back(way, rules);
        fate
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
        if let Some(alarm) = self.alarm.lock().take() {
            self.stage.forget(alarm);
        }
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
