//! Actors of another system: what a queue of one's own that serves several systems may hand to the wrong one.

use super::{Hint, Ready};
use crate::event::Events;

impl Ready {
    /// Whether the actor belongs to the system that has these events; a fake belongs to each.
    pub(crate) fn belongs_to(&self, events: &Events) -> bool {
        if self.0.addr().get() % 4 == 2 {
            return true;
        }
        // SAFETY: every other token was made by `Ready::new`, because cells are aligned.
        let header = unsafe { self.header() };
        std::ptr::eq(&raw const *header.core.events, events)
    }

    /// Gives the token back to the system that the actor belongs to. Where all workers of that have ended, nobody runs
    /// the actor.
    pub(crate) fn go_home(self) {
        // SAFETY: this is no fake, which belongs to each system.
        let core = unsafe { self.header() }.core.clone();
        if core.has_workers() {
            core.schedule(self, Hint::Back);
        }
    }
}
