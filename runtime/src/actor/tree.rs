//! Which children of a supervisor are stopped and started, and in which order. Pure.
//!
//! ```text
//!          failed, counted                     asked to stop, the last one first
//! [up] ----------------------> [to stop] -------------------------> [stopping]
//!  ^                                                                    | failed, not counted
//!  +-- started -- [starting] <------------------ [to start] <-----------+
//!                             the first one first
//! ```
//!
//! Invariants:
//! 1. A child that was asked to stop, or to start, is waited for before the next one is asked; only
//!    under one-for-one, where nobody depends on another, each child is stopped and started on its own.
//! 2. Nothing is started while something is to be stopped, but for one-for-one, as above. A child that drains starts by
//!    itself, and is asked no more.
//! 3. A failure counts once, whomever it restarts. What falls before it is asked to stop, in a round
//!    that has been counted, counts no more; what is to be restarted without a failure, and then fails by itself, does.
//! 4. Once the tree closes, children are only stopped, each for good, in the reverse order of their
//!    start.

use super::options::RestartKind;
use super::restart::History;
use super::supervision::{Shutdown, Strategy, Supervision};
use crate::event::ExitReason;
use crate::sync::planted;
use crate::time::Time;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::time::Duration;

/// A child's number: those that were started later have higher ones.
pub(super) type Key = u64;

/// A child; `link` is how its supervisor reaches it.
#[derive(Debug)]
pub(super) struct Child<L> {
    pub(super) link: L,
    pub(super) kind: RestartKind,
    pub(super) shutdown: Shutdown,
    /// Whether its incarnation has ended, and it waits for the next.
    pub(super) is_down: bool,
    /// Whether it was asked to end for good.
    is_leaving: bool,
}

/// What a child is asked next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// To end its incarnation and wait, or to end for good.
    Stop { child: Key, for_good: bool },
    /// To start again after the delay.
    Start { child: Key, delay: Duration },
}

/// See the [module](self).
#[derive(Debug)]
pub(super) struct Tree<L> {
    policy: Supervision,
    history: History,
    children: BTreeMap<Key, Child<L>>,
    to_stop: BTreeSet<Key>,
    to_start: BTreeSet<Key>,
    stopping: Option<Key>,
    starting: Option<Key>,
    /// Those that are to stop, or are stopping, in no round: nobody has failed.
    unfailed: BTreeSet<Key>,
    /// The wait before the first start of the round.
    delay: Duration,
    /// Those that are started on their own.
    alone: Vec<(Key, Duration)>,
    is_closing: bool,
}

/// There were more restarts than the supervisor allows.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TooMany;

impl<L> Tree<L> {
    pub(super) fn new(policy: Supervision) -> Self {
        Self {
            policy,
            history: History::default(),
            children: BTreeMap::new(),
            to_stop: BTreeSet::new(),
            to_start: BTreeSet::new(),
            stopping: None,
            starting: None,
            unfailed: BTreeSet::new(),
            delay: Duration::ZERO,
            alone: Vec::new(),
            is_closing: false,
        }
    }

    /// Adds a child that is starting; it was started last.
    pub(super) fn add(&mut self, key: Key, link: L, kind: RestartKind, shutdown: Shutdown) {
        let child = Child { link, kind, shutdown, is_down: false, is_leaving: false };
        self.children.insert(key, child);
    }

    pub(super) fn child(&mut self, key: Key) -> Option<&mut Child<L>> {
        self.children.get_mut(&key)
    }

    /// The children in the order of their start.
    pub(super) fn children(&self) -> impl Iterator<Item = (Key, &Child<L>)> {
        self.children.iter().map(|(&key, child)| (key, child))
    }

    /// An incarnation of a child has ended wholly, for that reason, and the child waits.
    ///
    /// # Errors
    /// [`TooMany`] when that is one failure more than the policy allows.
    pub(super) fn failed(
        &mut self,
        key: Key,
        reason: &ExitReason,
        now: Time,
        draw: impl FnOnce() -> u64,
    ) -> Result<(), TooMany> {
        let Some(child) = self.children.get_mut(&key) else { return Ok(()) };
        child.is_down = true;
        let is_ending = self.is_closing || child.is_leaving;
        self.starting.take_if(|starting| *starting == key);
        let was_asked = self.stopping.take_if(|stopping| *stopping == key).is_some();
        let is_next = planted!("tree-round-counts-each": self.to_stop.remove(&key) => false);
        let is_unfailed = self.unfailed.remove(&key);
        let is_unfailed = planted!("tree-failure-swallowed": is_unfailed => false);
        let is_counted = (was_asked || is_next) && !is_unfailed;
        if is_ending {
            return Ok(());
        }
        if is_counted || *reason == ExitReason::Restarted {
            if self.is_serial() {
                self.to_start.insert(key);
            } else {
                self.alone.push((key, Duration::ZERO));
            }
            return Ok(());
        }
        let delay = self.history.count(&self.policy.limits(), now, draw).ok_or(TooMany)?;
        self.restart_with(key, delay);
        Ok(())
    }

