//! What is left of a system that has ended: for tests, in which nothing should be.

use super::handle::System;
#[cfg(doc)]
use crate::actor::Context;
use crate::actor::{describe_cell, family};

impl System {
    /// Describes what is left of a system, for tests that have ended it: a line for each actor, and for what else there is a
    /// line with its count, which are timers, names, asks that wait, tasks of actors ([`Context::task`] and
    /// [`Context::blocking`] among them), workers, and messages in the budget.
    ///
    /// Nothing is left once [`System::shutdown`] or [`System::drain`] has returned `Ok` before its deadline to a caller that
    /// runs on no worker of the system, while nobody outside waits for anything of the system any more: for an answer, an
    /// end, or another call of these; and but for calls that block, which nothing ends. Takes locks for a moment,
    /// allocates, and looks at every name for every actor.
    ///
    /// # Examples
    /// ```
    /// use greenroom::{Actor, System, handlers};
    /// use std::time::Duration;
    ///
    /// #[derive(Actor)]
    /// struct Idler;
    ///
    /// #[handlers]
    /// impl Idler {}
    ///
    /// #[tokio::main]
    /// async fn main() -> Result<(), Box<dyn std::error::Error>> {
    ///     let system = System::builder().workers(1).build()?;
    ///     system.spawn::<Idler>(Idler).await?;
    ///     assert_ne!(system.leftovers(), Vec::<String>::new());
    ///     system.shutdown(Duration::from_secs(5)).await?;
    ///     assert_eq!(system.leftovers(), Vec::<String>::new());
    ///     Ok(())
    /// }
    /// ```
    #[must_use]
    pub fn leftovers(&self) -> Vec<String> {
        let actors = self.core().roots.all().into_iter().flat_map(family);
        let mut left: Vec<_> = actors.map(|cell| describe_cell(&cell)).collect();
        left.extend(self.leftovers_but_actors());
        let tasks = self.core().tasks();
        if tasks > 0 {
            left.push(format!("{tasks} tasks"));
        }
        left
    }

    /// As [`System::leftovers`], for a world, which describes actors otherwise, and ends all tasks when it ends.
    pub(crate) fn leftovers_but_actors(&self) -> Vec<String> {
        let core = self.core();
        let mut left = core.leftovers();
        let pressure = self.pressure();
        for (unit, used) in [("messages", pressure.messages), ("bytes", pressure.bytes)] {
            if let Some(used) = used.filter(|used| used.waiting > 0) {
                left.push(format!("{} {unit} in the budget", used.waiting));
            }
        }
        left
    }
}
