//! The queues a coordinator can stand on: they hold slots, each at most once.

use super::{Coordinator, Handled, InvokeResult, MailboxIndex, Registered};
use crate::queue::ring::Ring;
use crate::sync::{AtomicBool, AtomicUsize, CachePadded, Mutex, Ordering};
use std::collections::VecDeque;
use std::fmt::Debug;
use std::time::Duration;

/// A queue of slots, for a [`Coordinator`].
///
/// A slot is in it at most once, so a queue never holds more than there are slots. Every slot that is
/// pushed is popped once, by some call; none waits for ever while others are popped.
pub trait ReadySlots: Send + Sync + Debug {
    /// Takes `slot` in, from a worker's thread or from another.
    fn push(&self, from: Option<usize>, slot: u32);

    /// Gives up to `max` slots to `take`, for a worker or for nobody in particular; how many.
    /// Zero says that there was none, as far as could be seen.
    fn pop(&self, at: Option<usize>, max: usize, take: impl FnMut(u32)) -> usize;
}

/// One queue behind one lock, which is taken once per batch.
#[derive(Debug)]
pub struct Locked {
    slots: Mutex<VecDeque<u32>>,
}

impl Locked {
    /// Makes a queue with room for all of `slots` slots.
    #[must_use]
    pub fn new(slots: u32) -> Self {
        Self { slots: Mutex::new(VecDeque::with_capacity(slots as usize)) }
    }
}

impl ReadySlots for Locked {
    #[inline]
    fn push(&self, _: Option<usize>, slot: u32) {
        self.slots.lock().push_back(slot);
    }

    #[inline]
    fn pop(&self, _: Option<usize>, max: usize, take: impl FnMut(u32)) -> usize {
        let mut slots = self.slots.lock();
        let count = max.min(slots.len());
        slots.drain(..count).for_each(take);
        count
    }
}

/// A ring per worker, from which idle workers take half, and a locked queue for everyone else.
///
/// Workers reach their rings through [`Coordinator::worker`].
#[derive(Debug)]
pub struct Stealing {
    lanes: Box<[Lane]>,
    injector: CachePadded<Locked>,
    /// The injector's length, written under its lock.
    injected: CachePadded<AtomicUsize>,
    /// What is stolen for nobody in particular passes through here; empty otherwise.
    spare: CachePadded<Mutex<Ring>>,
}

#[derive(Debug)]
struct Lane {
    ring: Ring,
    taken: AtomicBool,
    /// Drains by this lane's worker, which alone writes it.
    drains: AtomicUsize,
}

/// Of so many drains one looks outside first.
const OUTSIDE_FIRST: usize = 4;

