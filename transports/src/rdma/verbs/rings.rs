//! The slots that a device has, in rings: which completion gives which slots back. Every implementation
//! keeps its slots in these, so that one place decides when memory may be touched again.
//!
//! Invariants, with sequences that ascend for ever:
//! 1. A slot is in the ring from its push until it is handed out, and is handed out once.
//! 2. Sends come back in the order in which they were pushed: a completion hands out its own slot and those
//!    before it, none behind it.
//! 3. A receive comes back for its own sequence alone; a completion that was seen does nothing.

use super::completion::{Direction, WorkId};

/// A ring has no room: what was to go into it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FullRing<S>(pub S);

/// The sends of a queue pair that are not known to be done.
#[derive(Debug)]
pub struct SendRing<S> {
    /// An inline send takes a place, and has no slot.
    slots: Box<[Option<S>]>,
    mask: u64,
    max: u64,
    owner: u16,
    first: u64,
    next: u64,
}

impl<S> SendRing<S> {
    /// For up to `max` sends. Allocates, as nothing after does.
    #[must_use]
    pub fn new(max: u32, owner: u16) -> Self {
        let places = u64::from(max.max(1)).next_power_of_two();
        let slots = (0..places).map(|_| None).collect();
        Self { slots, mask: places - 1, max: max.into(), owner, first: 0, next: 0 }
    }

    /// Counts from elsewhere than the rings of other queues, before anything is pushed: a completion of one that is gone, whose
    /// number and owner this one has, is of none of its sends.
    #[must_use]
    pub(in crate::rdma) fn of(mut self, queue: u64) -> Self {
        self.first = crate::planted!("rdma-sends-alike": beginning(queue) => 0);
        self.next = self.first;
        self
    }

    /// How many are not known to be done.
    #[must_use]
    #[expect(clippy::cast_possible_truncation, reason = "at most 2^32")]
    pub const fn len(&self) -> usize {
        (self.next - self.first) as usize
    }

    /// Whether all are known to be done.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.next == self.first
    }

    /// Whether there is no room for another.
    #[must_use]
    pub const fn is_full(&self) -> bool {
        self.next - self.first >= self.max
    }

    /// Keeps the slot of a send, or nothing for one that was copied, and gives the id to post it with.
    ///
    /// # Errors
    /// There is no room.
    pub fn push(&mut self, slot: Option<S>) -> Result<WorkId, FullRing<Option<S>>> {
        if self.is_full() {
            return Err(FullRing(slot));
        }
        let sequence = self.next;
        self.slots[(sequence & self.mask) as usize] = slot;
        self.next += 1;
        Ok(WorkId::new(Direction::Send, self.owner, sequence))
    }

    /// Whether this send is of this ring, and not known to be done.
    pub(in crate::rdma) const fn has(&self, work: WorkId) -> bool {
        let is_here = self.first <= work.sequence() && work.sequence() < self.next;
        matches!(work.direction(), Direction::Send) && work.owner() == self.owner && is_here
    }

    /// The slot of this send, for who plays the device.
    pub(in crate::rdma) fn get(&self, work: WorkId) -> Option<&S> {
        self.slots[(work.sequence() & self.mask) as usize].as_ref()
    }

    /// Hands out the slots of this send and all before it. Nothing if it was seen, or is not of this ring.
    pub fn release(&mut self, work: WorkId, mut back: impl FnMut(S)) {
        while let Some(slot) = self.take(work) {
            back(slot);
        }
    }

    /// The first slot that [`release`](Self::release) would hand out, if there is one.
    pub fn take(&mut self, work: WorkId) -> Option<S> {
        if !self.has(work) {
            return None;
        }
        // [RDMA-3] What is behind it, the device may still read.
        let end = crate::planted!("slot-early": work.sequence() + 1 => self.next);
        while self.first < end {
            let place = self.first & self.mask;
            self.first += 1;
            let slot = self.slots[place as usize].take();
            if slot.is_some() {
                return slot;
            }
        }
        None
    }

    /// Hands out all slots. Only once the device has forgotten the queue.
    pub fn release_all(&mut self, back: impl FnMut(S)) {
        self.slots.iter_mut().filter_map(Option::take).for_each(back);
        self.first = self.next;
    }
}

