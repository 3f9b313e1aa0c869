//! A ring per worker, and thieves.

use super::locked::Outside;
use super::ready::ReadySlots;
use crate::queue::ring::Ring;
use crate::sync::{AtomicBool, CachePadded, Mutex, Ordering};

/// A ring per worker, from which idle workers take half, and a locked queue for everyone else.
///
/// Workers reach their rings through [`Coordinator::worker`](super::Coordinator::worker).
#[derive(Debug)]
pub struct Stealing {
    lanes: Box<[Lane]>,
    outside: CachePadded<Outside>,
    /// What is stolen for nobody in particular passes through here; empty otherwise.
    spare: CachePadded<Mutex<Ring>>,
}

#[derive(Debug)]
struct Lane {
    ring: Ring,
    taken: AtomicBool,
}

/// A worker's own ring.
#[derive(Debug)]
pub struct RingEnd<'a> {
    lane: &'a Lane,
    /// Whom to rob first.
    next: usize,
    drains: usize,
}

/// Of so many drains one looks outside first.
const OUTSIDE_FIRST: usize = 4;

impl Stealing {
    /// Makes a queue for `workers` workers with room for all of `slots` slots.
    #[must_use]
    pub fn new(slots: u32, workers: usize) -> Self {
        let lane = |_| Lane { ring: Ring::new(), taken: AtomicBool::new(false) };
        Self {
            lanes: (0..workers).map(lane).collect(),
            outside: CachePadded(Outside::new(slots as usize)),
            spare: CachePadded(Mutex::new(Ring::new())),
        }
    }

    /// Takes half of another ring into `own`, which is empty.
    #[cold]
    fn steal(&self, from: usize, own: &Ring, take: impl FnOnce(u32)) -> usize {
        let (before, after) = self.lanes.split_at(from);
        for victim in after.iter().chain(before) {
            if !std::ptr::eq(&raw const victim.ring, own)
                && let Some(word) = victim.ring.steal_into(own)
            {
                take(slot_of(word));
                return 1;
            }
        }
        0
    }

    /// Makes room in a worker's ring: half of it goes outside, and `slot` behind it.
    #[cold]
    fn shed(&self, ring: &Ring, slot: u32) {
        self.outside.change(|outside| {
            ring.shed(|word| outside.push_back(slot_of(word)));
            outside.push_back(slot);
        });
    }

    /// For a caller that is no worker: from outside, or half of a worker's ring by way of outside.
    fn pop_for_anyone(&self, max: usize, mut take: impl FnMut(u32)) -> usize {
        let count = self.outside.pop(max, &mut take);
        if count > 0 || max == 0 {
            return count;
        }
        let spare = self.spare.lock();
        let stolen = self.steal(0, &spare, take);
        self.outside.change(|outside| {
            spare.pop_many(usize::MAX, |word| outside.push_back(slot_of(word)));
        });
        stolen
    }
}

/// A ring holds words that are not zero.
fn word_of(slot: u32) -> usize {
    slot as usize + 1
}

#[expect(clippy::cast_possible_truncation, reason = "a slot was put in")]
fn slot_of(word: usize) -> u32 {
    (word - 1) as u32
}

impl ReadySlots for Stealing {
    type End<'a> = RingEnd<'a>;

    fn end(&self, worker: usize) -> Option<RingEnd<'_>> {
        let lane = self.lanes.get(worker)?;
        // AcqRel: acquires the use of the ring by the worker before; pairs with the Release in `drop`.
        let free = !lane.taken.swap(true, Ordering::AcqRel);
        free.then_some(RingEnd { lane, next: worker + 1, drains: 0 })
    }

    #[inline]
    fn push(&self, from: Option<&mut RingEnd<'_>>, slot: u32) {
        let Some(own) = from else { return self.outside.change(|outside| outside.push_back(slot)) };
        if own.lane.ring.push(word_of(slot)).is_err() {
            self.shed(&own.lane.ring, slot);
        }
    }

    #[inline]
    fn pop(&self, at: Option<&mut RingEnd<'_>>, max: usize, mut take: impl FnMut(u32)) -> usize {
        let Some(own) = at else { return self.pop_for_anyone(max, take) };
        own.drains = own.drains.wrapping_add(1);
        let first = if own.drains.is_multiple_of(OUTSIDE_FIRST) { max } else { 0 };
        let mut count = self.outside.pop(first, &mut take);
        count += own.lane.ring.pop_many(max - count, |word| take(slot_of(word)));
        count += self.outside.pop(max - count, &mut take);
        if count == 0 && max > 0 { self.steal(own.next, &own.lane.ring, take) } else { count }
    }
}

impl Drop for RingEnd<'_> {
    fn drop(&mut self) {
        // Release: pairs with the AcqRel in `end`.
        self.lane.taken.store(false, Ordering::Release);
    }
}
