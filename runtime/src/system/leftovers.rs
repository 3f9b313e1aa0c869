//! What is left of a system that has ended: for tests, in which nothing should be.

use super::handle::System;
use crate::actor::{describe_cell, family};

impl System {
    /// What there is of a system although it has ended, each in a line: actors, names, questions that wait,
    /// timers, workers, and messages that count against the budget. For tests, at the end of which there should be none:
    /// where [`System::shutdown`] or [`System::drain`] has returned `Ok`, and nobody outside keeps an ask or a message
    /// of the system. Takes locks for a moment, and allocates.
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
        left
    }

    /// As [`System::leftovers`], for who describes actors otherwise.
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
