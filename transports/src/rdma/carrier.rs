//! The queue pairs of a node's links: between a [`Station`], which has no I/O, and a device that may come and go.
//!
//! Each turn first takes what came, then does what the station wants, sends what it has, and polls again while an
//! answer may be near. It sleeps only after it has armed the completion queue and polled once more. A queue pair is connected
//! apart from all that, when its peer's turn has come.

mod failure;
mod line;
mod opened;

use super::connected::{Config, Connected, ConnectionError, ConnectionId};
use super::idle::{Activity, Idle, Next};
use super::verbs::{Device, OpenError, Timing, told};
use crate::link::Time;
use crate::secure::endpoint::AssociationId;
use crate::secure::key::PublicKey;
use crate::station::{DATAGRAM_BYTES_MAX, Station, Terms, Want, Why};
pub use failure::Failure;
use line::{Attempt, Line, Made};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

/// Polls that find something, until others have their turn.
const POLLS_PER_TURN: u32 = 8;

/// What is said besides where memory may be short.
const HELD: &str = "; for a second, queue pairs of a device that was closed still hold memory";

/// Connections of a node, unless it is told otherwise.
pub(super) const CONNECTIONS_MAX: u16 = 256;

/// What a node's queue pairs are like: slots for the longest packets there are, and a peer that does not answer is
/// given up after two seconds, long before its link is.
pub(super) const CONFIG: Config = Config {
    connections_max: CONNECTIONS_MAX,
    sends: 32,
    receives: 64,
    slot_bytes: DATAGRAM_BYTES_MAX as usize + super::connected::PREFIX_BYTES,
    inline_bytes: 220,
    timing: Timing { timeout: 16, retries: 6, not_ready_retries: 6, not_ready_delay: 12 },
};

/// What a node's own task does with queue pairs.
pub trait Turn {
    /// Takes what came.
    fn receive(&mut self, station: &Mutex<Station>, cx: &mut Context<'_>, now: Time);

    /// Does what the station wants, and sends what it has.
    fn send(&mut self, station: &Mutex<Station>, cx: &mut Context<'_>, now: Time);

    /// Sends what the station has, as far as there is room, and begins nothing: for a node that sends no more.
    fn send_last(&mut self, station: &Mutex<Station>, now: Time);

    /// Takes what came, and says whether packets that were sent have not left yet: for a node that sends no more.
    fn is_sending(&mut self, _station: &Mutex<Station>, _now: Time) -> bool {
        false
    }

    /// Where it says why there is no device, if none could be opened, or what that refused.
    fn failure(&self) -> Failure;
}

/// The queue pairs of a node. `open` opens its device, again and again if that goes away.
pub struct QueuePairs<D: Device, O> {
    open: O,
    config: Config,
    connected: Option<Connected<D>>,
    /// What its port was reached by when it was opened.
    gid: [u8; 16],
    /// Whether its port is reached by something else by now, or by nothing.
    has_moved: bool,
    connections: BTreeMap<AssociationId, ConnectionId>,
    associations: BTreeMap<ConnectionId, AssociationId>,
    /// Those that are to be connected.
    line: Line,
    /// Queue pairs of devices that were closed, until they are connected or not.
    left: Vec<D::Connecting>,
    idle: Idle,
    /// The numbers of queue pairs that failed, until what their completions say is known, too.
    failed: Vec<u32>,
    /// What happened in this turn.
    activity: Activity,
    failure: Failure,
    /// Until then no device is opened, and why none could be. [RDMA-52]
    unopened: Option<(Time, Why)>,
}

impl<D: Device, O> fmt::Debug for QueuePairs<D, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("QueuePairs");
        shown.field("connected", &self.connected).field("failure", &self.failure);
        shown.finish_non_exhaustive()
    }
}

impl<D: Device, O: FnMut() -> Result<D, OpenError>> QueuePairs<D, O> {
    /// None yet. `spin` is for how long they are polled after something came or left, before their node sleeps.
    #[must_use]
    pub fn new(open: O, spin: Duration) -> Self {
        Self {
            open,
            config: CONFIG,
            connected: None,
            gid: [0; 16],
            has_moved: false,
            connections: BTreeMap::new(),
            associations: BTreeMap::new(),
            line: Line::new(CONFIG.connections_max),
            left: Vec::new(),
            idle: Idle::new(spin),
            failed: Vec::new(),
            activity: Activity::default(),
            failure: Failure::default(),
            unopened: None,
        }
    }

    /// So many connections at a time.
    #[must_use]
    pub fn with_connections_max(mut self, connections: u16) -> Self {
        self.config.connections_max = connections;
        self.line = Line::new(connections);
        self
    }

    /// How many slots somebody keeps.
    #[cfg(test)]
    fn lent(&mut self) -> usize {
        self.connected.as_mut().map_or(0, Connected::lent)
    }

