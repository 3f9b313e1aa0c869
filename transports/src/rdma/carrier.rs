//! The queue pairs of a node's links: between a [`Station`], which has no I/O, and a device that may come and go.
//!
//! Each turn first takes what came, then does what the station wants, sends what it has, and polls again while an
//! answer may be near. It sleeps only after it has armed the completion queue and polled once more.

use super::connected::{Config, Connected, ConnectionId};
use super::idle::{Activity, Idle, Next};
use super::verbs::{Device, DeviceError, DeviceEvent, OpenError, Timing};
use crate::link::Time;
use crate::secure::endpoint::AssociationId;
use crate::station::{DATAGRAM_BYTES_MAX, Station, Terms, Want, Why};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::fmt;
use std::task::{Context, Poll};
use std::time::Duration;

/// Polls that find something, until others have their turn.
const POLLS_PER_TURN: u32 = 8;

/// Whatever takes longer to connect, the system has looked for its peer meanwhile.
const LOOKED_FOR: Duration = Duration::from_millis(50);

/// So many times as long no queue pair is made afterwards, so that a node stands still for a twentieth of the time; but for
/// no longer than that.
const RESTS: u32 = 20;
const REST_MAX: Duration = Duration::from_secs(60);

/// A device that did not open is not tried again for so long: to look for it takes some time, and whoever has none has none
/// for each of its peers.
const OPEN_AGAIN: Duration = Duration::from_secs(1);

/// What a node's queue pairs are like: slots for the longest packets there are, and a peer that does not answer is
/// given up after two seconds, long before its link is.
pub(super) const CONFIG: Config = Config {
    connections_max: 256,
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

    /// Takes what came, and says whether packets that were sent have not left yet: for a node that sends no more.
    fn is_sending(&mut self, _station: &Mutex<Station>, _now: Time) -> bool {
        false
    }

    /// Why there is no device, if none could be opened.
    fn failure(&self) -> Option<String>;
}

