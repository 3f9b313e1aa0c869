//! When the next attempt at a queue pair to a node may begin, and how late packets were that went by the last ones. It is the
//! node's, whatever becomes of its associations.

use super::{LOOK, PAUSE_MAX, PAUSE_MIN};
use crate::link::Time;
use std::time::Duration;

/// Packets are late that are under way for longer than so many round trips over UDP, and than that.
const LATE_ROUND_TRIPS: u32 = 8;
const LATE_MIN: Duration = Duration::from_millis(100);
/// A queue pair whose packets were late for so long is given up.
const LATE_MAX: Duration = Duration::from_secs(1);
/// Of that, so much counts against the next queue pair, which thereby has some time to be better.
const LATE_KEPT: Duration = Duration::from_millis(500);
/// Of the time in which none was late, so much makes up for time in which some were.
const FORGIVEN: u32 = 10;
/// A pause is longer by up to 255 of so many parts: by less than a quarter.
const LONGER_OF: u32 = 1024;

/// See the [module](self).
#[derive(Clone, Copy, Debug)]
pub(in crate::station) struct Attempts {
    /// When the last one began.
    began: Option<Time>,
    pause: Duration,
    /// Until then this end offers nothing.
    offers_from: Time,
    /// Until then no offer is taken.
    takes_from: Time,
    /// Since when the peer's word that it has a device may count again.
    heeds_from: Option<Time>,
    lateness: Lateness,
}

impl Attempts {
    /// None so far.
    pub(in crate::station) fn new(now: Time) -> Self {
        Self {
            began: None,
            pause: PAUSE_MIN,
            offers_from: now,
            takes_from: now,
            heeds_from: None,
            lateness: Lateness::new(now),
        }
    }

    /// When the last one began.
    pub(in crate::station) const fn began(&self) -> Option<Time> {
        self.began
    }

    pub(super) const fn begin(&mut self, now: Time) {
        self.began = Some(now);
    }

    /// When this end may offer.
    pub(super) const fn offers_from(&self) -> Time {
        self.offers_from
    }

    /// Whether it is too early to take an offer.
    pub(super) fn is_too_early(&self, now: Time) -> bool {
        self.next_at(now).max(self.takes_from) > now
    }

    /// When another one may begin, whoever asks. [RDMA-48]
    fn next_at(&self, now: Time) -> Time {
        let pause = crate::planted!("rdma-attempts-unbounded": PAUSE_MIN => Duration::ZERO);
        self.began.map_or(now, |began| now.max(began + pause))
    }

    /// The peer does not want any.
    pub(super) const fn refuse(&mut self) {
        self.pause = PAUSE_MAX;
    }

    /// The attempt is over; `served` is for how long it carried packets. The pause is longer than it has to be, by as much as
    /// `random` says, for attempts with many nodes may end together.
    pub(super) fn end(&mut self, now: Time, served: Option<Duration>, random: u64) {
        // What served for long may serve again soon.
        let serves = served.is_some_and(
            |served| crate::planted!("rdma-serves-shortly": served >= PAUSE_MAX => true),
        );
        if serves {
            self.pause = PAUSE_MIN;
        }
        let [drawn, ..] = random.to_le_bytes();
        let longer = self.pause * u32::from(drawn) / LONGER_OF;
        self.offers_from = now + self.pause + longer;
        // From where this attempt began, so that whoever offers, and counts from its end, does not come too early.
        let pause = crate::planted!("rdma-offers-at-once": self.pause => Duration::ZERO);
        self.takes_from = self.began.map_or(now, |began| began + pause);
        self.pause = (self.pause * 2).min(PAUSE_MAX);
    }

    /// A device is there: what failed may succeed.
    pub(in crate::station) fn retry(&mut self, now: Time) {
        self.offers_from = self.next_at(now);
        (self.pause, self.takes_from) = (PAUSE_MIN, now);
    }

    /// The peer says that it has a device, again: one attempt may begin soon, and only now and then. [RDMA-48]
    pub(super) fn heed(&mut self, now: Time) {
        let is_too_often = self.heeds_from.is_some_and(|from| now < from);
        if crate::planted!("rdma-always-heeds": is_too_often => false) {
            return;
        }
        self.heeds_from = Some(now + PAUSE_MAX);
        self.offers_from = self.next_at(now);
        self.takes_from = now;
    }

    pub(super) const fn lateness(&mut self) -> &mut Lateness {
        &mut self.lateness
    }

    /// When it is to be looked for packets that are late, of which the oldest left then.
    pub(super) fn look_at(&self, oldest: Time) -> Time {
        self.lateness.look_at(oldest)
    }
}

/// For how long packets were late, of which some time without is taken off. [RDMA-50]
#[derive(Clone, Copy, Debug)]
pub(super) struct Lateness {
    sum: Duration,
    looked: Time,
    /// Packets are late that are under way for longer.
    limit: Duration,
}

impl Lateness {
    const fn new(now: Time) -> Self {
        Self { sum: Duration::ZERO, looked: now, limit: LATE_MIN }
    }

    /// What a round trip takes over UDP.
    pub(super) fn set_round_trip(&mut self, rtt: Duration) {
        self.limit = LATE_MIN.max(rtt * LATE_ROUND_TRIPS);
    }

    fn look_at(&self, oldest: Time) -> Time {
        (oldest + self.limit).max(self.looked + LOOK)
    }

    /// The oldest packet that waits left at `oldest`, and is late; says whether that is too much by now.
    pub(super) fn is_too_much(&mut self, now: Time, oldest: Time) -> bool {
        let looked = std::mem::replace(&mut self.looked, now);
        // It was late from then on only, and before the last look that is counted already.
        let late = now.since(looked.max(oldest + self.limit));
        let late = crate::planted!("rdma-late-by-looks": late => now.since(looked)).min(LOOK);
        self.sum = self.sum.saturating_sub((now.since(looked) - late) / FORGIVEN) + late;
        let is_too_much = crate::planted!("rdma-late-forever": self.sum >= LATE_MAX => false);
        if is_too_much {
            self.sum = crate::planted!("rdma-late-without-grace": LATE_KEPT => LATE_MAX);
        }
        is_too_much
    }
}

#[cfg(test)]
mod tests;
