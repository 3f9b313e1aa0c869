//! Work stealing: a queue per worker, and thieves.
//!
//! Each worker has a slot for the actor that was made ready last (its message is still in the cache)
//! and a fixed ring. The slot is only for times when no others wait: where they do, an actor that waits its turn
//! has more mail to handle in one. What does not fit, and what comes from outside, goes through the
//! injector, a shared queue behind a lock; so does who gives way while many wait there. A worker looks in its slot, its
//! ring, the injector, and then takes half of another worker's ring, or its slot.
//!
//! Fairness: the slot is used at most [`SLOT_STREAK_MAX`] times in a row, and every
//! [`INJECTOR_INTERVAL`]th pop looks first whether a worker is [stuck](super::pulse), and into the injector. High actors, wherever they come from, wait
//! in a shared queue of their own, so that whichever worker is free first runs them.

use super::lane::Lane;
use super::pulse::Pulse;
use super::slot::Slot;
use super::{Batch, Origin, ReadyQueue, WorkerId};
use crate::queue::ring::{CAPACITY, Ring};
use crate::sync::{AtomicU32, CachePadded, Ordering, planted};
use crate::task::priority::is_for_normal;
use crate::task::{Hint, Priority, Ready};

/// Runs from the slot before the ring gets its turn.
const SLOT_STREAK_MAX: u32 = 3;
/// Pops between two looks into the injector that come before the worker's own queue; a prime, as Go
/// and tokio use.
const INJECTOR_INTERVAL: u32 = 61;
/// Actors taken from the injector at once.
const INJECTOR_BATCH: usize = 16;

/// One worker's part. `streak`, `seed` and `picks` are its own; they are atomic only to be
/// shareable.
#[derive(Debug)]
struct Local {
    slot: Slot,
    ring: Ring,
    streak: AtomicU32,
    pulse: Pulse,
    seed: AtomicU32,
    /// Picks at which a high actor waited.
    picks: AtomicU32,
}

/// See the [module](self).
#[derive(Debug)]
pub(crate) struct StealingQueue {
    locals: Box<[CachePadded<Local>]>,
    injector: Lane,
    high: Lane,
}

impl StealingQueue {
    pub(crate) fn new(workers: usize) -> Self {
        let local = |index: usize| Local {
            slot: Slot::new(),
            ring: Ring::new(),
            streak: AtomicU32::new(0),
            pulse: Pulse::default(),
            seed: AtomicU32::new(u32::try_from(index).unwrap_or(0).wrapping_mul(0x9E37_79B9) | 1),
            picks: AtomicU32::new(0),
        };
        Self {
            locals: (0..workers).map(|index| CachePadded(local(index))).collect(),
            injector: Lane::new(),
            high: Lane::new(),
        }
    }

    #[inline]
    fn pop_injected(&self, local: &Local) -> Option<Ready> {
        if self.injector.is_empty() { None } else { self.take_injected(local) }
    }

    #[inline(never)]
    fn take_injected(&self, local: &Local) -> Option<Ready> {
        self.injector.change(|injector| {
            let share = injector.len().div_ceil(self.locals.len()).min(INJECTOR_BATCH);
            let mut taken = injector.drain(..share);
            let first = taken.next();
            // The rest goes where others can steal it.
            let mut back = Vec::new();
            for ready in taken {
                if let Err(word) = local.ring.push(ready.into_word()) {
                    back.push(word);
                }
            }
            for word in back.into_iter().rev() {
                // SAFETY: the ring gave the word back; it was made by `into_word` just now.
                injector.push_front(unsafe { Ready::from_word(word) });
            }
            first
        })
    }

    #[inline]
    fn push_local(&self, local: &Local, word: usize) {
        if let Err(word) = local.ring.push(word) {
            self.overflow(local, word);
        }
    }

