//! What actors saw that must not be. To the runtime a handler that asserts is one that panics: where actors may panic,
//! a test would pass over it.

use std::fmt::Display;
use std::sync::{Arc, Mutex};

/// Shared by the actors of one test, which checks at its end that there are none.
#[derive(Clone, Default)]
pub(crate) struct Violations(Arc<Mutex<Vec<String>>>);

impl Violations {
    /// Notes what is wrong, unless it `holds`.
    pub(crate) fn check(&self, holds: bool, wrong: impl Display) {
        if !holds {
            self.0.lock().expect("nobody panics with it").push(wrong.to_string());
        }
    }

    /// Fails with the first one. To be called before other checks, which fail for it too and say less.
    pub(crate) fn assert_none(&self) {
        let first = self.0.lock().expect("nobody panics with it").first().cloned();
        assert!(first.is_none(), "{}", first.unwrap_or_default());
    }
}