/// Where the sends of a queue begin: in the lower half of all sequences, so that there are enough, and far from where those
/// before and after it do, by the golden ratio.
pub(in crate::rdma) const fn beginning(queue: u64) -> u64 {
    queue.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 17
}

/// The most receives in one ring: a place has 16 bits of an id.
const RECEIVES_MAX: u32 = 1 << 16;

/// The receives of a queue that nothing has come into yet. Shared ones come back in any order.
#[derive(Debug)]
pub struct ReceiveRing<S> {
    places: Box<[Place<S>]>,
    /// Places without a slot.
    free: Vec<u16>,
    owner: u16,
    /// Receives pushed, in all.
    pushed: u64,
    /// Of those that came back, the one that was pushed last.
    latest: u64,
}

#[derive(Debug)]
struct Place<S> {
    /// How often it was used, to tell a completion from one of long ago.
    uses: u32,
    /// When it was pushed, among all.
    order: u64,
    slot: Option<S>,
}

impl<S> ReceiveRing<S> {
    /// For up to `max` receives, but no more than 65,536. Allocates, as nothing after does.
    #[must_use]
    #[expect(clippy::cast_possible_truncation, reason = "a place is below 65,536")]
    pub fn new(max: u32, owner: u16) -> Self {
        let max = max.min(RECEIVES_MAX);
        let places = (0..max).map(|_| Place { uses: 0, order: 0, slot: None }).collect();
        let free = (0..max).rev().map(|place| place as u16).collect();
        Self { places, free, owner, pushed: 0, latest: 0 }
    }

    /// How many are posted.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.places.len() - self.free.len()
    }

    /// Whether none is posted.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Keeps a slot to receive into, and gives the id to post it with.
    ///
    /// # Errors
    /// There is no room.
    pub fn push(&mut self, slot: S) -> Result<WorkId, FullRing<S>> {
        let Some(index) = self.free.pop() else { return Err(FullRing(slot)) };
        let place = &mut self.places[usize::from(index)];
        self.pushed += 1;
        place.uses = place.uses.wrapping_add(1);
        place.order = self.pushed;
        place.slot = Some(slot);
        // The place is in the low bits, so that it is found without looking.
        let sequence = u64::from(place.uses) << 16 | u64::from(index);
        Ok(WorkId::new(Direction::Receive, self.owner, sequence))
    }

    /// The slot of this receive, for who plays the device.
    #[expect(clippy::cast_possible_truncation, reason = "the place is in the low bits")]
    pub(in crate::rdma) fn get_mut(&mut self, work: WorkId) -> Option<&mut S> {
        self.places.get_mut(usize::from(work.sequence() as u16))?.slot.as_mut()
    }

    /// The slot of this receive. None if it was seen, or is not of this ring.
    #[expect(clippy::cast_possible_truncation, reason = "what is above the place is looked at too")]
    pub fn take(&mut self, work: WorkId) -> Option<S> {
        if work.direction() != Direction::Receive || work.owner() != self.owner {
            return None;
        }
        let index = work.sequence() as u16;
        let place = self.places.get_mut(usize::from(index))?;
        if u64::from(place.uses) != work.sequence() >> 16 {
            return None;
        }
        let slot = place.slot.take()?;
        self.latest = self.latest.max(place.order);
        self.free.push(index);
        Some(slot)
    }

    /// How many were pushed before one that came back, and did not come back: a device takes them in order, so these
    /// are under way, or were lost with a queue pair. Looks at all.
    #[must_use]
    pub fn overtaken(&self) -> usize {
        let is_overtaken = |place: &&Place<S>| place.slot.is_some() && place.order < self.latest;
        self.places.iter().filter(is_overtaken).count()
    }

    /// Hands out all slots. Only once the device has forgotten the queue.
    pub fn take_all(&mut self, mut back: impl FnMut(S)) {
        for (index, place) in (0..).zip(&mut self.places) {
            if let Some(slot) = place.slot.take() {
                self.free.push(index);
                back(slot);
            }
        }
    }
}

#[cfg(test)]
mod tests;
