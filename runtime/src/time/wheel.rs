//! A hierarchical timing wheel: insert, cancel and expiry in constant time.
//!
//! Six levels of 64 slots, each level 64 times coarser than the one below it; the finest slot is
//! [`TICK_NANOS`] long. An entry waits in the coarsest level that still tells its time from now and
//! moves down as its time comes near (Varghese and Lauck, SOSP 1987).
//!
//! Invariants:
//! 1. An entry never fires before its time: times are rounded up to a tick.
//! 2. An entry is in exactly one slot's list, or free; a key names it until it fires or is cancelled.
//! 3. `now` never goes back, and an entry is never put into the slot that is being emptied.

use super::Time;
use crate::sync::planted;

/// Length of the finest slot in nanoseconds.
pub(crate) const TICK_NANOS: u64 = 1_000_000;
const LEVELS: usize = 6;
const SLOTS: usize = 64;
const SLOT_BITS: u32 = 6;
const NONE: u32 = u32::MAX;
/// Ticks that the wheel spans; later entries wait in the last slot and are looked at again.
const SPAN: u64 = 1 << (SLOT_BITS * LEVELS as u32);

/// Names an entry until it fires or is cancelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TimerKey {
    index: u32,
    generation: u32,
}

#[derive(Debug)]
struct Entry<T> {
    tick: u64,
    generation: u32,
    previous: u32,
    next: u32,
    slot: u32,
    item: Option<T>,
}

/// Items, each with a time at which it is due.
#[derive(Debug)]
pub(crate) struct Wheel<T> {
    now: u64,
    slots: Box<[u32]>,
    occupied: [u64; LEVELS],
    entries: Vec<Entry<T>>,
    free: u32,
    len: usize,
}

impl<T> Wheel<T> {
    pub(crate) fn new() -> Self {
        Self {
            now: 0,
            slots: vec![NONE; LEVELS * SLOTS].into(),
            occupied: [0; LEVELS],
            entries: Vec::new(),
            free: NONE,
            len: 0,
        }
    }

    /// Items that wait.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Lets `item` fire at `time` or up to one tick later. O(1).
    pub(crate) fn insert(&mut self, time: Time, item: T) -> TimerKey {
        let due = planted!("timer-early": time.0.div_ceil(TICK_NANOS) => time.0 / TICK_NANOS);
        let tick = due.max(self.now + 1);
        let index = self.allocate(tick, item);
        self.link(index);
        self.len += 1;
        TimerKey { index, generation: self.entries[index as usize].generation }
    }

    /// Takes an item back; `None` if it fired or was cancelled before. O(1).
    pub(crate) fn cancel(&mut self, key: TimerKey) -> Option<T> {
        let entry = self.entries.get(key.index as usize)?;
        if entry.generation != key.generation || entry.item.is_none() {
            return None;
        }
        self.unlink(key.index);
        self.release(key.index)
    }

    /// Moves on to `now` and hands every due item to `fire`, earlier ticks first.
    pub(crate) fn advance(&mut self, now: Time, mut fire: impl FnMut(T)) {
        let target = now.0 / TICK_NANOS;
        while let Some((start, level)) = self.next_slot() {
            if start > target {
                break;
            }
            self.now = self.now.max(start);
            let slot = self.slot_of(level, start);
            self.empty_slot(slot, &mut fire);
        }
        self.now = self.now.max(target);
    }

    /// When [`Wheel::advance`] will next have something to do; not later than the first item is due.
    pub(crate) fn next_time(&self) -> Option<Time> {
        self.next_slot().map(|(tick, _)| Time(tick.saturating_mul(TICK_NANOS)))
    }

    fn allocate(&mut self, tick: u64, item: T) -> u32 {
        if self.free == NONE {
            let index = u32::try_from(self.entries.len()).expect("fewer than 2^32 timers");
            let item = Some(item);
            self.entries.push(Entry {
                tick,
                generation: 0,
                previous: NONE,
                next: NONE,
                slot: 0,
                item,
            });
            return index;
        }
        let index = self.free;
        let entry = &mut self.entries[index as usize];
        self.free = entry.next;
        entry.tick = tick;
        entry.item = Some(item);
        index
    }

    fn release(&mut self, index: u32) -> Option<T> {
        let free = self.free;
        let entry = &mut self.entries[index as usize];
        entry.generation = entry.generation.wrapping_add(1);
        entry.next = free;
        self.free = index;
        self.len -= 1;
        entry.item.take()
    }

    #[expect(clippy::cast_possible_truncation, reason = "masked to a slot number")]
    fn slot_of(&self, level: usize, tick: u64) -> usize {
        level * SLOTS + (tick >> (SLOT_BITS * level as u32)) as usize % SLOTS
    }

    fn level_of(&self, tick: u64) -> usize {
        let apart = (tick ^ self.now) | 1;
        let bit = 63 - apart.leading_zeros();
        ((bit / SLOT_BITS) as usize).min(LEVELS - 1)
    }

    fn link(&mut self, index: u32) {
        let due = self.entries[index as usize].tick;
        let tick = due.min(self.now + SPAN - SPAN / SLOTS as u64);
        let level = self.level_of(tick);
        let slot = self.slot_of(level, tick);
        let head = self.slots[slot];
        let entry = &mut self.entries[index as usize];
        entry.slot = u32::try_from(slot).expect("slots are few");
        entry.previous = NONE;
        entry.next = head;
        if head != NONE {
            self.entries[head as usize].previous = index;
        }
        self.slots[slot] = index;
        self.occupied[level] |= 1 << (slot % SLOTS);
    }

    fn unlink(&mut self, index: u32) {
        let Entry { previous, next, slot, .. } = self.entries[index as usize];
        if next != NONE {
            self.entries[next as usize].previous = previous;
        }
        if previous != NONE {
            self.entries[previous as usize].next = next;
            return;
        }
        let slot = slot as usize;
        self.slots[slot] = next;
        if next == NONE {
            self.occupied[slot / SLOTS] &= !(1 << (slot % SLOTS));
        }
    }

    /// The first tick of the next occupied slot, and its level.
    fn next_slot(&self) -> Option<(u64, usize)> {
        (0..LEVELS)
            .filter(|&level| self.occupied[level] != 0)
            .map(|level| (self.slot_start(level), level))
            .min()
    }

    #[expect(clippy::cast_possible_truncation, reason = "the number of levels is six")]
    fn slot_start(&self, level: usize) -> u64 {
        let bits = SLOT_BITS * level as u32;
        let here = self.now >> bits;
        let rotated = self.occupied[level].rotate_right((here % SLOTS as u64) as u32);
        let ahead = u64::from(rotated.trailing_zeros());
        ((here + ahead) << bits).max(self.now)
    }

    fn empty_slot(&mut self, slot: usize, fire: &mut impl FnMut(T)) {
        let mut index = std::mem::replace(&mut self.slots[slot], NONE);
        self.occupied[slot / SLOTS] &= !(1 << (slot % SLOTS));
        while index != NONE {
            let Entry { next, tick, .. } = self.entries[index as usize];
            if tick > self.now {
                self.link(index);
            } else if let Some(item) = self.release(index) {
                fire(item);
            }
            index = next;
        }
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests;
