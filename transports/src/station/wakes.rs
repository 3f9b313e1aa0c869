//! Who is to hear of something, outside of the lock that a station is under.

use super::connecting::Told;
use crate::wake::{quietly, wake_quietly};
use std::fmt;
use std::task::Waker;

/// What a station has to say to those who wait; said when it is told to, without the lock.
#[derive(Default)]
pub struct Wakes {
    /// The station's own driver.
    pub(super) driver: Option<Waker>,
    pub(super) wakers: Vec<Waker>,
    pub(super) told: Vec<Told>,
}

impl Wakes {
    /// Wakes them all, and tells those whose attempt to connect has an outcome. Whose waker panics, that is all that is
    /// to it.
    pub fn wake(&mut self) {
        self.told.drain(..).for_each(|told| quietly(|| told.tell()));
        self.driver.take().into_iter().chain(self.wakers.drain(..)).for_each(wake_quietly);
    }

    /// Takes the first few out, if there is anybody.
    pub(super) fn take_few(&mut self) -> Option<Few> {
        if self.driver.is_none() && self.wakers.is_empty() && self.told.is_empty() {
            return None;
        }
        let mut wakers = [None, None];
        let count = wakers.len().min(self.wakers.len());
        for (place, waker) in wakers.iter_mut().zip(self.wakers.drain(..count)) {
            *place = Some(waker);
        }
        let (driver, told) = (self.driver.take(), std::mem::take(&mut self.told));
        Some(Few { driver, wakers, told })
    }

    pub(super) fn append(&mut self, others: &mut Self) {
        self.driver = others.driver.take().or_else(|| self.driver.take());
        self.wakers.append(&mut others.wakers);
        self.told.append(&mut others.told);
    }
}

/// The first of [`Wakes`], which take no memory of the allocator's.
pub struct Few {
    driver: Option<Waker>,
    wakers: [Option<Waker>; 2],
    told: Vec<Told>,
}

impl Few {
    /// Wakes and tells them, as [`Wakes::wake`] does.
    pub fn wake(self) {
        self.told.into_iter().for_each(|told| quietly(|| told.tell()));
        let wakers = self.wakers.into_iter().flatten();
        self.driver.into_iter().chain(wakers).for_each(wake_quietly);
    }
}

impl fmt::Debug for Few {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let wakers = self.driver.iter().chain(self.wakers.iter().flatten());
        write!(f, "Few({})", wakers.count() + self.told.len())
    }
}

impl fmt::Debug for Wakes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let wakers = self.driver.iter().chain(&self.wakers);
        write!(f, "Wakes({})", wakers.count() + self.told.len())
    }
}
