//! The receives that all connections of a worker take from, and what is known of them.
//!
//! Invariants:
//! 1. What connections have claimed is posted, or is being posted again within this turn. [RDMA-17]
//! 2. A connection that ended gives back what it had claimed only once its queue pair is gone. Of its receives only the
//!    one of a message that was half there can be lost then: one less counts as posted, until as many came back as
//!    were posted at the time. Whatever is still overtaken then is lost, or comes back later. [RDMA-18]
//! 3. What may be lost is bounded: while no queue pair is left there is a new queue, and none may be lost; and with
//!    too many, all connections end. [RDMA-19]

use super::super::pool::Pool;
use super::super::verbs::{Completion, CreateError, Device, DeviceError, OWNER_MAX, Receives};
use super::ConnectionError;
use std::collections::VecDeque;

/// Slots that are registered at a time.
pub(in crate::rdma) const SLAB: usize = 32;

/// Slots that are not posted while there are no others, for without sends everything stands still.
pub(super) const KEPT: usize = 4;

/// Queues that follow each other have owners from the highest down, so many of them: above those of queue pairs.
const OWNERS: u16 = 256;

/// So many connections at most have an owner each.
pub(in crate::rdma) const CONNECTIONS_MAX: u16 = OWNER_MAX - OWNERS;

/// So often at most no more memory is asked for, once there was none.
const PAUSE_MAX: u32 = 4096;

/// So many queue pairs may have ended of which nobody knows what they lost, however few connections there may be.
const DOUBTS_MIN: usize = 64;

/// More than that of so many receives are not to be lost.
const fn many(depth: u32) -> usize {
    depth as usize / 4
}

/// Memory that nobody uses now.
#[derive(Debug)]
pub(super) struct Memory<D: Device> {
    pub(super) spare: Vec<D::Slot>,
    slot_bytes: usize,
    /// Whether no more was to be had, since a connection ended or was opened.
    pub(super) is_out: bool,
    /// So often it is not asked for more from now on, and was not after it was asked for in vain the last time.
    wait: u32,
    pause: u32,
}

impl<D: Device> Memory<D> {
    pub(super) const fn new(slot_bytes: usize) -> Self {
        Self { spare: Vec::new(), slot_bytes, is_out: false, wait: 0, pause: 0 }
    }

    /// There may be more again.
    pub(super) const fn retry(&mut self) {
        (self.is_out, self.wait, self.pause) = (false, 0, 0);
    }

    /// Whether there is one to send from, if need be a new one.
    pub(super) fn has_spare(&mut self, device: &D) -> bool {
        if self.is_short() {
            // Without it there is no room for now.
            let _ = self.ensure(device, 1);
        }
        !self.spare.is_empty()
    }

    /// Whether there is none to send from, and there may be more.
    pub(super) const fn is_short(&self) -> bool {
        self.spare.is_empty() && !self.is_out
    }

    /// Whether there may be more to post.
    pub(super) const fn may_post(&self) -> bool {
        !self.is_out || self.spare.len() > KEPT
    }

    /// So many more, for who can do without them; says whether there were.
    pub(super) fn extend(&mut self, device: &D, count: usize) -> bool {
        let made = device.register(count, self.slot_bytes);
        let is_made = made.is_ok();
        self.spare.extend(made.into_iter().flatten());
        is_made
    }

    /// Sees to it that so many are spare. What is not to be had is asked for ever more seldom, for the system is asked
    /// each time.
    fn ensure(&mut self, device: &D, count: usize) -> Result<(), ConnectionError> {
        if self.spare.len() >= count {
            return Ok(());
        }
        if crate::planted!("rdma-memory-always-asked": self.wait > 0 => false) {
            self.wait -= 1;
            return Err(ConnectionError::NoReceives);
        }
        let missing = (count - self.spare.len()).max(SLAB);
        match device.register(missing, self.slot_bytes) {
            Ok(slots) => {
                self.spare.extend(slots);
                self.retry();
                Ok(())
            }
            Err(error) => {
                self.is_out = true;
                self.pause = (self.pause * 2).clamp(1, PAUSE_MAX);
                self.wait = self.pause;
                Err(error.into())
            }
        }
    }
}

#[derive(Debug)]
pub(super) struct Shared<D: Device> {
    pub(super) queue: D::SharedReceives,
    /// By which completions tell it from the one before.
    owner: u16,
    depth: u32,
    pub(super) pool: Pool,
    /// Receives that came back, in all.
    taken: u64,
    /// For each queue pair that ended lately, how many will have come back once it is known what it lost.
    doubts: VecDeque<u64>,
    /// So many of these at most.
    doubts_max: usize,
    /// Receives that nothing comes into any more, as far as is known.
    lost: usize,
    /// Whether receives wait for the doorbell.
    is_waiting: bool,
}

