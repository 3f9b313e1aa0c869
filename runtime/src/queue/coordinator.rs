//! Who is ready to run, and who runs: a coordinator over numbered mailboxes.
//!
//! Callers register a mailbox when it has got work; workers drain those that are ready, run them, and
//! say how that ended. One word per mailbox says where it stands, so there is no set and no hashing,
//! and a mailbox is never in the queue twice, nor run by two workers at a time.
//!
//! ```text
//!             register          drain            result
//!   idle ----------------> queued ------> running ------> idle, queued, held, stopped
//!                          |    ^            |  ^
//!               unregister |    | register   |  | unregister
//!                          v    |   register v  |
//!                         cancelled         noted ------> queued, held, stopped
//!   held: suspended, or waiting for a retry
//!   held -- its time has come, or resume ----------------> queued
//!   waiting for a retry -- unregister -------------------> idle
//! ```
//!
//! # Invariants
//! 1. A mailbox has one entry in the queue exactly while it is queued or cancelled.
//! 2. Only the drain that took the entry moves a mailbox on to running; there is no other way there.
//! 3. A registration is never lost: it queues the mailbox, or finds it queued, or is noted and
//!    queues it after the run, or the mailbox is held and will be queued when that ends.
//! 4. A suspended mailbox is queued by what resumes it, and by nothing else.
//! 5. A stopped mailbox's slot goes on with the next generation; whoever holds an old index is refused.
//!
//! # What callers keep
//! A registration that finds the mailbox queued costs one load, which orders nothing. So work has to be
//! handed over by read-modify-writes of one word on both sides (a swap, or a lock around it), before the
//! registration by the caller and after the drain by the handler. Then one of the two comes first:
//! either the handler finds the work, or the caller finds the mailbox running. A channel is not enough
//! by itself: most find out by loads that nothing is there, and such a look may come before the drain.
//!
//! A resumption that finds the mailbox running is not noted, and orders nothing: the mailbox may be about to be suspended.
//! So who ends what a mailbox is suspended for says that by a read-modify-write of one word, before it resumes the mailbox;
//! and who suspends it does one on the same word after [`Coordinator::handle_invoke_result`], and resumes it by itself if
//! it finds that there.
//!
//! # Example
//! ```
//! use greenroom::queue::coordinator::{Coordinator, InvokeResult, MailboxIndex, Registered};
//! use std::time::Duration;
//!
//! let coordinator = Coordinator::locked(16);
//! let mailbox = MailboxIndex { slot: 3, generation: 0 };
//! assert_eq!(coordinator.register_ready(mailbox), Registered::Queued);
//! assert_eq!(coordinator.register_ready(mailbox), Registered::Known);
//!
//! let mut batch = Vec::with_capacity(32);
//! coordinator.drain_ready_cycle(32, &mut batch);
//! assert_eq!(batch, [mailbox]);
//!
//! // More work comes during the run: it is not forgotten.
//! assert_eq!(coordinator.register_ready(mailbox), Registered::Noted);
//! let done = InvokeResult::Completed { ready_hint: false };
//! coordinator.handle_invoke_result(mailbox, done, Duration::ZERO);
//! batch.clear();
//! assert_eq!(coordinator.drain_ready_cycle(32, &mut batch), 1);
//! ```
//!
//! [`Coordinator::worker`] shows the hand-over of work, with two workers.

mod holds;
mod lock_free;
mod locked;
mod per_core;
mod ready;
mod stealing;
mod word;

pub use lock_free::LockFree;
pub use locked::Locked;
pub use per_core::{DeskEnd, PerCore};
pub use ready::{ReadySlots, Worker};
pub use stealing::{RingEnd, Stealing};

use crate::sync::{AtomicU64, Mutex, Ordering, planted};
use holds::Holds;
use std::time::Duration;
use word::{Phase, Word};

/// A mailbox's place, and which of the mailboxes that have had this place it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MailboxIndex {
    /// The place, counted from zero.
    pub slot: u32,
    /// How many mailboxes have had the place before.
    pub generation: u32,
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InvokeResult {
    /// All seen work is done.
    Completed {
        /// Whether there is more, so that the mailbox is to run again.
        ready_hint: bool,
    },
    /// There is more work; others go first.
    Yielded,
    /// The mailbox is not to run until it is resumed; what is registered until then waits.
    Suspended {
        /// After which time it is resumed without being asked.
        resume_after: Option<Duration>,
    },
    /// The run failed.
    Failed {
        /// After which time it is run again, whatever is registered until then. Without one it
        /// rests until it is registered, or runs again at once if that has happened.
        retry_after: Option<Duration>,
    },
    /// The mailbox has ended, and its slot is free for the next generation.
    Stopped,
}

