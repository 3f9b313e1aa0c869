//! Workers that have nothing to do: how they say so, and who asks.

use super::PerCore;
use super::desk::workers_in;
use super::moving::Errand;
use crate::scheduler::WorkerId;
use crate::scheduler::signal::EXTERNAL;
use crate::sync::{Ordering, planted};

/// That a worker had nothing to do until another one left something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Visit {
    /// Which one.
    pub(crate) host: usize,
    /// Whether that one has nothing to do, either.
    pub(crate) is_idle: bool,
}

impl PerCore {
    /// Announces that the worker sleeps; `false` if something has come.
    #[must_use]
    pub(crate) fn fall_asleep(&self, id: WorkerId) -> bool {
        self.posts[id.index()].dock.signal.fall_asleep()
    }

    /// Whether every worker sleeps and has taken what was left for it. None sleeps before it has sent what
    /// it had to send.
    pub(crate) fn is_at_rest(&self) -> bool {
        self.posts.iter().all(|post| post.dock.signal.is_at_rest())
    }

    /// Takes the announcement back.
    pub(crate) fn wake_up(&self, id: WorkerId) {
        self.posts[id.index()].dock.signal.wake();
    }

    /// The worker with a lower number that has left something, the first of them, if nobody outside has. A hint.
    pub(crate) fn visit(&self, id: WorkerId) -> Option<Visit> {
        let left = self.posts[id.index()].dock.signal.left();
        let host =
            workers_in(left).next().filter(|&host| left & EXTERNAL == 0 && host < id.index())?;
        Some(Visit { host, is_idle: self.is_idle(host) })
    }

    /// Whether a worker has nothing to do. A hint.
    pub(super) fn is_idle(&self, worker: usize) -> bool {
        // Relaxed: a hint.
        self.posts[worker].dock.searches.load(Ordering::Relaxed)
    }

    /// Whether all other workers have nothing to do. A hint.
    pub(super) fn are_others_idle(&self, id: WorkerId) -> bool {
        (0..self.posts.len()).all(|other| other == id.index() || self.is_idle(other))
    }

    /// Hands half of the ready actors to `taker`, who has none, once all workers are heard of that are not idle: who is
    /// handed over waits for all of them, and they may be in long handlers.
    pub(crate) fn offer(&self, id: WorkerId, taker: usize, wake: &impl Fn(usize)) {
        if planted!("per-core-shares-unheard": self.are_others_idle(id) => true) {
            self.share(id, taker, wake);
        } else if self.desk(id, |desk| desk.may_share()) {
            self.fence(id, Errand::Share(taker), |_| {}, wake);
        }
    }

    /// Says whether the worker looks for work, and has none, or sleeps since then: it is handed actors.
    pub(crate) fn set_searching(&self, id: WorkerId, searches: bool) {
        // Relaxed: a hint; what it is handed reaches it like all that is sent.
        self.posts[id.index()].dock.searches.store(searches, Ordering::Relaxed);
    }

    /// A worker that looks for work, has none and does not sleep, if any does. A hint.
    pub(crate) fn searcher(&self) -> Option<usize> {
        let searches =
            |worker: &usize| self.is_idle(*worker) && !self.posts[*worker].dock.signal.sleeps();
        (0..self.posts.len()).find(searches)
    }
}
