//! Those who wait for a number of something, in the order in which they came.

use crate::sync::Mutex;
use std::collections::VecDeque;
use std::task::Waker;

/// A queue of those who wait; each is known by a ticket.
#[derive(Debug, Default)]
pub(super) struct Waiters {
    waiting: VecDeque<Waiting>,
    /// Who comes next.
    ticket: u64,
}

#[derive(Debug)]
struct Waiting {
    ticket: u64,
    count: usize,
    waker: Waker,
}

impl Waiters {
    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Adds one who waits for `count`; returns its ticket.
    pub(super) fn push(&mut self, count: usize, waker: &Waker) -> u64 {
        let ticket = self.ticket;
        self.ticket += 1;
        self.waiting.push_back(Waiting { ticket, count, waker: waker.clone() });
        ticket
    }

    /// What the first one waits for.
    pub(super) fn first(&self) -> Option<usize> {
        self.waiting.front().map(|first| first.count)
    }

    /// Takes the first one out.
    pub(super) fn pop(&mut self) -> Option<Waker> {
        self.waiting.pop_front().map(|first| first.waker)
    }

    /// Takes one out, if it is there still. What is returned is to be dropped without the lock.
    pub(super) fn remove(&mut self, ticket: u64) -> Option<Waker> {
        let place = self.place(ticket)?;
        self.waiting.remove(place).map(|gone| gone.waker)
    }

    /// Takes everybody out.
    pub(super) fn take_all(&mut self) -> impl Iterator<Item = Waker> + use<> {
        std::mem::take(&mut self.waiting).into_iter().map(|waiting| waiting.waker)
    }

    /// Shows how each one is woken, in order.
    pub(super) fn look(&self, each: impl FnMut(&Waker)) {
        self.waiting.iter().map(|waiting| &waiting.waker).for_each(each);
    }

    fn place(&self, ticket: u64) -> Option<usize> {
        self.waiting.binary_search_by_key(&ticket, |waiting| waiting.ticket).ok()
    }
}

/// Whether the one with that ticket still waits; if so, it leaves this waker.
pub(super) fn still_waits(waiters: &Mutex<Waiters>, ticket: u64, waker: &Waker) -> bool {
    let mut waiters = waiters.lock();
    let Some(place) = waiters.place(ticket) else { return false };
    let kept = &mut waiters.waiting[place].waker;
    let old = (!kept.will_wake(waker)).then(|| std::mem::replace(kept, waker.clone()));
    drop(waiters);
    // Without the lock, as its drop may run anything.
    drop(old);
    true
}