/// What became of a registration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Registered {
    /// The mailbox is now in the queue.
    Queued,
    /// The mailbox is running, and will be queued again after the run.
    Noted,
    /// Nothing was to be done: it is queued, noted, or held and will be queued.
    Known,
    /// There is no such mailbox, or no more.
    Stale,
}

/// What became of a mailbox after its run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Handled {
    /// It is in the queue again.
    Requeued,
    /// It rests until it is registered.
    Rested,
    /// It is held until it is resumed.
    Held,
    /// It has ended.
    Ended,
    /// It was not running; nothing was done.
    NotRunning,
}

/// Which mailboxes are ready, over a queue of a chosen kind.
///
/// One is made with memory for all its slots, and for rings between all its workers; where there is not as much, the program
/// ends as with any allocation. Every method may be called from any thread. None blocks for longer than a lock is held for one
/// batch. None allocates, except where mailboxes are held for a time, where the list that a drain is given is full, and
/// where a thread was interrupted in the middle of a step of a `lock_free` queue.
///
/// | made by | the queue | for |
/// |---|---|---|
/// | [`locked`](Coordinator::locked) | one, behind a lock | one or two workers |
/// | [`lock_free`](Coordinator::lock_free) | one, without a lock | callers that must not wait for each other |
/// | [`stealing`](Coordinator::stealing) | a ring per worker, and thieves | many workers |
/// | [`per_core`](Coordinator::per_core) | one per worker, of slots that always run there | many workers, work that is spread evenly |
#[derive(Debug)]
pub struct Coordinator<Q = Locked> {
    words: Box<[AtomicU64]>,
    ready: Q,
    held: Mutex<Holds>,
}

impl Coordinator {
    /// Makes a coordinator of `slots` mailboxes, all idle, over a [`Locked`] queue.
    #[must_use]
    pub fn locked(slots: u32) -> Self {
        Self::with_queue(slots, Locked::new(slots))
    }
}

impl Coordinator<LockFree> {
    /// Makes a coordinator of `slots` mailboxes, all idle, over a [`LockFree`] queue.
    #[must_use]
    pub fn lock_free(slots: u32) -> Self {
        Self::with_queue(slots, LockFree::new(slots))
    }
}

impl Coordinator<Stealing> {
    /// Makes a coordinator of `slots` mailboxes, all idle, over a [`Stealing`] queue.
    #[must_use]
    pub fn stealing(slots: u32, workers: usize) -> Self {
        Self::with_queue(slots, Stealing::new(slots, workers))
    }
}

impl Coordinator<PerCore> {
    /// Makes a coordinator of `slots` mailboxes, all idle, over a [`PerCore`] queue.
    #[must_use]
    pub fn per_core(slots: u32, workers: usize) -> Self {
        Self::with_queue(slots, PerCore::new(slots, workers))
    }
}

impl<Q: ReadySlots> Coordinator<Q> {
    /// Makes a coordinator of `slots` mailboxes, all idle and of generation zero, over `ready`.
    #[must_use]
    pub fn with_queue(slots: u32, ready: Q) -> Self {
        let words = (0..slots).map(|_| AtomicU64::new(Word::FIRST.0)).collect();
        Self { words, ready, held: Mutex::new(Holds::default()) }
    }

    /// Mailboxes there can be.
    #[must_use]
    pub fn slots(&self) -> usize {
        self.words.len()
    }

    /// The mailbox that has the slot now.
    #[must_use]
    pub fn index(&self, slot: u32) -> Option<MailboxIndex> {
        // Relaxed: a later use of the index is checked again.
        let word = Word(self.words.get(slot as usize)?.load(Ordering::Relaxed));
        Some(MailboxIndex { slot, generation: word.generation() })
    }

    /// Says that a mailbox has work. See the [module](self) for what the caller keeps.
    #[inline]
    pub fn register_ready(&self, index: MailboxIndex) -> Registered {
        self.register(None, index)
    }

    /// Takes a registration back, in constant time: `true` if the mailbox was queued or noted, or waits for a retry, which
    /// it then gets no more. One that is being drained at this moment may run all the same.
    ///
    /// A suspended mailbox stays so, and there is nothing to take back: what resumes it queues it, whether it is registered
    /// or not.
    pub fn unregister(&self, index: MailboxIndex) -> bool {
        let changed = self.change(index, |phase| match phase {
            Phase::Queued => Some(Phase::Cancelled),
            Phase::Noted => Some(Phase::Running),
            Phase::Retrying => Some(Phase::Idle),
            Phase::Suspended => {
                planted!("coordinator-unregister-resumes": None => Some(Phase::Idle))
            }
            Phase::Idle | Phase::Cancelled | Phase::Running => None,
        });
        changed.is_some()
    }

