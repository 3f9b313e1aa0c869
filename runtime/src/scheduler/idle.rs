//! Who sleeps, who searches, and who must be woken: no wake-up is lost and few are wasted.
//!
//! One word counts the workers that sleep and those that search for work; a stack behind a lock
//! names the sleepers, so that the one that slept last (its cache is warm) is woken first.
//!
//! Steps:
//! 1. A pusher first pushes, then reads the word by a read-modify-write ([`Idle::notify`]). If someone
//!    sleeps and nobody searches, it wakes one.
//! 2. A worker that finds nothing counts itself a sleeper by a read-modify-write ([`Idle::sleep`]),
//!    looks once more, and only then sleeps.
//! 3. A searcher that finds work, and was the last one searching, wakes another ([`Idle::found`]).
//!
//! Why no wake-up is lost: both steps change the same word, so one comes first. If the pusher's came
//! first, the sleeper's acquires the push and the second look finds it. If the sleeper's came first,
//! the pusher sees a sleeper, and wakes it unless somebody searches; that searcher in turn either
//! finds the work or becomes a sleeper later, by the same step, and looks again.

use crate::sync::{AtomicU64, CachePadded, Mutex, Ordering};

const SEARCHER: u64 = 1 << 32;
const SLEEPER: u64 = 1;

const fn searchers(word: u64) -> u64 {
    word / SEARCHER
}

const fn sleepers(word: u64) -> u64 {
    word % SEARCHER
}

/// See the [module](self).
#[derive(Debug)]
pub(crate) struct Idle {
    word: CachePadded<AtomicU64>,
    stack: Mutex<Vec<usize>>,
}

impl Idle {
    pub(crate) fn new(workers: usize) -> Self {
        Self {
            word: CachePadded(AtomicU64::new(0)),
            stack: Mutex::new(Vec::with_capacity(workers)),
        }
    }

    /// After a push that a sleeper might have to find: the worker to wake, if any. It counts as
    /// searching from now on.
    #[must_use]
    pub(crate) fn notify(&self) -> Option<usize> {
        // AcqRel: the rendezvous with `sleep`; releases the push to it.
        let word = self.word.fetch_add(0, Ordering::AcqRel);
        self.pick(word)
    }

    /// The same after a push that the calling worker itself will find: cheaper, and allowed to miss
    /// a sleeper, who would only have helped.
    #[must_use]
    #[inline]
    pub(crate) fn notify_helper(&self) -> Option<usize> {
        // Relaxed: a guess; the caller itself runs the work if it is wrong.
        self.pick(self.word.load(Ordering::Relaxed))
    }

    /// Whether a worker sleeps and none searches. A hint.
    #[inline]
    pub(crate) fn could_help(&self) -> bool {
        // Relaxed: a hint.
        let word = self.word.load(Ordering::Relaxed);
        sleepers(word) > 0 && searchers(word) == 0
    }

    /// A worker that sleeps, if any does; it goes on sleeping. A hint.
    pub(crate) fn sleeper(&self) -> Option<usize> {
        if self.is_all_awake() { None } else { self.stack.lock().last().copied() }
    }

    /// Whether no worker sleeps. A hint.
    #[inline]
    pub(crate) fn is_all_awake(&self) -> bool {
        // Relaxed: a hint.
        sleepers(self.word.load(Ordering::Relaxed)) == 0
    }

    #[inline]
    fn pick(&self, word: u64) -> Option<usize> {
        if sleepers(word) == 0 || searchers(word) > 0 { None } else { self.rouse() }
    }

    #[cold]
    fn rouse(&self) -> Option<usize> {
        let worker = self.stack.lock().pop()?;
        // AcqRel: keeps the order of the rendezvous for those who read the word later.
        self.word.fetch_add(SEARCHER - SLEEPER, Ordering::AcqRel);
        Some(worker)
    }

    /// The calling worker has found nothing at home and searches.
    pub(crate) fn search(&self) {
        // AcqRel: as in `rouse`.
        self.word.fetch_add(SEARCHER, Ordering::AcqRel);
    }

    /// The calling searcher found work: the worker to wake in its place, if it was the last.
    #[must_use]
    pub(crate) fn found(&self) -> Option<usize> {
        // AcqRel: as in `rouse`.
        let before = self.word.fetch_sub(SEARCHER, Ordering::AcqRel);
        if searchers(before) == 1 && sleepers(before) > 0 { self.rouse() } else { None }
    }

    /// The calling searcher is about to sleep; it must look for work once more after this.
    pub(crate) fn sleep(&self, worker: usize) {
        let mut stack = self.stack.lock();
        stack.push(worker);
        // AcqRel: the rendezvous with `notify`; acquires the push that came before it.
        self.word.fetch_sub(SEARCHER - SLEEPER, Ordering::AcqRel);
    }

    /// The calling sleeper is awake, for whatever reason. `true`: it was woken to search, and counts
    /// as a searcher; `false`: it woke by itself, and counts as neither.
    pub(crate) fn wake(&self, worker: usize) -> bool {
        let mut stack = self.stack.lock();
        let Some(place) = stack.iter().position(|&sleeper| sleeper == worker) else { return true };
        stack.swap_remove(place);
        // AcqRel: as in `rouse`.
        self.word.fetch_sub(SLEEPER, Ordering::AcqRel);
        false
    }
}

#[cfg(all(test, loom))]
mod model;
