//! Holds back what runs beside the workers of a system in a simulated world: the world gives those their turns, but
//! tokio gives the tasks of actors theirs.

use crate::sync::{Arc, Mutex};
use std::collections::BTreeMap;
use std::task::{Context, Poll, Waker};

/// Who passes a gate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Passing {
    #[default]
    All,
    /// Who is let in, once each time.
    OneByOne,
    Nobody,
}

/// Open to all at first. Cloning gives another handle.
#[derive(Clone, Debug)]
pub(crate) struct Gate(Arc<Mutex<Inside>>);

#[derive(Debug, Default)]
struct Inside {
    passing: Passing,
    /// Those who wait, in the order in which they came.
    waiting: BTreeMap<u64, Waiting>,
    came: u64,
    /// Woken when somebody waits to be let in.
    porter: Option<Waker>,
}

#[derive(Debug)]
struct Waiting {
    waker: Waker,
    is_let_in: bool,
}

impl Default for Gate {
    fn default() -> Self {
        Self(Arc::new(Mutex::new(Inside::default())))
    }
}

impl Gate {
    /// Sets who passes from now on, and wakes those who wait and may.
    pub(crate) fn set(&self, passing: Passing) {
        let mut inside = self.0.lock();
        if std::mem::replace(&mut inside.passing, passing) == passing {
            return;
        }
        let woken: Vec<_> = match passing {
            Passing::All => {
                let waiting = std::mem::take(&mut inside.waiting);
                waiting.into_values().map(|waiting| waiting.waker).collect()
            }
            Passing::OneByOne => {
                let let_in = inside.waiting.values().filter(|waiting| waiting.is_let_in);
                let let_in = let_in.map(|waiting| &waiting.waker);
                let_in.chain(&inside.porter).cloned().collect()
            }
            Passing::Nobody => Vec::new(),
        };
        drop(inside);
        woken.into_iter().for_each(Waker::wake);
    }

    /// Sets who is woken when somebody waits to be let in.
    pub(crate) fn set_porter(&self, porter: Waker) {
        self.0.lock().porter = Some(porter);
    }

    /// Lets in who has waited longest; whether more wait for that.
    pub(crate) fn let_one_in(&self) -> bool {
        let mut inside = self.0.lock();
        let mut waiting = inside.waiting.values_mut().filter(|waiting| !waiting.is_let_in);
        let first = waiting.next().map(|first| {
            first.is_let_in = true;
            first.waker.clone()
        });
        let more = waiting.next().is_some();
        drop(inside);
        first.into_iter().for_each(Waker::wake);
        more
    }

    /// What one task passes by, each time that it is polled.
    pub(crate) fn entrance(&self) -> Entrance {
        Entrance { gate: self.clone(), number: 0 }
    }
}

/// See [`Gate::entrance`].
#[derive(Debug)]
pub(crate) struct Entrance {
    gate: Gate,
    /// Its number among those who wait; zero if it does not.
    number: u64,
}

impl Entrance {
    /// Whether one may pass now; otherwise wakes the task when it may.
    pub(crate) fn poll_pass(&mut self, cx: &Context<'_>) -> Poll<()> {
        let inside = &mut *self.gate.0.lock();
        let waiting = inside.waiting.get(&self.number);
        let is_let_in = waiting.is_some_and(|waiting| waiting.is_let_in);
        let passes = match inside.passing {
            Passing::All => true,
            Passing::OneByOne => is_let_in,
            Passing::Nobody => false,
        };
        if passes {
            inside.waiting.remove(&self.number);
            self.number = 0;
            return Poll::Ready(());
        }
        if waiting.is_none() {
            if let (Passing::OneByOne, Some(porter)) = (inside.passing, &inside.porter) {
                porter.wake_by_ref();
            }
            inside.came += 1;
            self.number = inside.came;
        }
        let waker = cx.waker().clone();
        inside.waiting.insert(self.number, Waiting { waker, is_let_in });
        Poll::Pending
    }
}

impl Drop for Entrance {
    fn drop(&mut self) {
        // Not within the lock: with it may go what else passes the gate.
        let gone = self.gate.0.lock().waiting.remove(&self.number);
        drop(gone);
    }
}
