//! Workers that have nothing to do: how they say so, and who asks.

use super::PerCore;
use super::desk::workers_in;
use crate::scheduler::WorkerId;
use crate::scheduler::signal::EXTERNAL;
use crate::sync::Ordering;

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

    /// Takes the announcement back; returns the first worker that has left something, if nobody else has.
    pub(crate) fn wake_up(&self, id: WorkerId) -> Option<usize> {
        let left = self.posts[id.index()].dock.signal.wake();
        workers_in(left).next().filter(|_| left & EXTERNAL == 0)
    }

    /// Says whether the worker looks for work again and again, and has none: it is handed actors like one that sleeps.
    pub(crate) fn set_spinning(&self, id: WorkerId, spins: bool) {
        // Relaxed: a hint; what it is handed reaches it like all that is sent.
        self.posts[id.index()].dock.spins.store(spins, Ordering::Relaxed);
    }

    /// A worker that spins and has no work, if any does. A hint.
    pub(crate) fn spinner(&self) -> Option<usize> {
        // Relaxed: as above.
        self.posts.iter().position(|post| post.dock.spins.load(Ordering::Relaxed))
    }
}
