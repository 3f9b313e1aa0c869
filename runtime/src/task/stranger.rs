//! What a queue of one's own may hand to a worker that is not to run it: actors of another system, if it serves several,
//! and what a check has pushed, if it is checked meanwhile.

use super::{Hint, Ready};
use crate::event::Events;

impl Ready {
    /// Whether the actor belongs to the system that has these events; a fake belongs to none.
    pub(crate) fn belongs_to(&self, events: &Events) -> bool {
        if self.is_fake() {
            return false;
        }
        // SAFETY: every other token was made by `Ready::new`.
        let header = unsafe { self.header() };
        std::ptr::eq(&raw const *header.core.events, events)
    }

    /// Gives the token back to the system that the actor belongs to. Where all workers of that have ended, nobody runs
    /// the actor. A fake is dropped.
    pub(crate) fn go_home(self) {
        if self.is_fake() {
            return;
        }
        // SAFETY: every other token was made by `Ready::new`.
        let core = unsafe { self.header() }.core.clone();
        if core.has_workers() {
            core.schedule(self, Hint::Back);
        }
    }
}
