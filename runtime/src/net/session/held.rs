//! Actors with messages that wait, and those of them for which something was done.
//!
//! Each has a waker of its own, which notes its number and then wakes whoever polls. So what one of them waits for is polled when
//! there may be room, and not whenever anything else comes; however many there are, each has its turn.
//!
//! Invariants:
//! 1. Of an actor that is held, a message waits for room, or it is stalled: the first message that is parked is a question, and
//!    no more answers are to be made.

use crate::sync::{Arc, Mutex, Wake, waker};
use std::collections::BTreeSet;
use std::task::Waker;

/// See the [module](self).
pub(super) struct Held {
    actors: BTreeSet<u64>,
    /// Those whose message may not have been polled, and has no waker yet.
    new: BTreeSet<u64>,
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
    /// Nobody; `poller` is woken to take those that are [due](Self::due).
    pub(super) fn new(poller: &Waker) -> Self {
        let woken = Woken { actors: Mutex::new(BTreeSet::new()), poller: poller.clone() };
        let (actors, new, stalled) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
        Self { actors, new, stalled, woken: Arc::new(woken) }
    }

    /// What wakes an actor.
    pub(super) fn waker(&self, actor: u64) -> Waker {
        waker(Arc::new(Mark { actor, woken: self.woken.clone() }))
    }

    /// A message to an actor waits for room. Whoever says so takes those that are due once more before it rests.
    pub(super) fn wait(&mut self, actor: u64) {
        self.actors.insert(actor);
        self.new.insert(actor);
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

    /// Takes those that are to be looked at, and those that were stalled, if more answers are to be made.
    pub(super) fn due(&mut self, is_pressed: bool) -> BTreeSet<u64> {
        let mut due = std::mem::take(&mut *self.woken.actors.lock());
        due.append(&mut self.new);
        if !is_pressed {
            due.append(&mut self.stalled);
        }
        due
    }

    pub(super) fn is_empty(&self) -> bool {
        self.actors.is_empty()
    }

    pub(super) fn contains(&self, actor: u64) -> bool {
        self.actors.contains(&actor)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = u64> {
        self.actors.iter().copied()
    }
}
