//! Waiting for a step that another thread is in the middle of.

use super::{spin_loop, yield_now};

/// Looks before the core is given up.
const SPINS: u32 = 64;
/// Times that the core is given up before the thread sleeps: who is waited for may be one that yielding lets in
/// never, since it is less urgent.
#[cfg(not(any(loom, shuttle)))]
const YIELDS: u32 = 64;

/// How long another thread has been waited for that is about to take a step, a few instructions long.
#[derive(Debug, Default)]
pub(crate) struct Patience(u32);

impl Patience {
    /// Waits a little: by some instructions at first, then by giving up the core, and after that for 50 µs.
    #[cfg_attr(
        not(any(loom, shuttle)),
        expect(clippy::disallowed_methods, reason = "it is seldom, and shorter than a turn")
    )]
    #[cold]
    pub(crate) fn wait(&mut self) {
        self.0 = self.0.saturating_add(1);
        #[cfg(not(any(loom, shuttle)))]
        if self.0 > SPINS + YIELDS {
            return super::thread::sleep(std::time::Duration::from_micros(50));
        }
        // A model checker does nothing else until another thread has taken a step.
        if self.0 > SPINS || cfg!(any(loom, shuttle)) {
            yield_now();
        } else {
            spin_loop();
        }
    }
}