    /// Puts an actor into a ring that was found full.
    #[cold]
    fn overflow(&self, local: &Local, mut word: usize) {
        loop {
            let shed = self.injector.change(|injector| {
                // SAFETY: each word in a ring was made by `into_word` and is taken out once.
                let shed =
                    local.ring.shed(|word| injector.push_back(unsafe { Ready::from_word(word) }));
                if shed == 0 {
                    // SAFETY: the ring gave the word back.
                    injector.push_back(unsafe { Ready::from_word(word) });
                }
                shed
            });
            if shed == 0 {
                return;
            }
            match local.ring.push(word) {
                Ok(()) => return,
                Err(back) => word = back,
            }
        }
    }

    /// Whether so many wait in the injector that who gives way is to wait there too. Full rings leave so many there: an
    /// actor that makes others would have its next turn before most of those that it has made, and they would be ever
    /// more. (Decision 0038.)
    fn is_behind(&self) -> bool {
        self.injector.len() > CAPACITY as usize / 2
    }

    fn pop_own(local: &Local) -> Option<usize> {
        // Relaxed, here and below: only the worker itself uses its streak.
        let streak = local.streak.load(Ordering::Relaxed);
        if streak < SLOT_STREAK_MAX
            && let Some(word) = local.slot.take()
        {
            local.streak.store(streak + 1, Ordering::Relaxed);
            return Some(word);
        }
        local.streak.store(0, Ordering::Relaxed);
        local.ring.pop().or_else(|| local.slot.take())
    }

    /// The next actor of whichever priority, where a high one waits.
    #[cold]
    fn pick(&self, worker: WorkerId) -> Option<Ready> {
        let local = &self.locals[worker.index()];
        // Relaxed, both: only the worker itself uses its count.
        let mut picks = local.picks.load(Ordering::Relaxed);
        let is_for_normal = is_for_normal(&mut picks);
        local.picks.store(picks, Ordering::Relaxed);
        let normal = if is_for_normal { self.pop_normal(worker) } else { None };
        normal.or_else(|| self.high.pop()).or_else(|| self.pop_normal(worker))
    }

    /// The next actor, of whichever priority.
    #[inline]
    fn take(&self, worker: WorkerId) -> Option<Ready> {
        if self.high.is_empty() { self.pop_normal(worker) } else { self.pick(worker) }
    }

    #[inline]
    fn pop_normal(&self, worker: WorkerId) -> Option<Ready> {
        let local = &self.locals[worker.index()];
        let pops = local.pulse.beat();
        if pops.is_multiple_of(INJECTOR_INTERVAL)
            && let Some(late) = self.pop_late(worker.index(), pops)
        {
            return Some(late);
        }
        let Some(word) = Self::pop_own(local) else { return self.pop_elsewhere(worker) };
        // SAFETY: each word was made by `into_word` and is taken out once.
        Some(unsafe { Ready::from_word(word) })
    }

    /// An actor that others would have taken long ago, were they not stuck or busy with their own. Those of who is stuck come
    /// first every second time, so that they do not keep back what is injected.
    #[inline(never)]
    fn pop_late(&self, worker: usize, pops: u32) -> Option<Ready> {
        let local = &self.locals[worker];
        let freed = pops.is_multiple_of(2 * INJECTOR_INTERVAL).then(|| self.free_stuck(worker));
        // SAFETY: each word was made by `into_word` and is taken out once.
        let freed = freed.flatten().map(|word| unsafe { Ready::from_word(word) });
        freed.or_else(|| self.pop_injected(local))
    }

    /// Half of the ring of a worker that takes nothing any more, or what is in its slot.
    fn free_stuck(&self, worker: usize) -> Option<usize> {
        let (local, count) = (&self.locals[worker], self.locals.len());
        let stuck = local.pulse.stuck(worker, count, |index| &self.locals[index].pulse)?;
        let victim = &self.locals[stuck];
        // Half of a ring fits into half of one.
        if victim.ring.len() > 0 && local.ring.len() > CAPACITY as usize / 2 {
            self.injector.change(|injector| {
                // SAFETY: as in `overflow`.
                local.ring.shed(|word| injector.push_back(unsafe { Ready::from_word(word) }))
            });
        }
        victim.ring.steal_into(&local.ring).or_else(|| victim.slot.take())
    }