impl<D: Device> Shared<D> {
    /// So many, for so many connections at a time: all of them may end at once, and take no other one along. [RDMA-19]
    pub(super) fn new(device: &D, depth: u32, connections: u16) -> Result<Self, CreateError> {
        let doubts_max = usize::from(connections).min(many(depth)).max(DOUBTS_MIN);
        Self::owned_by(device, depth, doubts_max, OWNER_MAX)
    }

    fn owned_by(
        device: &D,
        depth: u32,
        doubts_max: usize,
        owner: u16,
    ) -> Result<Self, CreateError> {
        let queue = device.shared_receives(depth, owner)?;
        Ok(Self {
            queue,
            owner,
            depth,
            pool: Pool::default(),
            taken: 0,
            doubts: VecDeque::new(),
            doubts_max,
            lost: 0,
            is_waiting: false,
        })
    }

    /// One to take its place. A completion of this one that is still to come finds no slot there.
    pub(super) fn renewed(&self, device: &D) -> Result<Self, CreateError> {
        let is_lowest = self.owner <= OWNER_MAX - OWNERS;
        let owner = if is_lowest { OWNER_MAX } else { self.owner - 1 };
        Self::owned_by(device, self.depth, self.doubts_max, owner)
    }

    /// How many that are posted may never be filled.
    pub(super) fn uncertain(&self) -> usize {
        self.lost + self.doubts.len()
    }

    /// Whether too many may be lost: so many are in doubt, or a quarter of all. Fewer than that may only be late.
    pub(super) fn has_lost_many(&mut self) -> bool {
        let many = many(self.depth);
        if self.lost > many {
            self.lost = self.queue.receives_overtaken();
        }
        self.doubts.len() > self.doubts_max || self.lost > many
    }

    /// The slot that a completion filled.
    pub(super) fn received(&mut self, completion: &Completion) -> Option<D::Slot> {
        let slot = self.queue.received(completion)?;
        self.taken += 1;
        Some(slot)
    }

    /// Posts it again; with what else waits, at [`ring`](Self::ring).
    pub(super) fn post(&mut self, slot: D::Slot, memory: &mut Memory<D>) {
        match self.queue.push_receive(slot) {
            Ok(()) => self.is_waiting = true,
            Err(error) => memory.spare.push(error.into_slot()),
        }
    }

    /// Rings the doorbell; from then on what was posted is for peers to use.
    pub(super) fn ring(&mut self) -> Result<(), DeviceError> {
        if std::mem::take(&mut self.is_waiting) {
            self.queue.ring_receives()?;
        }
        while self.doubts.front().is_some_and(|&known| known <= self.taken) {
            self.doubts.pop_front();
            self.lost = self.queue.receives_overtaken();
        }
        self.count();
        Ok(())
    }

    fn count(&mut self) {
        let certain = self.queue.receives_posted().saturating_sub(self.uncertain());
        self.pool.set_posted(u32::try_from(certain).unwrap_or(u32::MAX));
    }

    /// Sees to it that so many are free: posts more, from spare memory or new one, as far as there is room.
    pub(super) fn ensure(
        &mut self,
        device: &D,
        memory: &mut Memory<D>,
        count: u32,
    ) -> Result<(), ConnectionError> {
        if self.lost > 0 {
            // Some of them may only have been late.
            self.lost = self.queue.receives_overtaken();
            self.ring()?;
        }
        if self.pool.free() >= count {
            return Ok(());
        }
        let least = (self.pool.missing() + count - self.pool.free()) as usize;
        let room = self.depth as usize - self.queue.receives_posted();
        let wanted = least.max(SLAB - KEPT).min(room);
        let ensured = memory.ensure(device, wanted + KEPT);
        let spare = memory.spare.len().saturating_sub(KEPT);
        if spare < least.min(room) {
            ensured?;
        }
        for _ in 0..wanted.min(spare) {
            let Some(slot) = memory.spare.pop() else { break };
            self.post(slot, memory);
        }
        Ok(self.ring()?)
    }

    /// A queue pair is gone, which had claimed so many; one that was connected may have taken a receive along.
    pub(super) fn on_gone(&mut self, claimed: u32, was_connected: bool) {
        self.pool.release(claimed);
        if was_connected {
            self.doubts.push_back(self.taken + self.queue.receives_posted() as u64 + 1);
            self.count();
        }
    }
}
