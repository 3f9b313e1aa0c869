//! The device of a node's queue pairs: when it is opened, and what becomes of it.

use super::QueuePairs;
use crate::link::Time;
use crate::rdma::connected::Connected;
use crate::rdma::verbs::{Device, DeviceError, DeviceEvent, OpenError, told};
use crate::station::{Station, Why};
use parking_lot::Mutex;
use std::net::Ipv6Addr;
use std::task::{Context, Poll};
use std::time::Duration;

/// A device that did not open is not tried again for so long: to look for it takes some time, and whoever has none has none
/// for each of its peers.
const OPEN_AGAIN: Duration = Duration::from_secs(1);

impl<D: Device, O: FnMut() -> Result<D, OpenError>> QueuePairs<D, O> {
    /// The device, opened now if it is not, or if its port is reached by something else by now. Until that can be
    /// done the old one stays, to tell what becomes of its port.
    pub(super) fn device(&mut self, now: Time) -> Result<&mut Connected<D>, Why> {
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
            self.failure.set(Some(told(&error)));
            if matches!(error, OpenError::PortDown(_)) { Why::PortDown } else { Why::NoDevice }
        })?;
        let gid = opened.port().map(|port| port.gid);
        // Its memory is pinned, of which there may not be enough for both. What queue pairs have that are being connected stays
        // so for a second more.
        self.close();
        let made = Connected::new(opened, self.config).map_err(|error| {
            self.failure.set(Some(told(&error) + self.held()));
            if error.is_short() { Why::NoMemory } else { Why::NoDevice }
        })?;
        self.failure.set(None);
        (self.gid, self.has_moved) = (gid.unwrap_or_default(), false);
        self.connected = Some(made);
        Ok(())
    }

    /// Closes the device. It stays open until the system has found, or not, the peers of queue pairs that are being
    /// connected. [RDMA-9]
    pub(super) fn close(&mut self) {
        let closed = self.connected.take();
        self.left.extend(closed.into_iter().flat_map(Connected::into_away));
        self.failed.clear();
        self.line.clear();
    }

    /// What happened to the device.
    pub(super) fn watch(&mut self, station: &Mutex<Station>, cx: &mut Context<'_>, now: Time) {
        let mut may_serve = false;
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
                    self.close();
                }
                Ok(DeviceEvent::PortDown) => self.end_all(station, now, Why::PortDown),
                Ok(DeviceEvent::PortUp | DeviceEvent::GidsChanged) => may_serve = true,
                Ok(DeviceEvent::QueuePairFailed { qpn }) => self.failed.push(qpn),
                Ok(DeviceEvent::Other(_)) => {}
            }
        }
        if may_serve {
            self.unopened = None;
            self.look_at_port(station, now);
            station.lock().retry_pairs(now);
        }
    }

    /// Where nobody finds the port any more by what peers were told, no queue pair is of any use; nor for long where it has a
    /// better address by now, by which those find it that do not by the old one. A port that cannot be asked any more is being
    /// taken away, for which the kernel may wait until the device is closed. [RDMA-19]
    fn look_at_port(&mut self, station: &Mutex<Station>, now: Time) {
        let Some(port) = self.connected.as_mut().map(|it| it.device().port()) else { return };
        let is_gone =
            crate::planted!("rdma-device-kept": matches!(port, Err(DeviceError::Gone)) => false);
        // What cannot be told leaves what was seen before.
        if let Ok(port) = port {
            self.has_moved = port.gid != self.gid || self.has_better();
        }
        if self.has_moved || is_gone {
            self.end_all(station, now, Why::DeviceGone);
        }
        if is_gone {
            self.close();
        }
    }

    /// Whether the device was opened by an address of the link, and would be by one of a network now. Others that would be chosen
    /// now are no better than the one that serves. [RDMA-53]
    fn has_better(&mut self) -> bool {
        let is_of_link = |gid: [u8; 16]| Ipv6Addr::from(gid).is_unicast_link_local();
        if !is_of_link(self.gid) {
            return false;
        }
        let port = (self.open)().ok().and_then(|device| device.port().ok());
        let has_better = port.is_some_and(|port| port.is_up && !is_of_link(port.gid));
        crate::planted!("rdma-address-kept": has_better => false)
    }
}
