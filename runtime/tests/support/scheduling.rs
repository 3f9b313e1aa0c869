//! Worlds under each scheduler.

use greenroom::{Builder, Scheduler};

/// A scheduler that runs in a world; `None` is the world's own.
pub(crate) type Scheduling = Option<fn() -> Scheduler>;

/// All of them.
pub(crate) const SCHEDULINGS: [Scheduling; 6] = [
    None,
    Some(Scheduler::locked),
    Some(Scheduler::lock_free),
    Some(Scheduler::stealing),
    Some(Scheduler::per_core),
    Some(Scheduler::auto),
];

/// Settings with that scheduler.
pub(crate) fn scheduled(builder: Builder, scheduling: Scheduling) -> Builder {
    match scheduling {
        Some(scheduler) => builder.scheduler(scheduler()),
        None => builder,
    }
}
