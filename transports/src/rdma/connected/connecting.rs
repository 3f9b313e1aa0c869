//! How queue pairs are connected: at once, or apart from everything else, for the system may look for a peer for a second.
//!
//! A queue pair that is connected apart is out of reach until then. Its connection keeps its place, and what it has
//! claimed, whatever ends it meanwhile.

use super::super::ended::Ended;
use super::super::verbs::{ConnectError, Device, Endpoint};
use super::link::Link;
use super::{Config, Connected, ConnectionError, ConnectionId, RECEIVES_MIN};
use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

/// A connection whose queue pair is being connected.
#[derive(Debug)]
pub(super) struct Away<D: Device> {
    id: ConnectionId,
    qpn: u32,
    /// What it has claimed of the shared receives.
    start: u32,
    peer_receives: u32,
    has_ended: bool,
    made: D::Connecting,
}

impl<D: Device> Away<D> {
    /// What comes by it is nobody's from now on; `false` if that was so.
    fn end(&mut self, routes: &mut BTreeMap<u32, u16>) -> bool {
        // A queue pair that did not connect is gone, and another one may have its number by now.
        if routes.get(&self.qpn) == Some(&self.id.index) {
            routes.remove(&self.qpn);
        }
        !std::mem::replace(&mut self.has_ended, true)
    }
}

impl<D: Device> Connected<D> {
    /// Connects to the peer's end, which has posted so many receives. On Ethernet the system looks for a peer that is
    /// nowhere for up to a second before it says so.
    ///
    /// # Errors
    /// The ends do not fit together, or the device does not want to.
    pub fn connect(
        &mut self,
        id: ConnectionId,
        peer: &Endpoint,
        peer_receives: u32,
    ) -> Result<(), ConnectionError> {
        if peer_receives < RECEIVES_MIN {
            return Err(ConnectionError::Receives(peer_receives));
        }
        let Config { timing, receives, .. } = self.config;
        let link = self.link_mut(id).ok_or(ConnectionError::State)?;
        Ok(link.connect(peer, receives, peer_receives, &timing)?)
    }

    /// As [`connect`](Self::connect), but everything else goes on meanwhile: what became of it,
    /// [`poll_connected`](Self::poll_connected) says.
    ///
    /// # Errors
    /// There are too few receives to send anything, or the connection has ended or is connected.
    pub fn connect_apart(
        &mut self,
        id: ConnectionId,
        peer: &Endpoint,
        peer_receives: u32,
    ) -> Result<(), ConnectionError> {
        if peer_receives < RECEIVES_MIN {
            return Err(ConnectionError::Receives(peer_receives));
        }
        let place = self.places.get_mut(usize::from(id.index));
        let place = place.filter(|place| place.use_count == id.use_count);
        let link = place.and_then(|place| place.link.take_if(|link| !link.was_connected()));
        let link = link.ok_or(ConnectionError::State)?;
        let qpn = link.qpn();
        let (pair, start) = link.into_pair();
        let made = self.device.connect_apart(pair, peer, &self.config.timing);
        self.away.push(Away { id, qpn, start, peer_receives, has_ended: false, made });
        Ok(())
    }

    /// A connection whose queue pair was to be connected [apart](Self::connect_apart), and how that went; wakes the task
    /// when there is another one. Of one that was ended meanwhile this says that its queue pair was connected, and is back:
    /// [`ConnectionError::State`].
    pub fn poll_connected(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<(ConnectionId, Result<(), ConnectionError>)> {
        for at in 0..self.away.len() {
            if let Poll::Ready(made) = Pin::new(&mut self.away[at].made).poll(context) {
                let away = self.away.swap_remove(at);
                return Poll::Ready((away.id, self.take_back(away, made)));
            }
        }
        Poll::Pending
    }

    fn take_back(
        &mut self,
        mut away: Away<D>,
        made: Result<D::QueuePair, ConnectError>,
    ) -> Result<(), ConnectionError> {
        match made {
            Ok(pair) => {
                let mut link = Link::new(pair, self.config.sends, away.start);
                link.begin(self.config.receives, away.peer_receives);
                if away.has_ended {
                    self.leave(link);
                    return Err(ConnectionError::State);
                }
                self.places[usize::from(away.id.index)].link = Some(link);
                Ok(())
            }
            Err(error) => {
                away.end(&mut self.routes);
                // Nothing came by it, and it is gone.
                self.shared.on_gone(away.start, false);
                self.retry();
                Err(error.into())
            }
        }
    }

    /// Ends everything, but for the queue pairs that are being connected, which keep what they were made of.
    pub(in crate::rdma) fn into_away(self) -> impl Iterator<Item = D::Connecting> {
        self.away.into_iter().map(|away| away.made)
    }

    /// Whether the connection at that place is kept from being used by another one.
    pub(super) fn is_away(&self, at: usize) -> bool {
        self.away.iter().any(|away| usize::from(away.id.index) == at)
    }

    /// How many have ended of those whose queue pairs are not back.
    pub(super) fn ended_away(&self) -> usize {
        self.away.iter().filter(|away| away.has_ended).count()
    }

    pub(super) fn end_away(&mut self, id: ConnectionId) {
        if let Some(away) = self.away.iter_mut().find(|away| away.id == id) {
            away.end(&mut self.routes);
        }
    }

    pub(super) fn fail_away(&mut self, why: Ended) {
        for away in &mut self.away {
            if away.end(&mut self.routes) {
                self.ended.push_back((away.id, why));
            }
        }
    }
}
