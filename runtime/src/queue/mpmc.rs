//! A queue of words for many producers and many consumers, who claim several at once.
//!
//! ```text
//!            head                    tail
//!             |                        |
//!  [ f  f  .  x  x  x  x  x  x  x  .  .  f  f ]     x: a word   f: free, for the position it names
//!          |                       '--'             .: claimed, and about to be written or freed
//!  a consumer that still copies   two producers that still write
//! ```
//!
//! A fixed ring, and behind it the spill, a list behind a lock that takes what the ring has no room
//! for, so that a push never fails. Positions count up and wrap; a slot is `position % capacity`, a power of
//! two. A slot is one word: what was pushed (which is even), or, free, the next position that may use it (which is
//! made odd).
//!
//! Invariants:
//! 1. A producer that moved `tail` past a position, having seen its slot free for it, writes the slot.
//! 2. A consumer that moved `head` past positions whose slots it saw written owns what it saw there, and
//!    frees each slot for the position one round later.
//! 3. A consumer looks only at slots below a `tail` that it has acquired. What the producers there did
//!    before their pushes has happened before; and they have seen their slots free, so that no word
//!    of an earlier round can be seen in them. So `tail` orders everything, and slots are Relaxed.
//! 4. While anything is in the spill, what is pushed joins it: the ring runs empty, then the spill has
//!    its turn, so nothing waits for ever. When little is left it moves back into the ring.
//!
//! Nobody waits for a consumer: a slot that is not free yet counts as full. A producer that is
//! interrupted between moving `tail` and writing its slot keeps what was pushed after it from the
//! consumers until it goes on.

use super::ring::Ring;
use crate::sync::{AtomicUsize, CachePadded, Mutex, Ordering, planted};
use std::collections::VecDeque;

/// Slots unless said otherwise; two in models, so that overflow and wrap-around are reached, and few under Miri, which
/// looks at each of them whenever one is used.
pub(crate) const CAPACITY: usize = if cfg!(loom) {
    2
} else if cfg!(miri) {
    64
} else {
    4096
};
/// Words claimed at once at most.
pub(crate) const CLAIM_MAX: usize = 32;
/// Words in the spill that are few enough to move back into the ring at once.
pub(crate) const REFILL_MAX: usize = if cfg!(loom) { 2 } else { CAPACITY / 8 };

/// What a free slot holds that waits for `position`.
const fn free_for(position: usize) -> usize {
    position << 1 | 1
}

/// See the [module](self).
#[derive(Debug)]
pub(crate) struct Mpmc {
    head: CachePadded<AtomicUsize>,
    tail: CachePadded<AtomicUsize>,
    slots: Box<[AtomicUsize]>,
    spill: CachePadded<Mutex<VecDeque<usize>>>,
    /// The spill's length, written under its lock.
    spilled: CachePadded<AtomicUsize>,
}

impl Mpmc {
    pub(crate) fn new() -> Self {
        Self::with_room(CAPACITY)
    }

    /// A queue whose ring has `slots` slots or more.
    pub(crate) fn with_room(slots: usize) -> Self {
        let capacity = slots.max(2).next_power_of_two();
        Self {
            head: CachePadded(AtomicUsize::new(0)),
            tail: CachePadded(AtomicUsize::new(0)),
            slots: (0..capacity).map(|position| AtomicUsize::new(free_for(position))).collect(),
            spill: CachePadded(Mutex::new(VecDeque::new())),
            spilled: CachePadded(AtomicUsize::new(0)),
        }
    }

    fn capacity(&self) -> usize {
        self.slots.len()
    }

    fn slot(&self, position: usize) -> &AtomicUsize {
        &self.slots[position & (self.slots.len() - 1)]
    }

    /// Adds `word`, which is even.
    #[inline]
    pub(crate) fn push(&self, word: usize) {
        debug_assert!(word.is_multiple_of(2), "an odd word says that a slot is free");
        // Relaxed: a guess; a word that passes by a spill that begins just now is merely early.
        if self.spilled.load(Ordering::Relaxed) != 0 || self.push_to_ring(word).is_err() {
            self.push_to_spill(word);
        }
    }

    /// # Errors
    /// The word, when the ring is full.
    #[inline]
    fn push_to_ring(&self, word: usize) -> Result<(), usize> {
        // Relaxed: a guess; the exchange decides.
        let mut tail = self.tail.load(Ordering::Relaxed);
        loop {
            // Relaxed: nothing is read but the mark itself, and the exchange below passes on that it
            // was seen.
            if self.slot(tail).load(Ordering::Relaxed) == free_for(tail) {
                let next = tail.wrapping_add(1);
                // Release: pairs with the Acquire in `claim_from_ring`: hands over what the word
                // stands for, and that the slot was seen free.
                let order = planted!("mpmc-tail-relaxed": Ordering::Release => Ordering::Relaxed);
                match self.tail.compare_exchange_weak(tail, next, order, Ordering::Relaxed) {
                    Ok(_) => {
                        // Relaxed: invariant 3.
                        self.slot(tail).store(word, Ordering::Relaxed);
                        return Ok(());
                    }
                    Err(now) => tail = now,
                }
            } else {
                // Relaxed: as above; a tail that stands still means that the slot is not free.
                let now = self.tail.load(Ordering::Relaxed);
                if now == tail {
                    return Err(word);
                }
                tail = now;
            }
        }
    }

    #[cold]
    fn push_to_spill(&self, word: usize) {
        let mut spill = self.spill.lock();
        spill.push_back(word);
        // Relaxed: the lock orders the words, and this only says where to look.
        self.spilled.store(spill.len(), Ordering::Relaxed);
    }

