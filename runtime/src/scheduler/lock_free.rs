//! One queue for all workers without a lock, claimed from in batches.
//!
//! Every push goes into one shared queue. A worker claims its share of it by one read-modify-write and
//! keeps what it does not run at once in a ring of its own, from where others may take it: an actor
//! whose handler blocks its worker delays nobody else.
//!
//! Fairness: a worker runs what it has claimed, in order, before it claims again, and nothing that is
//! pushed joins a claim later. Every [`LOOK_INTERVAL`]th time it looks first whether another one is [stuck](super::pulse), and
//! adds half of what that has claimed. High actors wait in a second queue of that kind, from which they are taken one at a
//! time, before what is claimed.

use super::pulse::Pulse;
use super::{Batch, Origin, ReadyQueue, WorkerId};
use crate::queue::mpmc::Mpmc;
use crate::queue::ring::Ring;
use crate::sync::{AtomicBool, AtomicU32, Ordering};
use crate::task::priority::is_for_normal;
use crate::task::{Hint, Priority, Ready};

/// Pops between two looks at another worker.
const LOOK_INTERVAL: u32 = 64;

/// See the [module](self).
#[derive(Debug)]
pub(crate) struct LockFreeQueue {
    shared: Mpmc,
    high: Mpmc,
    /// Whether there was ever a high actor: most systems have none, and then nobody looks for one.
    is_prioritised: AtomicBool,
    locals: Box<[Local]>,
}

/// One worker's part.
#[derive(Debug)]
struct Local {
    /// What it has claimed and not begun to run.
    claimed: Ring,
    pulse: Pulse,
    /// Picks at which a high actor waited; atomic only to be shareable.
    picks: AtomicU32,
}

impl LockFreeQueue {
    pub(crate) fn new(workers: usize) -> Self {
        let local =
            |_| Local { claimed: Ring::new(), pulse: Pulse::default(), picks: AtomicU32::new(0) };
        Self {
            shared: Mpmc::new(),
            high: Mpmc::new(),
            is_prioritised: AtomicBool::new(false),
            locals: (0..workers).map(local).collect(),
        }
    }

    #[inline]
    fn has_high(&self) -> bool {
        // Relaxed: whoever has learnt of the push of a high actor sees what was stored before it.
        self.is_prioritised.load(Ordering::Relaxed) && self.high.len() > 0
    }

    #[cold]
    fn push_high(&self, ready: Ready) {
        // Relaxed: as in `has_high`.
        self.is_prioritised.store(true, Ordering::Relaxed);
        self.high.push(ready.into_word());
    }

    #[inline]
    fn pop_normal(&self, index: usize) -> Option<usize> {
        let Local { claimed: own, pulse, .. } = &self.locals[index];
        if pulse.beat().is_multiple_of(LOOK_INTERVAL)
            && let Some(word) = self.free_stuck(index)
        {
            return Some(word);
        }
        own.pop()
            .or_else(|| self.shared.claim(self.locals.len(), own))
            .or_else(|| self.steal(index, own))
    }

    /// The next actor where a high one waits.
    #[cold]
    fn pick(&self, index: usize) -> Option<usize> {
        let local = &self.locals[index];
        // Relaxed, both: only the worker itself uses its count.
        let mut picks = local.picks.load(Ordering::Relaxed);
        let is_for_normal = is_for_normal(&mut picks);
        local.picks.store(picks, Ordering::Relaxed);
        // A share of one moves nothing else.
        let pop_high = || self.high.claim(usize::MAX, &local.claimed);
        if is_for_normal {
            self.pop_normal(index).or_else(pop_high)
        } else {
            pop_high().or_else(|| self.pop_normal(index))
        }
    }

    /// Half of what a worker has claimed that takes nothing any more.
    #[cold]
    fn free_stuck(&self, index: usize) -> Option<usize> {
        let Local { claimed: own, pulse, .. } = &self.locals[index];
        let stuck = pulse.stuck(index, self.locals.len(), |other| &self.locals[other].pulse)?;
        self.locals[stuck].claimed.steal_into(own)
    }

    /// Half of what another worker has claimed, beginning with the next one.
    fn steal(&self, thief: usize, own: &Ring) -> Option<usize> {
        let (before, after) = self.locals.split_at(thief);
        let mut others = after[1..].iter().chain(before);
        others.find_map(|local| local.claimed.steal_into(own))
    }
}

impl ReadyQueue for LockFreeQueue {
    fn push(&self, _from: Origin, ready: Ready, _hint: Hint) {
        match ready.priority() {
            Priority::Normal => self.shared.push(ready.into_word()),
            Priority::High => self.push_high(ready),
        }
    }

    fn pop(&self, worker: WorkerId, batch: &mut Batch) {
        let index = worker.index();
        let word = if self.has_high() { self.pick(index) } else { self.pop_normal(index) };
        if let Some(word) = word {
            // SAFETY: each word was made by `into_word` and is taken out once.
            batch.push(unsafe { Ready::from_word(word) });
        }
    }

    fn has_work(&self, _worker: WorkerId) -> bool {
        // In this order, which is that in which actors move.
        self.has_high()
            || self.shared.len() > 0
            || self.locals.iter().any(|local| local.claimed.len() > 0)
    }

    fn len(&self) -> usize {
        let claimed = self.locals.iter().map(|local| local.claimed.len());
        self.high.len() + self.shared.len() + claimed.sum::<usize>()
    }
}
