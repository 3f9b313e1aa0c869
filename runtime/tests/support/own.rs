//! A system that a test has for itself.

use super::{LONG, block_on};
use greenroom::{Builder, Scheduler, System};
use std::ops::Deref;
use std::thread;

/// When it goes, it is shut down if it was not, and nothing may be left of it.
pub(crate) struct OwnSystem(System);

impl Deref for OwnSystem {
    type Target = System;

    fn deref(&self) -> &System {
        &self.0
    }
}

impl Drop for OwnSystem {
    fn drop(&mut self) {
        if !thread::panicking() {
            block_on(self.0.shutdown(LONG)).expect("every actor ends");
            assert_eq!(self.0.leftovers(), Vec::<String>::new());
        }
    }
}

/// One of that kind, with all other settings at their defaults.
pub(crate) fn own_system(workers: usize, scheduler: Scheduler) -> OwnSystem {
    System::builder().workers(workers).scheduler(scheduler).own()
}

/// Settings of a system.
pub(crate) trait Builds {
    /// Builds it for one test, where an answer may take long.
    fn own(self) -> OwnSystem;
    /// The same with the settings as they are.
    fn own_as_set(self) -> OwnSystem;
}

impl Builds for Builder {
    fn own(self) -> OwnSystem {
        self.ask_timeout(LONG).own_as_set()
    }

    fn own_as_set(self) -> OwnSystem {
        #[cfg(target_os = "linux")]
        super::afterwards::look_afterwards();
        OwnSystem(self.build().expect("the settings are in range"))
    }
}
