//! Who watches an actor of the peer, and has messages of the peer that wait for room here or for credit there, hears of its
//! end behind those.
//!
//! ```text
//! ENDED -> proxy ends -> a watcher here that is held -> news -> RELEASED -> parked behind its messages -> Down
//!                     -> any other watcher -------------------------------------------------------------> Down
//! ```
//!
//! The others are told at once: what one actor has no time for is no matter of theirs.

use super::{Inlet, Session};
use crate::actor::Detour;
use crate::event::ExitReason;
use crate::net::endings::ConnectionEnd;
use crate::net::frame::ALL_ENDS;
use crate::net::outlet::Outlet;
use crate::net::remote::Fence;
use crate::sync::{Arc, Mutex, planted};
use crate::task::cell::CellRef;
use std::collections::{BTreeMap, BTreeSet};
use std::task::Waker;

/// News at most that are kept for actors with messages that wait at the peer; one that causes more is cut off. [ENV-25]
const UNTOLD_MAX: usize = 65_536;

/// See the [module](self).
pub(super) struct News {
    /// What is told to whom when it is dropped; `None` when the session has ended, which has parted with all messages.
    untold: Mutex<Option<Vec<Untold>>>,
    /// That of the session.
    waker: Waker,
}

impl News {
    pub(super) fn new(waker: &Waker) -> Arc<Self> {
        Arc::new(Self { untold: Mutex::new(Some(Vec::new())), waker: waker.clone() })
    }

    fn bring(&self, news: Untold) {
        let late = match &mut *self.untold.lock() {
            Some(untold) => {
                untold.push(news);
                None
            }
            None => Some(news),
        };
        self.waker.wake_by_ref();
        // With the lock free: it is told here.
        drop(late);
    }

    pub(super) fn close(&self) {
        let untold = self.untold.lock().take();
        // As above.
        drop(untold);
    }
}

/// What the end of an actor of the peer is to somebody here.
struct Untold {
    /// How many actors had ended with it.
    end: u64,
    to: CellRef,
    /// Tells it when it is dropped.
    fence: Fence,
}

/// Actors for which messages wait at the peer, and what they are to hear behind these.
#[derive(Default)]
pub(super) struct Behind {
    /// How many actors of the peer have ended.
    ended: u64,
    actors: BTreeMap<u64, Waits>,
    /// How much is untold.
    count: usize,
}

/// What one of them is to hear.
struct Waits {
    /// Of how many that ended first it may hear.
    released: u64,
    /// Of which end, and what tells it when it is dropped.
    untold: Vec<(u64, Fence)>,
}

impl Behind {
    /// Messages to an actor wait at the peer, of those that have not ended yet; `false` if it was said before.
    fn hold(&mut self, actor: u64) -> bool {
        let is_new = !self.actors.contains_key(&actor);
        let released = planted!("net-held-too-early": self.ended => 0);
        self.actors.entry(actor).or_insert(Waits { released, untold: Vec::new() });
        is_new
    }

    /// Keeps news of an end for an actor, if it is not to hear of it yet.
    fn keep(&mut self, actor: u64, end: u64, fence: &Fence) -> bool {
        let waits = self.actors.get_mut(&actor).filter(|waits| waits.released < end);
        let Some(waits) = planted!("net-end-passes-held": waits => None) else { return false };
        waits.untold.push((end, fence.clone()));
        self.count += 1;
        true
    }

    /// All has come that the first of those that ended had sent to an actor: returns what it may hear by now; `None` if it is
    /// not held, or was to hear of more before, or not so many have ended.
    fn release(&mut self, actor: u64, ends: u64) -> Option<Vec<(u64, Fence)>> {
        let ended = if ends == ALL_ENDS { ALL_ENDS } else { self.ended };
        let waits = self.actors.get_mut(&actor)?;
        if !planted!("net-released-anyhow": (waits.released..=ended).contains(&ends) => true) {
            return None;
        }
        // So each scan of what is untold is caused by an end.
        if ends == waits.released {
            return Some(Vec::new());
        }
        waits.released = ends;
        let told: Vec<_> = waits.untold.extract_if(.., |(end, _)| *end <= ends).collect();
        if ends == ALL_ENDS {
            self.actors.remove(&actor);
        }
        self.count -= told.len();
        Some(told)
    }

    /// Tells an actor that is forgotten all that it is to hear.
    pub(super) fn forget(&mut self, actor: u64) {
        drop(self.release(actor, ALL_ENDS));
    }
}

impl Session {
    /// Messages to an actor wait for its credit; `false` if the peer must not say so. One that it may not know to be
    /// forgotten is none of its concern. [ENV-25]
    pub(super) fn hold_back(&mut self, actor: u64) -> bool {
        !self.inlets.contains_key(&actor) || self.behind.hold(actor)
    }

    /// Some of those messages have come; `false` as above.
    pub(super) fn released(&mut self, actor: u64, ends: u64) -> bool {
        let Some(inlet) = self.inlets.get_mut(&actor) else { return true };
        let Some(released) = self.behind.release(actor, ends) else { return false };
        for (_, fence) in released {
            inlet.tell_behind(fence);
        }
        true
    }

    /// An actor of the peer has ended; `false` if the peer must not say so.
    pub(super) fn ended(&mut self, actor: u64, reason: ExitReason) -> bool {
        self.behind.ended += 1;
        let is_held = !self.held.is_empty() || !self.behind.actors.is_empty();
        let is_held = planted!("net-end-passes-parked": is_held => false);
        let detour = is_held.then(|| {
            let (news, end) = (self.news.clone(), self.behind.ended);
            Detour::new(move |to, tell| news.bring(Untold { end, to, fence: Fence::new(tell) }))
        });
        Outlet::actor_ended(&self.outlet, actor, reason, detour)
    }

    /// Keeps what has come for those who have messages that wait, and tells the others.
    pub(in crate::net) fn take_news(&mut self) {
        let untold = self.news.untold.lock().as_mut().map(std::mem::take).unwrap_or_default();
        if untold.is_empty() {
            return;
        }
        // One may be held under two numbers, for two protocols, and hears of it behind both.
        let mut held = BTreeMap::<_, BTreeSet<_>>::new();
        for number in self.held.iter().chain(self.behind.actors.keys().copied()) {
            let address = self.inlets.get(&number).map(|inlet| address(inlet.actor.cell()));
            held.entry(address).or_default().insert(number);
        }
        for Untold { end, to, fence } in untold {
            for number in held.get(&Some(address(&to))).into_iter().flatten() {
                if !self.behind.keep(*number, end, &fence)
                    && let Some(inlet) = self.inlets.get_mut(number)
                {
                    inlet.tell_behind(fence.clone());
                }
            }
        }
        if self.behind.count > UNTOLD_MAX {
            // Whoever is held may have had no time for its mail: the peer need not have broken a rule.
            self.outlet.cut_off(ConnectionEnd::Behind);
        }
    }
}

impl Inlet {
    /// Lets `fence` go behind the messages that wait for room.
    fn tell_behind(&mut self, fence: Fence) {
        if !self.is_idle() {
            self.parked.put(fence);
        }
    }
}

/// Which actor it is, among all that there are.
fn address(cell: &CellRef) -> usize {
    cell.as_ptr().addr().get()
}

#[cfg(test)]
mod tests;