    /// Ends a mailbox's suspension, or its wait for a retry: it is queued. `true` if it was held.
    ///
    /// `false` also where the mailbox still runs and is about to be suspended. See the [module](self) for what callers
    /// keep, so that it does not stay so.
    pub fn resume(&self, index: MailboxIndex) -> bool {
        let held = |phase: Phase| phase.is_held().then_some(Phase::Queued);
        let resumed = self.change(index, held).is_some();
        if resumed {
            self.ready.push(None, index.slot);
        }
        resumed
    }

    /// Moves up to `max` ready mailboxes behind those in `out`, and says how many: they count as
    /// running until [`handle_invoke_result`](Self::handle_invoke_result). Unregistered ones do not
    /// count.
    #[inline]
    pub fn drain_ready_cycle(&self, max: usize, out: &mut Vec<MailboxIndex>) -> usize {
        self.drain(None, max, out)
    }

    /// Says how a run ended. `now` is the time since a moment of the caller's choice.
    #[inline]
    pub fn handle_invoke_result(
        &self,
        index: MailboxIndex,
        result: InvokeResult,
        now: Duration,
    ) -> Handled {
        self.handle(None, index, result, now)
    }

    /// Queues the mailboxes whose hold ends at `now` or before, and says how many.
    pub fn resume_due(&self, now: Duration) -> usize {
        let mut resumed = 0;
        let mut held = self.held.lock();
        while let Some((slot, word)) = held.pop_due(now) {
            // The very same hold, not a later one: each has a number of its own.
            // AcqRel: pairs with those of other changes of the word. Relaxed: nothing is done then.
            let ended = self.words[slot as usize].compare_exchange(
                word.0,
                word.at(Phase::Queued).0,
                Ordering::AcqRel,
                Ordering::Relaxed,
            );
            if ended.is_ok() {
                self.ready.push(None, slot);
                resumed += 1;
            }
        }
        resumed
    }

    /// When [`resume_due`](Self::resume_due) has something to do next, unless a hold is ended before.
    #[must_use]
    pub fn next_due(&self) -> Option<Duration> {
        self.held.lock().next(|slot, word| self.lasts(slot, word))
    }

    #[inline]
    fn register(&self, from: Option<&mut Q::End<'_>>, index: MailboxIndex) -> Registered {
        let Some(state) = self.words.get(index.slot as usize) else { return Registered::Stale };
        // Relaxed: a guess, or a duplicate, which the caller's hand-over of work orders.
        let mut word = Word(state.load(Ordering::Relaxed));
        loop {
            if word.generation() != index.generation {
                return Registered::Stale;
            }
            let (next, outcome) = match word.phase() {
                Phase::Idle | Phase::Cancelled => (Phase::Queued, Registered::Queued),
                Phase::Running => planted!(
                    "coordinator-stale-wake": (Phase::Noted, Registered::Noted)
                    => (Phase::Queued, Registered::Queued)
                ),
                Phase::Queued | Phase::Noted | Phase::Suspended | Phase::Retrying => {
                    return Registered::Known;
                }
            };
            // AcqRel: releases what the caller did to the drain and to the next change; acquires the
            // run before. Relaxed: only a guess again.
            let order =
                planted!("coordinator-register-relaxed": Ordering::AcqRel => Ordering::Relaxed);
            let next = word.at(next).0;
            match state.compare_exchange_weak(word.0, next, order, Ordering::Relaxed) {
                Ok(_) => {
                    let was_idle = planted!("coordinator-stale-wake":
                        word.phase() == Phase::Idle => word.phase() != Phase::Cancelled);
                    if was_idle {
                        self.ready.push(from, index.slot);
                    }
                    return outcome;
                }
                Err(now) => word = Word(now),
            }
        }
    }

    #[inline]
    fn drain(
        &self,
        mut at: Option<&mut Q::End<'_>>,
        max: usize,
        out: &mut Vec<MailboxIndex>,
    ) -> usize {
        let before = out.len();
        let mut missing = max;
        while missing > 0 {
            let start = |slot| out.extend(self.start(slot));
            let popped = self.ready.pop(at.as_deref_mut(), missing, start);
            if popped == 0 {
                break;
            }
            // A queue of somebody else's may give more than it is asked for.
            missing = max.saturating_sub(out.len() - before);
        }
        out.len() - before
    }