    fn end_all(&mut self, station: &Mutex<Station>, now: Time, why: Why) {
        self.associations.clear();
        for (association, connection) in std::mem::take(&mut self.connections) {
            self.line.forget(connection);
            if let Some(connected) = &mut self.connected {
                connected.end(connection);
            }
            station.lock().pair_ended(now, association, why);
        }
    }

    /// Polls once; says whether it took anything, so that there may be more, or room for more.
    fn poll(&mut self, station: &Mutex<Station>, now: Time) -> bool {
        let Some(connected) = &mut self.connected else { return false };
        let (associations, mut locked) = (&self.associations, None);
        // It has the lock with it, and no call of the system is made under that.
        let packets = connected.poll(move |connection, packet| {
            let station = locked.get_or_insert_with(|| station.lock());
            if let Some(association) = associations.get(&connection) {
                station.handle_paired(now, *association, packet);
            }
        });
        self.activity.received |= packets > 0;
        let has_taken = connected.has_taken();
        self.take_ended(station, now);
        has_taken
    }

    /// Ends what failed and has not said so itself.
    fn end_failed(&mut self, station: &Mutex<Station>, now: Time) {
        while let Some(connected) = &mut self.connected
            && let Some(qpn) = self.failed.pop()
        {
            connected.fail_pair(qpn);
        }
        self.take_ended(station, now);
    }

    fn take_ended(&mut self, station: &Mutex<Station>, now: Time) {
        while let Some(connected) = &mut self.connected
            && let Some((connection, why)) = connected.poll_ended()
        {
            self.line.forget(connection);
            if let Some(association) = self.associations.remove(&connection) {
                self.connections.remove(&association);
                station.lock().pair_ended(now, association, Why::Ended(why));
            }
        }
        // [RDMA-19]
        if self.connected.as_ref().is_some_and(Connected::has_failed) {
            self.end_all(station, now, Why::DeviceGone);
            self.close();
        }
    }

    /// Does what the station wants for an association with `who`; the attempt that it was for, and what became of it. Of a
    /// queue pair that is to be connected that is said [later](Self::poll_made).
    fn fulfil(
        &mut self,
        now: Time,
        association: AssociationId,
        who: PublicKey,
        want: Want,
    ) -> Option<(u64, Result<Terms, Why>)> {
        let (number, opened, peer) = match want {
            Want::End => {
                self.end(association);
                return None;
            }
            Want::Open { attempt, psn } => (attempt, self.open(now, association, psn), None),
            Want::Accept { attempt, psn, peer } => {
                (attempt, self.open(now, association, psn), Some(peer))
            }
            Want::Connect { attempt, peer } => {
                let id = self.connections.get(&association).copied();
                (attempt, id.ok_or(Why::DeviceGone), Some(peer))
            }
        };
        let opened = opened.and_then(|id| match peer {
            Some(peer) => {
                self.line.push(Attempt { who, id, number, peer });
                Ok(None)
            }
            None => self.terms(id).map(Some),
        });
        Some((number, opened.transpose()?))
    }

    /// An attempt whose queue pair was to be connected, and what became of it. [RDMA-51]
    fn poll_made(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Option<(AssociationId, u64, Result<Terms, Why>)> {
        self.left.retain_mut(|left| Pin::new(left).poll(cx).is_pending());
        loop {
            let connected = self.connected.as_mut()?;
            let begun = self.line.begin(self.left.len());
            let (id, made, became) = if let Some(Attempt { id, peer, .. }) = begun {
                match connected.connect_apart(id, &peer.endpoint, peer.receives) {
                    Ok(()) => continue,
                    Err(error) => (id, Err(error), Made::Not),
                }
            } else if let Poll::Ready((id, made)) = connected.poll_connected(cx) {
                // The peer is there, whatever ended it meanwhile.
                let is_there = matches!(made, Ok(()) | Err(ConnectionError::State));
                (id, made, if is_there { Made::Connected } else { Made::Not })
            } else {
                return None;
            };
            if crate::planted!("rdma-failure-kept": made.is_ok() => false) {
                self.failure.set(None);
            }
            let attempt = self.line.end(id, became);
            // Whoever ended it meanwhile knows.
            if let Some(&association) = self.associations.get(&id)
                && let Some(Attempt { number, who, .. }) = attempt
            {
                return Some((association, number, self.made(association, id, who, made)));
            }
        }
    }

    fn made(
        &mut self,
        of: AssociationId,
        id: ConnectionId,
        who: PublicKey,
        made: Result<(), ConnectionError>,
    ) -> Result<Terms, Why> {
        if let Err(error) = made {
            self.end(of);
            return Err(self.refused(&error, Some(who)));
        }
        self.terms(id)
    }

    /// The device refuses a queue pair; to which node, if that may be for what that node said of its end.
    fn refused(&mut self, error: &ConnectionError, to: Option<PublicKey>) -> Why {
        let is_short = error.is_short();
        let to = to.map(|to| format!("to {to}: ")).unwrap_or_default();
        self.failure.set(Some(to + &told(error) + if is_short { self.held() } else { "" }));
        if is_short { Why::NoMemory } else { Why::NotMade }
    }

    /// What else there may be to say of memory that is not to be had.
    fn held(&self) -> &'static str {
        if self.left.is_empty() { "" } else { HELD }
    }

