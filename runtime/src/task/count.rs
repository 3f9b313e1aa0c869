//! How many tasks there are beside actors: in a system, for whoever asks what is left of it, and of one incarnation,
//! whose end waits for the last of them.

use super::cell::CellRef;
use crate::sync::{Arc, AtomicUsize, Ordering};
use std::fmt;

/// The actor waits for the last task.
const WAITS: usize = 1;
/// One task.
const ONE: usize = 2;

/// Counts a task of an actor until it is dropped.
pub(crate) struct TaskCount {
    actor: CellRef,
    /// Those of its incarnation, if the end of that waits for it.
    crew: Option<Arc<Crew>>,
}

/// The tasks of one incarnation that have not been dropped: one word, of how many there are, and WAITS.
pub(crate) struct Crew(AtomicUsize);

impl Crew {
    pub(crate) fn new() -> Self {
        Self(AtomicUsize::new(0))
    }

    /// Whether some are there, the last of which then wakes the actor. For the actor, which begins no other.
    pub(crate) fn has_to_end(&self) -> bool {
        // AcqRel: the rendezvous with the drop of `TaskCount`, from which it acquires that what the task had is
        // dropped.
        self.0.fetch_or(WAITS, Ordering::AcqRel) >= ONE
    }
}

impl TaskCount {
    /// Counts one that nobody waits for.
    pub(crate) fn of(actor: CellRef) -> Self {
        Self::new(actor, None)
    }

    /// Counts one of the crew.
    pub(crate) fn of_crew(actor: CellRef, crew: &Arc<Crew>) -> Self {
        // Relaxed: the actor runs, and so does not wait yet.
        crew.0.fetch_add(ONE, Ordering::Relaxed);
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
        let Some(crew) = &self.crew else { return };
        // AcqRel: releases the drop of what the task had to the actor that waits, or acquires that it does.
        if crew.0.fetch_sub(ONE, Ordering::AcqRel) == ONE | WAITS {
            self.actor.wake();
        }
    }
}

impl fmt::Debug for TaskCount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TaskCount({:?})", self.actor)
    }
}

impl fmt::Debug for Crew {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Crew")
    }
}