impl Stealing {
    /// Makes a queue for `workers` workers with room for all of `slots` slots.
    #[must_use]
    pub fn new(slots: u32, workers: usize) -> Self {
        let lane = |_| Lane {
            ring: Ring::new(),
            taken: AtomicBool::new(false),
            drains: AtomicUsize::new(0),
        };
        Self {
            lanes: (0..workers).map(lane).collect(),
            injector: CachePadded(Locked::new(slots)),
            injected: CachePadded(AtomicUsize::new(0)),
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
        let mut injector = self.injector.slots.lock();
        ring.shed(|word| injector.push_back(slot_of(word)));
        injector.push_back(slot);
        self.count(&injector);
    }

    fn inject(&self, slot: u32) {
        let mut injector = self.injector.slots.lock();
        injector.push_back(slot);
        self.count(&injector);
    }

    /// Takes up to `max` slots from outside.
    #[inline]
    fn pop_outside(&self, max: usize, take: impl FnMut(u32)) -> usize {
        // Relaxed: who is to find a slot has been told of it, which orders this, too.
        if max == 0 || self.injected.load(Ordering::Relaxed) == 0 {
            return 0;
        }
        let mut injector = self.injector.slots.lock();
        let count = max.min(injector.len());
        injector.drain(..count).for_each(take);
        self.count(&injector);
        count
    }

    fn count(&self, injector: &VecDeque<u32>) {
        // Relaxed: the lock orders the slots, and this only says where to look.
        self.injected.store(injector.len(), Ordering::Relaxed);
    }

    /// For a caller that is no worker: from outside, or half of a worker's ring by way of outside.
    fn pop_for_anyone(&self, max: usize, mut take: impl FnMut(u32)) -> usize {
        let count = self.pop_outside(max, &mut take);
        if count > 0 || max == 0 {
            return count;
        }
        let spare = self.spare.lock();
        let stolen = self.steal(0, &spare, take);
        let mut injector = self.injector.slots.lock();
        spare.pop_many(usize::MAX, |word| injector.push_back(slot_of(word)));
        self.count(&injector);
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
    #[inline]
    fn push(&self, from: Option<usize>, slot: u32) {
        let Some(lane) = from.and_then(|worker| self.lanes.get(worker)) else {
            return self.inject(slot);
        };
        if lane.ring.push(word_of(slot)).is_err() {
            self.shed(&lane.ring, slot);
        }
    }

    #[inline]
    fn pop(&self, at: Option<usize>, max: usize, mut take: impl FnMut(u32)) -> usize {
        let Some((worker, lane)) = at.and_then(|worker| Some((worker, self.lanes.get(worker)?)))
        else {
            return self.pop_for_anyone(max, take);
        };
        // Relaxed: this worker's own.
        let drains = lane.drains.load(Ordering::Relaxed);
        // Relaxed: as above.
        lane.drains.store(drains.wrapping_add(1), Ordering::Relaxed);
        let first = if drains % OUTSIDE_FIRST == 0 { max } else { 0 };
        let mut count = self.pop_outside(first, &mut take);
        count += lane.ring.pop_many(max - count, |word| take(slot_of(word)));
        count += self.pop_outside(max - count, &mut take);
        if count == 0 && max > 0 { self.steal(worker + 1, &lane.ring, take) } else { count }
    }
}

impl Coordinator<Stealing> {
    /// Makes the calling thread worker `id`: `None` if that is taken, or out of range.
    #[must_use]
    pub fn worker(&self, id: usize) -> Option<Worker<'_>> {
        let lane = self.ready.lanes.get(id)?;
        // AcqRel: acquires the use of the ring by the worker before; pairs with the Release in `drop`.
        let free = !lane.taken.swap(true, Ordering::AcqRel);
        free.then_some(Worker { coordinator: self, id })
    }
}

/// A worker's hold on its own ring: the calls of a [`Coordinator`], without its lock.
#[derive(Debug)]
pub struct Worker<'a> {
    coordinator: &'a Coordinator<Stealing>,
    id: usize,
}

impl Worker<'_> {
    /// As [`Coordinator::register_ready`], into this worker's ring.
    #[inline]
    pub fn register_ready(&mut self, index: MailboxIndex) -> Registered {
        self.coordinator.register(Some(self.id), index)
    }

    /// As [`Coordinator::drain_ready_cycle`], from this worker's ring, from outside, or from others.
    #[inline]
    pub fn drain_ready_cycle(&mut self, max: usize, out: &mut Vec<MailboxIndex>) -> usize {
        self.coordinator.drain(Some(self.id), max, out)
    }

    /// As [`Coordinator::handle_invoke_result`], into this worker's ring.
    #[inline]
    pub fn handle_invoke_result(
        &mut self,
        index: MailboxIndex,
        result: InvokeResult,
        now: Duration,
    ) -> Handled {
        self.coordinator.handle(Some(self.id), index, result, now)
    }
}

impl Drop for Worker<'_> {
    fn drop(&mut self) {
        // Release: pairs with the AcqRel in `worker`.
        self.coordinator.ready.lanes[self.id].taken.store(false, Ordering::Release);
    }
}
