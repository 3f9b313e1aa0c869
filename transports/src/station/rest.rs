//! When lines are looked at, and when they rest.

use super::Station;
use crate::link::Time;
use crate::secure::endpoint::AssociationId;
use greenroom::net::NodeId;
use std::task::Waker;
use std::time::Duration;

impl Station {
    /// The time that it was told last.
    #[must_use]
    pub fn now(&self) -> Time {
        self.now
    }

    /// Looks at a line before it rests.
    pub(super) fn touch(&mut self, id: AssociationId) {
        if let Some(line) = self.lines.get_mut(&id)
            && !std::mem::replace(&mut line.is_touched, true)
        {
            let is_paired = line.is_paired;
            let touched = if is_paired { &mut self.pairs.touched } else { &mut self.touched };
            touched.push_back(id);
            self.wake_driver();
        }
    }

    /// How long the way to a node and back takes, if there is a line to it on which that was measured.
    #[must_use]
    pub fn round_trip(&self, node: NodeId) -> Option<Duration> {
        let mut lines = self.lines.values();
        let line = lines.find(|line| line.peer.node == node && line.is_open())?;
        line.lane.round_trip()
    }

    /// Has the driver look, soon.
    pub fn tell_driver(&mut self) {
        if !self.wake_driver() {
            self.is_told = true;
        }
    }

    /// The driver, if it is to be woken. Of what [`Station::submit`] does nobody else is to hear.
    pub fn take_driver_wake(&mut self) -> Option<Waker> {
        self.wakes.driver.take()
    }

    /// Has the driver woken if it waits; `false` if it does not.
    pub(super) fn wake_driver(&mut self) -> bool {
        let driver = self.driver.take();
        let waits = driver.is_some();
        self.wakes.driver = driver.or_else(|| self.wakes.driver.take());
        waits
    }

    /// Passes on what has happened to a line.
    pub(super) fn settle(&mut self, id: AssociationId) {
        if let Some(line) = self.lines.get_mut(&id) {
            line.settle(self.now, &mut self.wakes.wakers);
        }
        self.note_end(id);
    }

    /// Notes how the lane of a line has ended, once.
    fn note_end(&mut self, id: AssociationId) {
        let Some(line) = self.lines.get_mut(&id) else { return };
        if let Some(end) = crate::planted!("link-ends-unsaid": line.lane_end.take() => None) {
            self.endpoint.end_link(self.now, id, line.key, end);
        }
    }

    /// A line has nothing more to send for now.
    pub(super) fn rest(&mut self, id: AssociationId) {
        let Some(line) = self.lines.get_mut(&id) else { return };
        line.is_touched = false;
        let is_closed = line.settle(self.now, &mut self.wakes.wakers);
        if line.lane_end.is_some() {
            self.note_end(id);
        }
        if is_closed {
            return self.touch(id);
        }
        let Some(line) = self.lines.get_mut(&id) else { return };
        if line.is_paired && self.ends_by_udp(id) {
            return self.touch(id);
        }
        let Some(line) = self.lines.get_mut(&id) else { return };
        // One that moves on with each packet is not followed: a look that is too early costs less.
        if let Some(due) = line.timeout()
            && line.deadline.is_none_or(|known| due < known)
        {
            self.schedule(id, Some(due));
        }
        let Some(line) = self.lines.get_mut(&id) else { return };
        if line.is_finished() {
            let (key, is_owned) = (line.key, line.is_owned);
            self.endpoint.close(self.now, id);
            self.drop_pair(id);
            if !is_owned && !self.fresh.contains(&id) {
                self.lines.remove(&id);
            }
            self.begin(&key);
        }
    }

    /// Has a line looked at then.
    pub(super) fn schedule(&mut self, id: AssociationId, deadline: Option<Time>) {
        let Some(line) = self.lines.get_mut(&id) else { return };
        let before = std::mem::replace(&mut line.deadline, deadline);
        before.map(|due| self.deadlines.remove(&(due, id)));
        deadline.map(|due| self.deadlines.insert((due, id)));
    }
}