    /// What this end says of a queue pair.
    fn terms(&self, id: ConnectionId) -> Result<Terms, Why> {
        let connected = self.connected.as_ref().ok_or(Why::DeviceGone)?;
        Ok(Terms {
            endpoint: connected.endpoint(id).ok_or(Why::DeviceGone)?,
            receives: connected.receives(),
            packet_bytes: u32::try_from(connected.packet_bytes_max()).unwrap_or(u32::MAX),
        })
    }

    fn take_made(&mut self, station: &Mutex<Station>, cx: &mut Context<'_>, now: Time) {
        while let Some((association, number, made)) = self.poll_made(cx) {
            station.lock().made(now, association, number, made);
        }
    }

    fn open(&mut self, now: Time, of: AssociationId, psn: u32) -> Result<ConnectionId, Why> {
        self.end(of);
        let connected = self.device(now)?;
        if !connected.device().port().is_ok_and(|port| port.is_up) {
            return Err(Why::PortDown);
        }
        let id = connected.open(psn).map_err(|error| self.refused(&error, None))?;
        self.connections.insert(of, id);
        self.associations.insert(id, of);
        Ok(id)
    }

    fn end(&mut self, association: AssociationId) {
        if let Some(id) = self.connections.remove(&association) {
            self.associations.remove(&id);
            self.line.forget(id);
            if let Some(connected) = &mut self.connected {
                connected.end(id);
            }
        }
    }

    /// Sends what the station has, as far as there is room.
    fn transmit(&mut self, station: &Mutex<Station>, now: Time) {
        let Some(connected) = &mut self.connected else { return };
        let connections = &self.connections;
        loop {
            let mut locked = station.lock();
            if locked.has_paired() && connected.is_short() {
                drop(locked);
                connected.make_room();
                locked = station.lock();
            }
            let mut station = locked;
            let mut has_room = |association| {
                connections.get(&association).is_some_and(|&id| connected.has_room(id))
            };
            let Some(of) = station.poll_paired(now, &mut has_room) else { break };
            let Some(&id) = connections.get(&of) else { break };
            // What is not sent is lost like any packet; that the connection ended is told below. The lock goes with what
            // fills the slot, before the doorbell rings.
            let sent = connected.send(id, move |slot| station.write_paired(of, slot));
            self.activity.sent |= sent.is_ok_and(|bytes| bytes > 0);
        }
        connected.flush();
        self.take_ended(station, now);
    }
}

impl<D: Device, O: FnMut() -> Result<D, OpenError>> Turn for QueuePairs<D, O> {
    fn receive(&mut self, station: &Mutex<Station>, cx: &mut Context<'_>, now: Time) {
        self.watch(station, cx, now);
        for _ in 0..POLLS_PER_TURN {
            if !self.poll(station, now) {
                break;
            }
        }
        if !self.failed.is_empty() {
            self.end_failed(station, now);
        }
        self.take_made(station, cx, now);
    }

    fn send(&mut self, station: &Mutex<Station>, cx: &mut Context<'_>, now: Time) {
        loop {
            let mut locked = station.lock();
            let Some((association, want)) = locked.poll_want() else { break };
            let who = locked.peer_of(association);
            drop(locked);
            let Some(who) = who else {
                self.end(association);
                continue;
            };
            if let Some((attempt, made)) = self.fulfil(now, association, who, want) {
                station.lock().made(now, association, attempt, made);
            }
        }
        self.take_made(station, cx, now);
        self.transmit(station, now);
        let activity = std::mem::take(&mut self.activity);
        let Some(connected) = &mut self.connected else { return };
        // Nothing comes, and to arm takes a call of the system.
        if connected.is_unused() {
            return;
        }
        // [RDMA-16]
        if self.idle.after_turn(now, activity) == Next::Poll {
            return cx.waker().wake_by_ref();
        }
        connected.arm();
        let has_taken = self.poll(station, now);
        let Some(connected) = &mut self.connected else { return };
        // What is taken now may have left its event behind, which nobody needs any more.
        let has_event = connected.poll_event(cx).is_ready();
        if has_taken || has_event {
            cx.waker().wake_by_ref();
        }
    }

    fn send_last(&mut self, station: &Mutex<Station>, now: Time) {
        self.transmit(station, now);
    }

    fn is_sending(&mut self, station: &Mutex<Station>, now: Time) -> bool {
        self.poll(station, now);
        self.connected.as_mut().is_some_and(Connected::is_sending)
    }

    fn failure(&self) -> Failure {
        self.failure.clone()
    }
}

#[cfg(test)]
mod tests;
#[cfg(test)]
mod world;
