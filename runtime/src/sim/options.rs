//! How a world is run.

use super::policy::Policy;

/// Steps of a world that is run by itself, at most.
const STEPS_MAX: u64 = 10_000_000;

/// See the [module](self).
#[derive(Clone, Debug)]
pub(super) struct Options {
    pub(super) seed: Option<u64>,
    /// Drawn, if `None`.
    pub(super) policy: Option<Policy>,
    pub(super) steps_max: u64,
    pub(super) panics_allowed: bool,
    /// Whether a log is kept.
    pub(super) logs: bool,
    /// Whether failures unwind without a word, for who tries many worlds.
    pub(super) quiet: bool,
    /// Whether every way in which choices can fall is tried, and this is one of them.
    pub(super) tries_all: bool,
}

impl Options {
    /// What to do where there are too many steps.
    pub(super) fn hint(&self) -> &'static str {
        // A world that is run by itself has nothing to set.
        if self.quiet { "; `Explore::steps_max` allows more" } else { "" }
    }
}

impl Default for Options {
    fn default() -> Self {
        Self {
            seed: None,
            policy: None,
            steps_max: STEPS_MAX,
            panics_allowed: false,
            logs: false,
            quiet: false,
            tries_all: false,
        }
    }
}