    /// Takes a fair share of the oldest words, one of `parts`, though not more than
    /// [`CLAIM_MAX`]: returns the first and moves the others into `to`, which the caller owns and which
    /// is empty. One read-modify-write claims them all.
    #[inline]
    pub(crate) fn claim(&self, parts: usize, to: &Ring) -> Option<usize> {
        let most = CLAIM_MAX.min(to.room() + 1);
        let (first, more) = self.claim_staged(parts, most, |at, word| to.stage(at, word))?;
        to.publish(more);
        Some(first)
    }

    /// Gives up to `max` of the oldest words to `take`, though not more than [`CLAIM_MAX`]; how many.
    #[inline]
    pub(crate) fn take(&self, max: usize, mut take: impl FnMut(usize)) -> usize {
        if max == 0 {
            return 0;
        }
        let mut words = [0; CLAIM_MAX];
        let claimed = self.claim_staged(1, max.min(CLAIM_MAX), |at, word| words[at] = word);
        let Some((first, more)) = claimed else { return 0 };
        take(first);
        words[..more].iter().copied().for_each(take);
        more + 1
    }

    /// Claims one of `parts` of the oldest words, `most` at most: the first, and how many more there are.
    /// Those go to `stage` with their places, some perhaps several times: the last one counts.
    #[inline]
    fn claim_staged(
        &self,
        parts: usize,
        most: usize,
        mut stage: impl FnMut(usize, usize),
    ) -> Option<(usize, usize)> {
        self.claim_from_ring(parts, most, &mut stage)
            .or_else(|| self.claim_from_spill(parts, most, stage))
    }

    fn claim_from_ring(
        &self,
        parts: usize,
        most: usize,
        mut stage: impl FnMut(usize, usize),
    ) -> Option<(usize, usize)> {
        // Relaxed: a guess; the exchange decides.
        let mut head = self.head.load(Ordering::Relaxed);
        loop {
            // Acquire: pairs with the Release in `push_to_ring`, for invariant 3.
            let length = self.tail.load(Ordering::Acquire).wrapping_sub(head);
            // A head that is newer than the tail says that the queue is empty, too.
            if length.cast_signed() <= 0 {
                return None;
            }
            let share = length.min(self.capacity()).div_ceil(parts).min(most);
            let Some(first) = self.written(head).filter(|_| length <= self.capacity()) else {
                head = self.newer_head(head)?;
                continue;
            };
            // What is read before it is claimed is right if the claim succeeds.
            let mut count = 1;
            while count < share
                && let Some(word) = self.written(head.wrapping_add(count))
            {
                stage(count - 1, word);
                count += 1;
            }
            let next = head.wrapping_add(count);
            // Relaxed: it only keeps other consumers away; the tail ordered the rest.
            let claimed = planted!(
                "mpmc-double-claim":
                self.head.compare_exchange_weak(head, next, Ordering::Relaxed, Ordering::Relaxed)
                => {
                    self.head.store(next, Ordering::Relaxed);
                    Ok(head)
                }
            );
            match claimed {
                Ok(_) => {
                    for position in (0..count).map(|at| head.wrapping_add(at)) {
                        // Relaxed: invariant 3.
                        let free = free_for(position.wrapping_add(self.capacity()));
                        self.slot(position).store(free, Ordering::Relaxed);
                    }
                    return Some((first, count - 1));
                }
                Err(now) => head = now,
            }
        }
    }

    /// The head, where nothing can be claimed from `head`: others may have claimed what was there, and left more. `None` if
    /// it stands still: then its word is yet to be written, by a push that is not over.
    #[cold]
    fn newer_head(&self, head: usize) -> Option<usize> {
        // Relaxed: a read-modify-write reads the newest head, and nothing else is to be seen.
        let now = self.head.fetch_add(0, Ordering::Relaxed);
        planted!("mpmc-old-head": (now != head).then_some(now) => None)
    }

    /// The word at `position`, which is below a tail that was acquired, if its producer has written it.
    #[inline]
    fn written(&self, position: usize) -> Option<usize> {
        // Relaxed: invariant 3.
        Some(self.slot(position).load(Ordering::Relaxed)).filter(|word| word.is_multiple_of(2))
    }

    #[cold]
    fn claim_from_spill(
        &self,
        parts: usize,
        most: usize,
        mut stage: impl FnMut(usize, usize),
    ) -> Option<(usize, usize)> {
        // Relaxed: whoever has learnt of a push sees the length after it, or a later one.
        if self.spilled.load(Ordering::Relaxed) == 0 {
            return None;
        }
        let mut spill = self.spill.lock();
        let share = spill.len().div_ceil(parts).min(most);
        let first = spill.pop_front()?;
        for (at, word) in spill.drain(..share - 1).enumerate() {
            stage(at, word);
        }
        if spill.len() <= REFILL_MAX {
            while let Some(&word) = spill.front()
                && self.push_to_ring(word).is_ok()
            {
                spill.pop_front();
            }
        }
        // Release: pairs with the Acquire in `len`.
        self.spilled.store(spill.len(), Ordering::Release);
        Some((first, share - 1))
    }

    /// Words in the queue, roughly; not zero if the push of one that is still there has happened before.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        // Acquire: pairs with the Release in `claim_from_spill`: whoever sees that the spill has run
        // out sees the tail after what moved from it into the ring.
        let in_spill = self.spilled.load(Ordering::Acquire);
        // Relaxed, both: of a push that has happened before, coherence shows the tail; an older head
        // only makes the queue seem longer.
        let head = self.head.load(Ordering::Relaxed);
        let length = self.tail.load(Ordering::Relaxed).wrapping_sub(head);
        // Negative, where the head is newer than the tail.
        in_spill + if length.cast_signed() < 0 { 0 } else { length.min(self.capacity()) }
    }
}

#[cfg(all(test, loom))]
mod model;

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests;
