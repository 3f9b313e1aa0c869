//! Whether another worker still takes actors, seen by one that never runs out of its own.
//!
//! A worker whose handler blocks takes nothing, and what waits behind that, in places of its own, is for others to take.
//! Those who run dry look there anyway. One whose actors are always ready does not run dry: so it watches the others, one
//! at a time, and where one has taken nothing between two looks it takes from there. Who has turns as long as so many of its own
//! seems stuck as well: of what waits behind those it takes a part, too.

use crate::sync::{AtomicU32, AtomicUsize, Ordering, planted};

/// What one worker has taken, and what it last saw of another one. All of it is a hint, so all is Relaxed, and only the
/// worker itself changes it: it is atomic to be shareable.
#[derive(Debug, Default)]
pub(super) struct Pulse {
    /// How often it has looked for an actor of its own.
    pops: AtomicU32,
    /// Whom it watches.
    watched: AtomicUsize,
    /// How often that one had looked.
    seen: AtomicU32,
}

impl Pulse {
    /// The worker looks for an actor of its own; says how often it has.
    #[inline]
    pub(super) fn beat(&self) -> u32 {
        let pops = self.pops.load(Ordering::Relaxed).wrapping_add(1);
        self.pops.store(pops, Ordering::Relaxed);
        pops
    }

    /// The worker that the calling one, `own` of `count`, has watched, if it has taken nothing since the last look; the
    /// next one is watched from now on. `of` knows all of them.
    pub(super) fn stuck<'a>(
        &self,
        own: usize,
        count: usize,
        of: impl Fn(usize) -> &'a Self,
    ) -> Option<usize> {
        let pops = |worker: usize| of(worker).pops.load(Ordering::Relaxed);
        let watched = self.watched.load(Ordering::Relaxed);
        let is_stuck = watched != own && pops(watched) == self.seen.load(Ordering::Relaxed);
        let next = (1..=count).map(|step| (watched + step) % count).find(|next| *next != own)?;
        self.watched.store(next, Ordering::Relaxed);
        self.seen.store(pops(next), Ordering::Relaxed);
        planted!("stuck-worker-unseen": is_stuck => false).then_some(watched)
    }
}
