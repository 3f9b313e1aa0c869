//! Who is to hear of something, outside of the lock that a station is under.

use super::connecting::Told;
use std::fmt;
use std::task::Waker;

/// See the [module](self).
#[derive(Default)]
pub struct Wakes {
    pub(super) wakers: Vec<Waker>,
    pub(super) told: Vec<Told>,
}

impl Wakes {
    /// Wakes them all, and tells those whose attempt to connect has an outcome.
    pub fn wake(&mut self) {
        self.told.drain(..).for_each(Told::tell);
        self.wakers.drain(..).for_each(Waker::wake);
    }

    pub(super) fn append(&mut self, others: &mut Self) {
        self.wakers.append(&mut others.wakers);
        self.told.append(&mut others.told);
    }
}

impl fmt::Debug for Wakes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Wakes({})", self.wakers.len() + self.told.len())
    }
}
