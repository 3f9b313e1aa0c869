//! Counters of one system. Every message that is not handled is in exactly one of them.

use super::{DeadLetterReason, Undelivered};
use crate::sync::{AtomicU64, Ordering};

macro_rules! counters {
    ($($(#[doc = $doc:literal])+ $name:ident),+ $(,)?) => {
        /// What a system has counted since it was built; see [`System::counts`](crate::System::counts).
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        #[non_exhaustive]
        pub struct Counts { $($(#[doc = $doc])+ pub $name: u64),+ }

        /// The counters behind [`Counts`].
        #[derive(Debug, Default)]
        pub(crate) struct Counters { $(pub(crate) $name: Count),+ }

        impl Counters {
            pub(super) fn read(&self) -> Counts {
                Counts { $($name: self.$name.0.load(Ordering::Relaxed)),+ }
            }
        }
    };
}

counters! {
    /// Actors whose start hook succeeded, restarts not counted.
    started,
    /// Actors that ended.
    ended,
    /// Start hooks that succeeded of actors that had started before.
    restarts,
    /// Panics of handlers and hooks, of methods that timers, watches and results call, and of tasks, piped futures and
    /// streams. Not those in the drop of what nobody wants any more, as of a state
    /// ([`Event::DropPanicked`](crate::Event::DropPanicked)).
    panics,
    /// Errors that told handlers returned.
    tell_failures,
    /// Messages given back to their sender because the mailbox was full, or the system's budget used up.
    rejected_full,
    /// Messages given back to their sender because the actor had ended or was draining.
    rejected_closed,
    /// Messages queued or stashed when their actor ended.
    dead_stopped,
    /// Messages dropped on arrival by the policy of a full mailbox.
    dropped_newest,
    /// Messages dropped to make room by the policy of a full mailbox.
    dropped_oldest,
    /// Messages whose handler panicked or was cut off.
    dead_crashed,
    /// Messages that were to be stashed when the stash was full.
    dead_stash_full,
    /// Messages without a handler in the state of their actor.
    dead_refused,
    /// Messages whose deadline passed before their handler began.
    dead_expired,
    /// Questions whose handler was cancelled, or did not begin, because the asker had gone or the ask was one of a cycle.
    dead_cancelled,
    /// Asks that failed because they would have waited for one another.
    ask_cycles,
    /// Messages on their way to another node when the connection ended.
    maybe_delivered,
    /// Messages to or from another node that were not handled there.
    undelivered,
    /// Messages to or from another node that were more than the receiving node allows.
    over_limit,
    /// Replies that came too late.
    late_replies,
    /// Handlers and hooks that kept their worker for longer than the budget.
    overruns,
    /// Times that an actor was overloaded, or the system's budget used up.
    overloads,
    /// Awaited tells that were held back until their receiver was relieved.
    held_back,
    /// Times that a thread of the system, a worker's or the one for timers, was woken from its sleep, by work, a timer
    /// or a socket. While it stays the same, the system takes no processor time.
    wakings,
}

/// One counter. Relaxed throughout: it orders nothing, it only counts.
#[derive(Debug, Default)]
pub(crate) struct Count(AtomicU64);

impl Count {
    pub(crate) fn add_one(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    /// As [`Count::add_one`], where no other thread adds: by plain loads and stores.
    fn add_one_alone(&self) {
        self.0.store(self.0.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }
}

/// The beginnings and ends of actors that one worker has seen. A part of the counters that every actor
/// adds to, and no two workers both.
#[derive(Debug, Default)]
pub(crate) struct Lives {
    started: Count,
    ended: Count,
}

impl Lives {
    /// Counts an actor whose start hook succeeded. For its own worker.
    pub(crate) fn add_start(&self) {
        self.started.add_one_alone();
    }

    /// Counts an actor that ended. For its own worker.
    pub(crate) fn add_end(&self) {
        self.ended.add_one_alone();
    }

    /// Adds them to what else was counted.
    pub(super) fn add_to(&self, counts: &mut Counts) {
        counts.started += self.started.0.load(Ordering::Relaxed);
        counts.ended += self.ended.0.load(Ordering::Relaxed);
    }
}

impl Counters {
    pub(crate) fn dead_letter(&self, reason: DeadLetterReason) {
        let counter = match reason {
            DeadLetterReason::Stopped => &self.dead_stopped,
            DeadLetterReason::DroppedNewest => &self.dropped_newest,
            DeadLetterReason::DroppedOldest => &self.dropped_oldest,
            DeadLetterReason::Crashed => &self.dead_crashed,
            DeadLetterReason::StashFull => &self.dead_stash_full,
            DeadLetterReason::Refused => &self.dead_refused,
            DeadLetterReason::Expired => &self.dead_expired,
            DeadLetterReason::Cancelled => &self.dead_cancelled,
            DeadLetterReason::MaybeDelivered => &self.maybe_delivered,
            DeadLetterReason::Undelivered(Undelivered::OverLimit) => &self.over_limit,
            DeadLetterReason::Undelivered(_) => &self.undelivered,
        };
        counter.add_one();
    }
}