    /// Whether children wait for one another.
    fn is_serial(&self) -> bool {
        self.policy.strategy() != Strategy::OneForOne
    }

    /// Sets up the round that follows the failure of `key`.
    fn restart_with(&mut self, key: Key, delay: Duration) {
        let first = match self.policy.strategy() {
            Strategy::OneForOne => return self.alone.push((key, delay)),
            Strategy::OneForAll => {
                planted!("tree-child-missed": Bound::Unbounded => Bound::Included(key))
            }
            Strategy::RestForOne => Bound::Included(key),
        };
        self.delay = delay;
        let stopping = self.stopping;
        for (&key, child) in self.children.range((first, Bound::Unbounded)) {
            self.unfailed.remove(&key);
            if child.is_leaving || stopping == Some(key) {
                continue;
            }
            let set = if child.is_down { &mut self.to_start } else { &mut self.to_stop };
            set.insert(key);
        }
    }

    /// A child has started again, as it was asked to, or by itself because it drains.
    pub(super) fn started(&mut self, key: Key) {
        self.starting.take_if(|starting| *starting == key);
        if let Some(child) = self.children.get_mut(&key) {
            child.is_down = false;
        }
    }

    /// A child has ended for good.
    pub(super) fn gone(&mut self, key: Key) -> Option<Child<L>> {
        self.stopping.take_if(|stopping| *stopping == key);
        self.starting.take_if(|starting| *starting == key);
        self.to_stop.remove(&key);
        self.to_start.remove(&key);
        self.unfailed.remove(&key);
        self.children.remove(&key)
    }

    /// A child is to be restarted without having failed; `false` if there is none, or it is leaving.
    pub(super) fn restart(&mut self, key: Key) -> bool {
        let Some(child) = self.children.get(&key) else { return false };
        if child.is_leaving || self.is_closing {
            return false;
        }
        let is_asked = self.stopping == Some(key) || self.unfailed.contains(&key);
        if !child.is_down && !is_asked && self.to_stop.insert(key) {
            self.unfailed.insert(key);
        }
        true
    }

    /// A child is to end for good; the caller asks it. `false` if there is none, or it is leaving.
    pub(super) fn leave(&mut self, key: Key) -> bool {
        let Some(child) = self.children.get_mut(&key) else { return false };
        let is_new = !child.is_leaving;
        child.is_leaving = true;
        self.to_stop.remove(&key);
        self.to_start.remove(&key);
        is_new
    }

    /// Every child is to end for good.
    pub(super) fn close(&mut self) {
        self.is_closing = true;
    }

    /// The child that was asked to stop, and is waited for.
    pub(super) fn stopping(&self) -> Option<Key> {
        self.stopping
    }

    /// What is to be done now; to be asked until there is nothing.
    pub(super) fn next(&mut self) -> Option<Step> {
        while let Some((child, delay)) = self.alone.pop() {
            if self.begin(child) {
                return Some(Step::Start { child, delay });
            }
        }
        if self.stopping.is_some() {
            return None;
        }
        if self.is_closing {
            return self.close_next();
        }
        let last =
            planted!("tree-stops-forwards": self.to_stop.pop_last() => self.to_stop.pop_first());
        if let Some(child) = last {
            self.stopping = self.is_serial().then_some(child);
            self.starting.take_if(|starting| *starting == child);
            let for_good = self.children.get(&child)?.kind == RestartKind::Never;
            return Some(Step::Stop { child, for_good });
        }
        if self.starting.is_some() {
            return None;
        }
        while let Some(child) = self.to_start.pop_first() {
            if self.begin(child) {
                self.starting = Some(child);
                let delay = std::mem::take(&mut self.delay);
                return Some(Step::Start { child, delay });
            }
        }
        // The round is over, though nobody may be left to wait.
        self.delay = Duration::ZERO;
        None
    }

    /// Whether the child may start now.
    fn begin(&mut self, key: Key) -> bool {
        let child = self.children.get_mut(&key).filter(|child| !child.is_leaving && child.is_down);
        let may_start = child.is_some() && !self.is_closing;
        if let Some(child) = child.filter(|_| may_start) {
            child.is_down = false;
        }
        may_start
    }

    fn close_next(&mut self) -> Option<Step> {
        let next = planted!("tree-closes-forwards": self.children.last_key_value() => self.children.first_key_value());
        let (&child, entry) = next?;
        self.stopping = Some(child);
        let for_good = true;
        (!entry.is_leaving).then_some(Step::Stop { child, for_good })
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests;
