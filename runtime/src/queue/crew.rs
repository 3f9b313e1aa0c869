//! A count of those who work for somebody, whose end waits for the last of them.
//!
//! Steps:
//! 1. The owner counts them as they come ([`Crew::enter`]); each leaves on any thread ([`Crew::leave`]).
//! 2. The owner, when nobody comes any more, says that it waits, and hears whether it has to ([`Crew::has_to_end`]).
//! 3. If so, the last one to leave hears that it is to wake the owner.
//!
//! Why no wake-up is lost: both are read-modify-writes on one word. If the last one left before, the owner sees that nobody
//! is there; otherwise the last one sees that the owner waits.

use crate::sync::{AtomicUsize, Ordering, planted};

/// The owner waits for the last one.
const WAITS: usize = 1;
/// One who works.
const ONE: usize = 2;

/// See the [module](self).
#[derive(Debug)]
pub(crate) struct Crew(AtomicUsize);

impl Crew {
    pub(crate) fn new() -> Self {
        Self(AtomicUsize::new(0))
    }

    /// Counts one more. For the owner, which does not wait yet.
    pub(crate) fn enter(&self) {
        // Relaxed: nothing is read on the strength of it.
        self.0.fetch_add(ONE, Ordering::Relaxed);
    }

    /// Counts one less; `true` if it was the last one, and is to wake the owner.
    pub(crate) fn leave(&self) -> bool {
        // AcqRel: releases what was done before to `has_to_end`, and acquires it of the others for the owner that is
        // woken.
        let order = planted!("crew-relaxed": Ordering::AcqRel => Ordering::Relaxed);
        let is_awaited = self.0.fetch_sub(ONE, order) == ONE | WAITS;
        planted!("crew-unwoken": is_awaited => false)
    }

    /// Whether some are there, the last of which is told to wake the owner. For the owner, when nobody comes any more.
    pub(crate) fn has_to_end(&self) -> bool {
        // AcqRel: the rendezvous with `leave`, from which it acquires what was done before.
        self.0.fetch_or(WAITS, Ordering::AcqRel) >= ONE
    }
}

#[cfg(all(test, loom))]
mod model;