/// The queue pairs of a node. `open` opens its device, again and again if that goes away.
pub struct QueuePairs<D: Device, O> {
    open: O,
    connected: Option<Connected<D>>,
    /// What its port was reached by when it was opened.
    gid: [u8; 16],
    /// Whether its port is reached by something else by now, or by nothing.
    has_moved: bool,
    connections: BTreeMap<AssociationId, ConnectionId>,
    associations: BTreeMap<ConnectionId, AssociationId>,
    idle: Idle,
    /// What happened in this turn.
    activity: Activity,
    failure: Option<String>,
    /// Until then no queue pair is made. [RDMA-51]
    rests_until: Time,
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
            connected: None,
            gid: [0; 16],
            has_moved: false,
            connections: BTreeMap::new(),
            associations: BTreeMap::new(),
            idle: Idle::new(spin),
            activity: Activity::default(),
            failure: None,
            rests_until: Time::default(),
            unopened: None,
        }
    }

    /// The device, opened now if it is not, or if its port is reached by something else by now. Until that can be
    /// done the old one stays, to tell what becomes of its port.
    fn device(&mut self, now: Time) -> Result<&mut Connected<D>, Why> {
        if self.connected.is_none() || self.has_moved {
            if let Some((until, why)) = self.unopened
                && now < until
            {
                return Err(why);
            }
            self.unopened = self.reopen().err().map(|why| (now + OPEN_AGAIN, why));
            if let Some((_, why)) = self.unopened {
                return Err(why);
            }
        }
        self.connected.as_mut().ok_or(Why::NoDevice)
    }

    fn reopen(&mut self) -> Result<(), Why> {
        let opened = (self.open)().map_err(|error| {
            self.failure = Some(error.to_string());
            if matches!(error, OpenError::PortDown(_)) { Why::PortDown } else { Why::NoDevice }
        })?;
        let gid = opened.port().map(|port| port.gid);
        // Its memory is pinned, of which there may not be enough for both.
        self.connected = None;
        let made = Connected::new(opened, CONFIG).map_err(|error| {
            self.failure = Some(error.to_string());
            Why::NoDevice
        })?;
        self.failure = None;
        (self.gid, self.has_moved) = (gid.unwrap_or_default(), false);
        self.connected = Some(made);
        Ok(())
    }

    /// What happened to the device.
    fn watch(&mut self, station: &Mutex<Station>, cx: &mut Context<'_>, now: Time) {
        while let Some(connected) = &mut self.connected
            && let Poll::Ready(event) = connected.device().poll_event(cx)
        {
            match event {
                Ok(
                    DeviceEvent::Gone
                    | DeviceEvent::ReceivesFailed
                    | DeviceEvent::CompletionsFailed,
                )
                | Err(_) => {
                    self.end_all(station, now, Why::DeviceGone);
                    self.connected = None;
                }
                Ok(DeviceEvent::PortDown) => self.end_all(station, now, Why::PortDown),
                Ok(DeviceEvent::PortUp | DeviceEvent::GidsChanged) => {
                    self.unopened = None;
                    self.look_at_port(station, now);
                    station.lock().retry_pairs(now);
                }
                // A queue pair says so itself.
                Ok(_) => {}
            }
        }
    }

    /// Where nobody finds the port any more by what peers were told, no queue pair is of any use. A port that cannot be
    /// asked any more is being taken away, for which the kernel may wait until the device is closed. [RDMA-19]
    fn look_at_port(&mut self, station: &Mutex<Station>, now: Time) {
        let Some(port) = self.connected.as_mut().map(|it| it.device().port()) else { return };
        let is_gone =
            crate::planted!("rdma-device-kept": matches!(port, Err(DeviceError::Gone)) => false);
        self.has_moved = port.is_ok_and(|port| port.gid != self.gid);
        if self.has_moved || is_gone {
            self.end_all(station, now, Why::DeviceGone);
        }
        if is_gone {
            self.connected = None;
        }
    }

    fn end_all(&mut self, station: &Mutex<Station>, now: Time, why: Why) {
        self.associations.clear();
        for (association, connection) in std::mem::take(&mut self.connections) {
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
        let packets = connected.poll(|connection, packet| {
            let station = locked.get_or_insert_with(|| station.lock());
            if let Some(association) = associations.get(&connection) {
                station.handle_paired(now, *association, packet);
            }
        });
        drop(locked);
        self.activity.received |= packets > 0;
        let has_taken = connected.has_taken();
        self.take_ended(station, now);
        has_taken
    }

    fn take_ended(&mut self, station: &Mutex<Station>, now: Time) {
        while let Some(connected) = &mut self.connected
            && let Some((connection, why)) = connected.poll_ended()
        {
            if let Some(association) = self.associations.remove(&connection) {
                self.connections.remove(&association);
                station.lock().pair_ended(now, association, Why::Ended(why));
            }
        }
        // [RDMA-19]
        if self.connected.as_ref().is_some_and(Connected::has_failed) {
            self.end_all(station, now, Why::DeviceGone);
            self.connected = None;
        }
    }

    /// Does what the station wants; the attempt that it was for, and what became of it.
    fn fulfil(
        &mut self,
        now: Time,
        association: AssociationId,
        want: Want,
    ) -> Option<(u64, Result<Terms, Why>)> {
        let rests = crate::planted!("rdma-connects-on": now < self.rests_until => false);
        let made = match want {
            Want::End => {
                self.end(association);
                return None;
            }
            _ if rests => {
                self.end(association);
                Err(Why::NotMade)
            }
            Want::Open { psn, .. } => self.open(now, association, psn).map(|(_, terms)| terms),
            Want::Accept { psn, peer, .. } => {
                self.open(now, association, psn).and_then(|(id, own)| {
                    self.connect(now, association, id, &peer)?;
                    Ok(own)
                })
            }
            Want::Connect { peer, .. } => match self.connections.get(&association).copied() {
                Some(id) => self.connect(now, association, id, &peer),
                None => Err(Why::DeviceGone),
            },
        };
        Some((want.attempt()?, made))
    }

    fn open(
        &mut self,
        now: Time,
        of: AssociationId,
        psn: u32,
    ) -> Result<(ConnectionId, Terms), Why> {
        self.end(of);
        let connected = self.device(now)?;
        if !connected.device().port().is_ok_and(|port| port.is_up) {
            return Err(Why::PortDown);
        }
        let opened = connected.open(psn).map_err(|error| error.to_string());
        let opened = opened.and_then(|id| {
            let terms = terms(connected, id).ok_or("the queue pair has ended")?;
            Ok((id, terms))
        });
        let (id, terms) = opened.map_err(|text| {
            self.failure = Some(text);
            Why::NotMade
        })?;
        self.connections.insert(of, id);
        self.associations.insert(id, of);
        Ok((id, terms))
    }

    fn connect(
        &mut self,
        now: Time,
        of: AssociationId,
        id: ConnectionId,
        peer: &Terms,
    ) -> Result<Terms, Why> {
        let connected = self.connected.as_mut().ok_or(Why::DeviceGone)?;
        let began = connected.device().now();
        let made = connected.connect(id, &peer.endpoint, peer.receives);
        // The other peers would wait for as long again with each that is nowhere. [RDMA-51]
        let took = connected.device().now().since(began);
        if took > LOOKED_FOR {
            self.rests_until = now + (took * RESTS).min(REST_MAX);
        }
        match made {
            Ok(()) => terms(connected, id).ok_or(Why::DeviceGone),
            Err(error) => {
                self.failure = Some(error.to_string());
                self.end(of);
                Err(Why::NotMade)
            }
        }
    }

    fn end(&mut self, association: AssociationId) {
        if let Some(id) = self.connections.remove(&association) {
            self.associations.remove(&id);
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
            let mut has_room = |association| {
                connections.get(&association).is_some_and(|&id| connected.has_room(id))
            };
            let mut station = station.lock();
            let Some(of) = station.poll_paired(now, &mut has_room) else { break };
            let Some(&id) = connections.get(&of) else { break };
            // What is not sent is lost like any packet; that the connection ended is told below.
            let sent = connected.send(id, |slot| station.write_paired(of, slot));
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
    }

    fn send(&mut self, station: &Mutex<Station>, cx: &mut Context<'_>, now: Time) {
        loop {
            let Some((association, want)) = station.lock().poll_want() else { break };
            if let Some((attempt, made)) = self.fulfil(now, association, want) {
                station.lock().made(now, association, attempt, made);
            }
        }
        self.transmit(station, now);
        let activity = std::mem::take(&mut self.activity);
        let Some(connected) = &mut self.connected else { return };
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

    fn is_sending(&mut self, station: &Mutex<Station>, now: Time) -> bool {
        self.poll(station, now);
        self.connected.as_mut().is_some_and(Connected::is_sending)
    }

    fn failure(&self) -> Option<String> {
        self.failure.clone()
    }
}

/// What this end says of a queue pair.
fn terms<D: Device>(connected: &Connected<D>, id: ConnectionId) -> Option<Terms> {
    Some(Terms {
        endpoint: connected.endpoint(id)?,
        receives: connected.receives(),
        packet_bytes: u32::try_from(connected.packet_bytes_max()).unwrap_or(u32::MAX),
    })
}

#[cfg(test)]
mod tests;
#[cfg(test)]
mod world;