    /// An actor that waits where the worker looks last.
    #[inline(never)]
    fn pop_elsewhere(&self, worker: WorkerId) -> Option<Ready> {
        let injected = self.pop_injected(&self.locals[worker.index()]);
        // SAFETY: each word was made by `into_word` and is taken out once.
        let stolen = || self.steal(worker.index()).map(|word| unsafe { Ready::from_word(word) });
        injected.or_else(stolen)
    }

    /// Half of some other worker's ring, else the actor in its slot; victims from a random start.
    fn steal(&self, thief: usize) -> Option<usize> {
        let count = self.locals.len();
        let start = next_random(&self.locals[thief].seed) as usize;
        let victims = (0..count).map(|offset| (start + offset) % count).filter(|&at| at != thief);
        let mut slots = victims.clone();
        let mut rings = victims;
        let own = &self.locals[thief].ring;
        rings
            .find_map(|victim| self.locals[victim].ring.steal_into(own))
            .or_else(|| slots.find_map(|victim| self.locals[victim].slot.take()))
    }
}

/// A xorshift step (Marsaglia 2003); only its own worker uses a seed.
fn next_random(seed: &AtomicU32) -> u32 {
    let mut x = seed.load(Ordering::Relaxed);
    x ^= x << 13;
    x ^= x >> 17;
    x ^= x << 5;
    seed.store(x, Ordering::Relaxed);
    x
}

impl ReadyQueue for StealingQueue {
    fn push(&self, from: Origin, ready: Ready, hint: Hint) {
        if ready.priority() == Priority::High {
            return self.high.push(ready);
        }
        let Origin::Worker(worker) = from else { return self.injector.push(ready) };
        let local = &self.locals[worker.index()];
        let word = ready.into_word();
        match hint {
            Hint::Back => self.push_local(local, word),
            Hint::Next if local.ring.len() > 0 => self.push_local(local, word),
            Hint::Next => {
                if let Some(displaced) = local.slot.put(word) {
                    self.push_local(local, displaced);
                }
            }
        }
    }

    fn give_way(&self, worker: WorkerId, ready: Ready) {
        if ready.priority() != Priority::High && self.is_behind() {
            return self.injector.push(ready);
        }
        self.push(Origin::Worker(worker), ready, Hint::Back);
    }

    fn pop(&self, worker: WorkerId, batch: &mut Batch) {
        if let Some(ready) = self.take(worker) {
            batch.push(ready);
        }
    }

    fn pop_first(&self, worker: WorkerId, _batch: &mut Batch) -> Option<Ready> {
        self.take(worker)
    }

    fn has_work(&self, _worker: WorkerId) -> bool {
        let is_busy = |local: &CachePadded<Local>| local.ring.len() > 0 || !local.slot.is_empty();
        !self.high.is_empty() || !self.injector.is_empty() || self.locals.iter().any(is_busy)
    }

    fn hand_over(&self, worker: WorkerId) {
        let local = &self.locals[worker.index()];
        let words = std::iter::from_fn(|| local.ring.pop()).chain(local.slot.take());
        let words = words.take(planted!("off-duty-hoards": usize::MAX => 0));
        // SAFETY: each word was made by `into_word` and is taken out once.
        words.for_each(|word| self.injector.push(unsafe { Ready::from_word(word) }));
    }

    fn len(&self) -> usize {
        let local =
            |local: &CachePadded<Local>| local.ring.len() + usize::from(!local.slot.is_empty());
        self.high.len() + self.injector.len() + self.locals.iter().map(local).sum::<usize>()
    }
}
