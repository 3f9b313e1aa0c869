//! How many tasks there are beside actors: in a system, for whoever asks what is left of it, and of one incarnation,
//! whose end waits for the last of them.

use super::cell::CellRef;
use crate::queue::crew::Crew;
use crate::sync::{Arc, Ordering};
use std::fmt;

/// Counts a task of an actor until it is dropped.
pub(crate) struct TaskCount {
    actor: CellRef,
    /// Those of its incarnation, if the end of that waits for it.
    crew: Option<Arc<Crew>>,
}

impl TaskCount {
    /// Counts one that nobody waits for.
    pub(crate) fn of(actor: CellRef) -> Self {
        Self::new(actor, None)
    }

    /// Counts one of the crew.
    pub(crate) fn of_crew(actor: CellRef, crew: &Arc<Crew>) -> Self {
        crew.enter();
        Self::new(actor, Some(crew.clone()))
    }

    fn new(actor: CellRef, crew: Option<Arc<Crew>>) -> Self {
        // Relaxed: a count.
        actor.core.tasks.fetch_add(1, Ordering::Relaxed);
        Self { actor, crew }
    }
}

impl Drop for TaskCount {
    fn drop(&mut self) {
        // Release: pairs with the Acquire in `Core::tasks`: what the task had is dropped.
        self.actor.core.tasks.fetch_sub(1, Ordering::Release);
        if self.crew.as_ref().is_some_and(|crew| crew.leave()) {
            self.actor.wake();
        }
    }
}

impl fmt::Debug for TaskCount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TaskCount({:?})", self.actor)
    }
}
