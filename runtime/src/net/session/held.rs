//! Actors with messages that wait, and those of them for which something was done.
//!
//! Each has a waker of its own, which notes its number and then wakes whoever polls. So what one of them waits for is polled when
//! there may be room, and not whenever anything else comes; however many there are, each has its turn.
//!
//! Invariants:
//! 1. Of an actor that is held, a message waits for room, or it is due, or it is stalled: the first message that is parked is a
//!    question, and no more answers are to be made.
//! 2. Who is due is looked at before whoever becomes so later.

use crate::sync::{Arc, Mutex, Wake, waker};
use std::collections::{BTreeSet, VecDeque};
use std::task::Waker;

/// See the [module](self).
pub(super) struct Held {
    actors: BTreeSet<u64>,
    /// Those that are to be looked at, in order, none of them twice.
    due: VecDeque<u64>,
    /// The same ones.
    is_due: BTreeSet<u64>,
    stalled: BTreeSet<u64>,
    woken: Arc<Woken>,
}

/// Actors for which something was done.
struct Woken {
    actors: Mutex<BTreeSet<u64>>,
    poller: Waker,
}

/// Notes its actor.
struct Mark {
    actor: u64,
    woken: Arc<Woken>,
}

impl Wake for Mark {
    fn wake(&self) {
        if self.woken.actors.lock().insert(self.actor) {
            self.woken.poller.wake_by_ref();
        }
    }
}

impl Held {
    /// Nobody; `poller` is woken to [look](Self::look) for those that are due.
    pub(super) fn new(poller: &Waker) -> Self {
        let woken = Woken { actors: Mutex::new(BTreeSet::new()), poller: poller.clone() };
        Self {
            actors: BTreeSet::new(),
            due: VecDeque::new(),
            is_due: BTreeSet::new(),
            stalled: BTreeSet::new(),
            woken: Arc::new(woken),
        }
    }

    /// What wakes an actor.
    pub(super) fn waker(&self, actor: u64) -> Waker {
        waker(Arc::new(Mark { actor, woken: self.woken.clone() }))
    }

    /// Messages to an actor wait, and nothing is going to wake it yet: it is due.
    pub(super) fn wait(&mut self, actor: u64) {
        self.actors.insert(actor);
        self.queue(actor);
    }

    /// Messages to an actor are parked, and none of them waits for room.
    pub(super) fn stall(&mut self, actor: u64) {
        self.actors.insert(actor);
        self.stalled.insert(actor);
    }

    /// Nothing to an actor waits any more.
    pub(super) fn release(&mut self, actor: u64) {
        self.actors.remove(&actor);
    }

    /// Notes that those are due for which something was done, and those that were stalled, if more answers are to be made.
    pub(super) fn look(&mut self, is_pressed: bool) {
        let mut new = std::mem::take(&mut *self.woken.actors.lock());
        if !is_pressed {
            new.append(&mut self.stalled);
        }
        new.into_iter().for_each(|actor| self.queue(actor));
    }

    fn queue(&mut self, actor: u64) {
        if self.is_due.insert(actor) {
            self.due.push_back(actor);
        }
    }

    /// Takes the next one that is to be looked at.
    pub(super) fn next_due(&mut self) -> Option<u64> {
        let actor = self.due.pop_front()?;
        self.is_due.remove(&actor);
        Some(actor)
    }

    /// Whether some are to be looked at. One that is due may have been released since.
    pub(super) fn has_due(&self) -> bool {
        !self.is_empty() && !self.due.is_empty()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.actors.is_empty()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = u64> {
        self.actors.iter().copied()
    }
}
