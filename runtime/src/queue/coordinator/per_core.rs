//! A queue per worker that nobody else touches, and rings between the workers.
//!
//! ```text
//!                 its own worker            another worker                 anyone else
//! register -----> home's desk, no atomics   ring to home, then Told        home's lane, locked
//! ```

use super::locked::Outside;
use super::ready::ReadySlots;
use crate::queue::peers::{Peers, Told};
use crate::queue::spsc::{Receiver, Sender, WriteError, channel};
use crate::sync::{AtomicBool, AtomicUsize, CachePadded, Mutex, MutexGuard, Ordering};
use std::collections::VecDeque;

/// Slots that a ring between two workers holds; what finds no room goes through the lane.
const RING_CAPACITY: usize = if cfg!(loom) {
    2
} else if cfg!(miri) {
    16
} else {
    256
};

/// A queue per worker, and a ring from each to each other. A slot is always run by the same worker,
/// number `slot % workers`; nothing is stolen.
///
/// Workers reach their queues through [`Coordinator::worker`](super::Coordinator::worker). A drain that
/// is no worker's serves those places that no worker has taken; what belongs to a worker that does not
/// drain, waits for it.
#[derive(Debug)]
pub struct PerCore {
    places: Box<[Place]>,
    /// Whose place a drain that is no worker's looks at first.
    turn: CachePadded<AtomicUsize>,
}

#[derive(Debug)]
struct Place {
    taken: AtomicBool,
    desk: CachePadded<Mutex<Desk>>,
    told: Told,
    lane: CachePadded<Outside>,
}

/// What one worker has to itself.
#[derive(Debug)]
struct Desk {
    id: usize,
    ready: VecDeque<u32>,
    out: Box<[Sender<u32>]>,
    into: Box<[Receiver<u32>]>,
    /// Whose ring holds something, for all this worker knows.
    waiting: Peers,
}

/// A worker's own queue.
#[derive(Debug)]
pub struct DeskEnd<'a> {
    desk: MutexGuard<'a, Desk>,
    taken: &'a AtomicBool,
}

impl PerCore {
    /// Makes a queue for `workers` workers, one at least, with room for all of `slots` slots. Its memory
    /// grows with the square of the number of workers.
    #[must_use]
    pub fn new(slots: u32, workers: usize) -> Self {
        let workers = workers.max(1);
        let share = (slots as usize).div_ceil(workers);
        let mut desks: Vec<_> = (0..workers).map(|id| (id, Vec::new(), Vec::new())).collect();
        for from in 0..workers {
            for to in 0..workers {
                let (sender, receiver) = channel(share.min(RING_CAPACITY));
                desks[from].1.push(sender);
                desks[to].2.push(receiver);
            }
        }
        let place = |(id, out, into): (usize, Vec<_>, Vec<_>)| Place {
            taken: AtomicBool::new(false),
            desk: CachePadded(Mutex::new(Desk {
                id,
                ready: VecDeque::with_capacity(share),
                out: out.into(),
                into: into.into(),
                waiting: Peers::new(workers),
            })),
            told: Told::new(workers),
            lane: CachePadded(Outside::new(share)),
        };
        let places = desks.into_iter().map(place).collect();
        Self { places, turn: CachePadded(AtomicUsize::new(0)) }
    }

    fn home(&self, slot: u32) -> usize {
        slot as usize % self.places.len()
    }

    /// From one worker to another.
    #[cold]
    fn send(&self, from: &mut Desk, to: usize, slot: u32) {
        match from.out.get_mut(to).map(|ring| ring.send(slot)) {
            Some(Ok(())) => self.places[to].told.tell(from.id),
            None | Some(Err(WriteError::Full(_) | WriteError::Disconnected(_))) => {
                self.leave(to, slot);
            }
        }
    }

    fn leave(&self, to: usize, slot: u32) {
        self.places[to].lane.change(|lane| lane.push_back(slot));
    }

    fn pop_for_anyone(&self, max: usize, mut take: impl FnMut(u32)) -> usize {
        // Relaxed: only a number.
        let turn = self.turn.fetch_add(1, Ordering::Relaxed) % self.places.len();
        let (before, after) = self.places.split_at(turn);
        let mut count = 0;
        for place in after.iter().chain(before) {
            if count < max
                && let Some(mut desk) = place.desk.try_lock()
            {
                count += place.pop(&mut desk, max - count, &mut take);
            }
        }
        count
    }
}

impl Place {
    #[inline]
    fn pop(&self, desk: &mut Desk, max: usize, take: impl FnMut(u32)) -> usize {
        // What has come stands behind what is here, so nothing waits for ever.
        self.told.take(&mut desk.waiting);
        while let Some(from) = desk.waiting.pop() {
            desk.into[from].sync();
            while let Some(slot) = desk.into[from].poll() {
                desk.ready.push_back(slot);
            }
        }
        self.lane.pop(usize::MAX, |slot| desk.ready.push_back(slot));
        let count = max.min(desk.ready.len());
        desk.ready.drain(..count).for_each(take);
        count
    }
}

impl ReadySlots for PerCore {
    type End<'a> = DeskEnd<'a>;

    fn end(&self, worker: usize) -> Option<DeskEnd<'_>> {
        let Place { taken, desk, .. } = self.places.get(worker)?;
        // Relaxed: the lock orders the use of the desk.
        let free = !taken.swap(true, Ordering::Relaxed);
        free.then(|| DeskEnd { desk: desk.lock(), taken })
    }

    #[inline]
    fn push(&self, from: Option<&mut DeskEnd<'_>>, slot: u32) {
        let home = self.home(slot);
        match from {
            Some(end) if end.desk.id == home => end.desk.ready.push_back(slot),
            Some(end) => self.send(&mut end.desk, home, slot),
            None => self.leave(home, slot),
        }
    }

    #[inline]
    fn pop(&self, at: Option<&mut DeskEnd<'_>>, max: usize, take: impl FnMut(u32)) -> usize {
        match at {
            Some(end) => match self.places.get(end.desk.id) {
                Some(place) => place.pop(&mut end.desk, max, take),
                None => 0,
            },
            None => self.pop_for_anyone(max, take),
        }
    }
}

impl Drop for DeskEnd<'_> {
    fn drop(&mut self) {
        // Relaxed: the next one waits for the lock, which is given back after this.
        self.taken.store(false, Ordering::Relaxed);
    }
}
