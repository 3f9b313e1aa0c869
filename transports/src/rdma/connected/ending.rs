//! How connections end: one by one, or all with the device.

use super::super::ended::Ended;
use super::super::verbs::{Completion, Device, DeviceError, Outcome};
use super::link::Link;
use super::shared::Memory;
use super::{Connected, ConnectionId};

impl<D: Device> Connected<D> {
    pub(super) fn fail_all(&mut self, why: Ended) {
        self.has_failed = true;
        for index in (0..).take(self.places.len()) {
            self.fail(index, why);
        }
        self.fail_away(why);
        // The device says nothing more of them.
        for link in std::mem::take(&mut self.leaving) {
            self.let_go(link);
        }
    }

    pub(super) fn fail(&mut self, index: u16, why: Ended) {
        self.fail_later(index, why);
        self.drain_failed();
    }

    /// The queue pair with that number has failed, which it says itself only where something was under way. [RDMA-15]
    pub(in crate::rdma) fn fail_pair(&mut self, qpn: u32) {
        if let Some(&index) = self.routes.get(&qpn) {
            self.fail(index, Ended::Device(DeviceError::Failed));
        }
    }

    /// As [`fail`](Self::fail), but nothing is asked of the device before [`drain_failed`](Self::drain_failed).
    pub(super) fn fail_later(&mut self, index: u16, why: Ended) {
        let use_count = self.places[usize::from(index)].use_count;
        if let Some(link) = self.take_out(index) {
            self.ended.push_back((ConnectionId { index, use_count }, why));
            self.failed.push(link);
        }
    }

    pub(super) fn drain_failed(&mut self) {
        while let Some(link) = self.failed.pop() {
            self.leave(link);
        }
    }

    pub(super) fn close(&mut self, index: u16) {
        if let Some(link) = self.take_out(index) {
            self.leave(link);
        }
    }

    fn take_out(&mut self, index: u16) -> Option<Link<D>> {
        self.dirty.retain(|&it| it != index);
        self.waiting.retain(|&it| it != index);
        let link = self.places[usize::from(index)].link.take()?;
        self.routes.remove(&link.qpn());
        Some(link)
    }

    /// How many queue pairs are left of connections that ended.
    pub(super) fn leaving(&self) -> usize {
        self.failed.len() + self.leaving.len()
    }

    /// Its queue pair fails, and goes once everything of it was said.
    pub(super) fn leave(&mut self, mut link: Link<D>) {
        if link.was_connected() && link.drain().is_ok() {
            self.leaving.push(link);
        } else {
            self.let_go(link);
        }
    }

    /// Lets go of queue pairs of which everything was said.
    pub(super) fn reap(&mut self) {
        let mut at = 0;
        while let Some(link) = self.leaving.get(at) {
            if !crate::planted!("rdma-drain-skipped": link.is_drained() => true) {
                at += 1;
                continue;
            }
            let link = self.leaving.swap_remove(at);
            self.let_go(link);
        }
        // [RDMA-19] Without traffic nobody will ever know, and memory must not run out over it.
        if self.shared.has_lost_many() {
            self.fail_all(Ended::Lost);
        }
    }

    fn let_go(&mut self, link: Link<D>) {
        let (claimed, was_connected) = (link.claimed(), link.was_connected());
        link.end(&mut self.memory.spare);
        // [RDMA-18]
        self.shared.on_gone(claimed, was_connected);
        self.retry();
    }

    /// Whether there is no connection, nor a queue pair that is left of one.
    pub(in crate::rdma) fn is_unused(&self) -> bool {
        self.routes.is_empty() && self.away.is_empty() && self.leaving() == 0
    }

    /// While there is no connection, a new queue of receives takes the place of one that may have lost some, and with it comes
    /// back what was lost.
    pub(super) fn renew(&mut self) {
        let is_whole = self.shared.uncertain() == 0;
        if !self.is_unused() || crate::planted!("rdma-doubts-stay": is_whole => true) {
            return;
        }
        // [RDMA-19]
        let made = self.shared.renewed(&self.device);
        // If there is no other one, the old one does as before.
        if let Ok(made) = made {
            self.shared = made;
            self.memory = Memory::new(self.config.slot_bytes);
            self.lending.renew();
        }
    }
}

/// What a completion says went wrong.
pub(super) fn failure(completion: &Completion) -> Option<Ended> {
    let outcome = completion.outcome;
    let failed = crate::planted!("rdma-failure-ignored": outcome != Outcome::Done => false);
    let is_ready = outcome != Outcome::ReceiverNotReady;
    let failed = crate::planted!("rdma-not-ready-ignored": failed => failed && is_ready);
    failed.then_some(Ended::Failed(outcome))
}
