//! How long a plain thread that has asked looks for its answer before it sleeps.
//!
//! Where it sleeps at once each question costs two wake-ups: the worker's, and that of whoever asked. Who looks as long as its
//! own wake-up takes is never more than twice as late as who knows what is best (Karlin, Li, Manasse and Owicki, "Empirical
//! studies of competitive spinning for a shared-memory multiprocessor", 1991). Here the answer comes after the worker's wake-up at
//! the soonest, so that a look is longer than that; so it is given up where it does not help, and tried again now and then.

use crate::sync::{AtomicU32, Ordering, planted};
use crate::time::Time;
use std::time::Duration;

/// The worker's wake-up, which takes up to 17 µs in a virtual machine, and a handler of some tens of microseconds.
const LOOK: Duration = Duration::from_micros(50);
/// So often in a row a look may be in vain before most questions go without.
const IN_VAIN_MAX: u32 = 4;
/// Questions without a look before the next one that has one.
const WITHOUT: u32 = 64;
/// Somebody looks: another one would take a core from the workers for nothing.
const LOOKING: u32 = 1 << 31;

/// How long who asks looks.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Looking {
    /// All of them so long.
    For(Duration),
    /// One at a time, as long as it helps.
    WhereItHelps,
}

/// The looks of a system's askers.
#[derive(Debug)]
pub(crate) struct Looks {
    looking: Looking,
    /// Looks in vain, in a row, and questions that went without one since; or that bit and the first. It stands for nothing but
    /// itself, so all is Relaxed.
    in_vain: AtomicU32,
}

impl Looks {
    pub(crate) fn new(looking: Looking) -> Self {
        Self { looking, in_vain: AtomicU32::new(0) }
    }

    /// One look, from `now` on.
    pub(crate) fn begin(&self, now: Time) -> Look<'_> {
        let fixed = |time| Look { learns: None, after: 0, until: now.after(time) };
        match self.looking {
            Looking::For(time) => fixed(time),
            Looking::WhereItHelps => match self.take_turn() {
                Some(after) => Look { learns: Some(&self.in_vain), after, until: now.after(LOOK) },
                None => fixed(Duration::ZERO),
            },
        }
    }

    /// Looks in vain in a row, of which the last one is over.
    #[cfg(test)]
    pub(crate) fn in_vain(&self) -> u32 {
        self.in_vain.load(Ordering::Relaxed) & !LOOKING
    }

    /// After how many looks in vain the next one begins, if it may.
    fn take_turn(&self) -> Option<u32> {
        let before = self.in_vain.load(Ordering::Relaxed);
        if planted!("all-look-at-once": before & LOOKING != 0 => false) {
            return None;
        }
        let count = before & !LOOKING;
        let in_vain = count.min(IN_VAIN_MAX);
        let is_due = !(IN_VAIN_MAX..IN_VAIN_MAX + WITHOUT).contains(&count);
        let then = if is_due { LOOKING | in_vain } else { count + 1 };
        let (done, failed) = (Ordering::Relaxed, Ordering::Relaxed);
        let exchanged = self.in_vain.compare_exchange(before, then, done, failed);
        (is_due && exchanged.is_ok()).then_some(in_vain)
    }
}

/// A look for an answer, in vain unless it is said to have helped.
#[derive(Debug)]
pub(crate) struct Look<'a> {
    /// Where it is written down what came of it.
    learns: Option<&'a AtomicU32>,
    /// So many in vain.
    after: u32,
    until: Time,
}

impl Look<'_> {
    /// Whether to look again. Once it is not, another thread may.
    pub(crate) fn goes_on(&mut self, now: Time) -> bool {
        let goes_on = now < self.until;
        if !goes_on {
            self.end(planted!("looks-in-vain": (self.after + 1).min(IN_VAIN_MAX) => 0));
        }
        goes_on
    }

    /// The answer was there before the end.
    pub(crate) fn helped(mut self) {
        self.end(0);
    }

    fn end(&mut self, in_vain: u32) {
        if let Some(word) = self.learns.take() {
            word.store(in_vain, Ordering::Relaxed);
        }
    }
}

impl Drop for Look<'_> {
    fn drop(&mut self) {
        self.end((self.after + 1).min(IN_VAIN_MAX));
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests;
