//! What is wrong with a node's queue pairs.

use parking_lot::Mutex;
use std::sync::Arc;

/// What is wrong, to be asked for while its owner is busy.
#[derive(Clone, Debug, Default)]
pub struct Failure(Arc<Mutex<Option<String>>>);

impl Failure {
    /// What was said last; `None` if nothing was refused since a queue pair was connected.
    #[must_use]
    pub fn get(&self) -> Option<String> {
        self.0.lock().clone()
    }

    /// Says something, or that something was connected, or opened, since.
    pub fn set(&self, text: Option<String>) {
        *self.0.lock() = text;
    }
}