    /// Moves on a mailbox whose entry was taken: to running, or to idle if it was cancelled. One that has no entry
    /// stays what it is: a queue of somebody else's has made that up.
    #[inline]
    fn start(&self, slot: u32) -> Option<MailboxIndex> {
        let state = self.words.get(slot as usize)?;
        // Relaxed: a guess; the exchange decides.
        let mut word = Word(state.load(Ordering::Relaxed));
        loop {
            // Others may change the one into the other.
            let cancelled = match word.phase() {
                Phase::Queued => false,
                Phase::Cancelled => true,
                Phase::Idle
                | Phase::Running
                | Phase::Noted
                | Phase::Suspended
                | Phase::Retrying => return None,
            };
            let next = word.at(if cancelled { Phase::Idle } else { Phase::Running });
            // AcqRel: acquires what callers did before they registered; pairs with the AcqRel of
            // registrations during the run. Relaxed: only a guess again.
            match state.compare_exchange_weak(word.0, next.0, Ordering::AcqRel, Ordering::Relaxed) {
                Ok(_) if cancelled => return None,
                Ok(_) => return Some(MailboxIndex { slot, generation: word.generation() }),
                Err(now) => word = Word(now),
            }
        }
    }

    #[inline]
    fn handle(
        &self,
        from: Option<&mut Q::End<'_>>,
        index: MailboxIndex,
        result: InvokeResult,
        now: Duration,
    ) -> Handled {
        let Some(state) = self.words.get(index.slot as usize) else { return Handled::NotRunning };
        // Relaxed: a guess; the exchange decides.
        let mut word = Word(state.load(Ordering::Relaxed));
        let next = loop {
            if word.generation() != index.generation {
                return Handled::NotRunning;
            }
            let noted = match word.phase() {
                Phase::Running => false,
                Phase::Noted => true,
                Phase::Idle
                | Phase::Queued
                | Phase::Cancelled
                | Phase::Suspended
                | Phase::Retrying => return Handled::NotRunning,
            };
            let next = word.after(result, planted!("coordinator-note-lost": noted => false));
            // AcqRel: releases the run to the next; acquires what was registered during it.
            // Relaxed: only a guess again.
            let order =
                planted!("coordinator-result-relaxed": Ordering::AcqRel => Ordering::Relaxed);
            match state.compare_exchange_weak(word.0, next.0, order, Ordering::Relaxed) {
                Ok(_) => break next,
                Err(changed) => word = Word(changed),
            }
        };
        match next.phase() {
            Phase::Queued => {
                self.ready.push(from, index.slot);
                Handled::Requeued
            }
            Phase::Suspended | Phase::Retrying => {
                self.hold(index.slot, next, result, now);
                Handled::Held
            }
            _ if result == InvokeResult::Stopped => Handled::Ended,
            _ => Handled::Rested,
        }
    }

    /// Notes when a hold ends by itself.
    #[cold]
    fn hold(&self, slot: u32, word: Word, result: InvokeResult, now: Duration) {
        if let InvokeResult::Suspended { resume_after: Some(after) }
        | InvokeResult::Failed { retry_after: Some(after) } = result
        {
            let due = now.saturating_add(after);
            self.held.lock().add(due, slot, word, |slot, word| self.lasts(slot, word));
        }
    }

    /// Whether a mailbox is in the very same hold as ever.
    fn lasts(&self, slot: u32, word: Word) -> bool {
        // Relaxed: the lock around the holds orders this behind the hold's beginning. One that has
        // ended comes back after 2^29 others, whose last one would be ended in its place.
        self.words[slot as usize].load(Ordering::Relaxed) == word.0
    }

    /// Changes a mailbox's phase, where `to` names another; the phase it was in.
    fn change(&self, index: MailboxIndex, to: impl Fn(Phase) -> Option<Phase>) -> Option<Phase> {
        let state = self.words.get(index.slot as usize)?;
        // Relaxed: a guess; the exchange decides.
        let mut word = Word(state.load(Ordering::Relaxed));
        loop {
            if word.generation() != index.generation {
                return None;
            }
            let next = word.at(to(word.phase())?);
            // AcqRel: pairs with those of other changes of the word. Relaxed: only a guess again.
            match state.compare_exchange_weak(word.0, next.0, Ordering::AcqRel, Ordering::Relaxed) {
                Ok(_) => return Some(word.phase()),
                Err(now) => word = Word(now),
            }
        }
    }
}

#[cfg(all(test, loom))]
mod model;

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests;
