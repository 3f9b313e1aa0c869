//! How large packets may be: path MTU discovery by probes (DPLPMTUD, RFC 8899).
//!
//! Sizes are bytes of a packet's inside, as all sizes in the engine; what the carrier puts around it
//! is the carrier's.
//!
//! ```text
//!   searching: probe between `current` and `ceiling` ---- nothing left between ----> resting
//!      ^   |  arrived: current = probe                                                  |
//!      |   +--lost three times: ceiling = probe                                         |
//!      +------ after the raise interval, ceiling = max ---------------------------------+
//!   black hole: current = base, ceiling = max, searching again after the raise interval, or at once if
//!      nothing at all was answered
//! ```

use super::time::Time;
use std::time::Duration;

/// So often a probe has to be lost for its size to be too large (section 5.1.2).
const TRIES: u32 = 3;

/// The search ends when there is less than this to gain.
const GAIN_MIN: usize = 16;

/// So many losses in a row of packets above the base size, without one that arrived, are a black
/// hole (section 4.3).
const BLACK_HOLE: u32 = 4;

#[derive(Debug)]
pub(super) struct Discovery {
    base: usize,
    max: usize,
    current: usize,
    /// What is known, or taken, to be too large.
    ceiling: usize,
    /// The probe under way.
    under_way: Option<usize>,
    tries: u32,
    next: Time,
    raise_interval: Duration,
    suspicions: u32,
}

impl Discovery {
    /// Packets of `start` bytes are known to pass, those of `base` are expected to always, and
    /// none is larger than `max`.
    pub(super) fn new(base: usize, start: usize, max: usize, raise_interval: Duration) -> Self {
        Self {
            base,
            max: max.max(start),
            current: start,
            ceiling: max.max(start) + 1,
            under_way: None,
            tries: 0,
            next: Time::default(),
            raise_interval,
            suspicions: 0,
        }
    }

    /// The largest packet to send.
    pub(super) const fn current(&self) -> usize {
        self.current
    }

    /// The largest packet to send where larger ones may not get through.
    pub(super) const fn safe(&self) -> usize {
        if self.base < self.current { self.base } else { self.current }
    }

    /// Packets larger than this cannot be made.
    pub(super) fn limit(&mut self, size: usize) {
        if size < self.max {
            self.max = size.max(self.current);
            self.ceiling = self.ceiling.min(self.max + 1);
        }
    }

    /// The size of a probe that is due.
    pub(super) fn probe(&mut self, now: Time) -> Option<usize> {
        if self.due().is_none_or(|due| now < due) {
            return None;
        }
        if self.is_exhausted() {
            // The rest is over: the path may have changed.
            self.ceiling = self.max + 1;
        }
        Some(self.candidate())
    }

    /// When a probe is due; `None` while one is under way, or when there is nothing to find out.
    pub(super) fn due(&self) -> Option<Time> {
        (self.under_way.is_none() && self.current < self.max).then_some(self.next)
    }

    /// The largest size first: most paths take it, and then that is all.
    fn candidate(&self) -> usize {
        if self.ceiling > self.max { self.max } else { (self.current + self.ceiling) / 2 }
    }

    const fn is_exhausted(&self) -> bool {
        self.ceiling <= self.current + GAIN_MIN && self.ceiling <= self.max
    }

    pub(super) fn on_probe_sent(&mut self, size: usize) {
        self.under_way = Some(size);
    }

    /// The probe arrived; says whether packets grow.
    pub(super) fn on_probe_arrived(&mut self, now: Time, size: usize) -> bool {
        self.under_way = None;
        self.tries = 0;
        if size <= self.current {
            return false;
        }
        self.current = size;
        self.rest_if_exhausted(now);
        true
    }

    pub(super) fn on_probe_lost(&mut self, now: Time) {
        let Some(size) = self.under_way.take() else { return };
        self.tries += 1;
        if self.tries >= TRIES {
            self.tries = 0;
            // A black hole may have lowered the current size below the probe's meanwhile.
            self.ceiling = size.max(self.current + 1);
            self.rest_if_exhausted(now);
        }
    }

    fn rest_if_exhausted(&mut self, now: Time) {
        if self.is_exhausted() {
            self.next = now + self.raise_interval;
        }
    }

    /// Packets up to that size arrived.
    pub(super) fn on_arrival(&mut self, size: usize) {
        if size > self.base {
            self.suspicions = 0;
        }
    }

    /// Packets up to that size were lost together; says whether the size fell.
    pub(super) fn on_loss(&mut self, now: Time, size: usize) -> bool {
        if size <= self.base || self.current <= self.base {
            return false;
        }
        self.suspicions += 1;
        if self.suspicions < BLACK_HOLE {
            return false;
        }
        self.suspicions = 0;
        self.tries = 0;
        self.current = self.base;
        self.ceiling = self.max + 1;
        self.next = now + self.raise_interval;
        true
    }

    /// Nothing of what was sent is answered, in packets up to that size; says whether the size fell. It may be that the
    /// peer stood still, so larger ones are tried again at once.
    pub(super) fn on_silence(&mut self, now: Time, size: usize) -> bool {
        let fell = self.on_loss(now, size);
        if fell {
            self.next = now;
        }
        fell
    }

    /// The path is another one, of which nothing is known.
    pub(super) fn on_path_change(&mut self, now: Time) {
        let fresh =
            Self::new(self.base, self.base.min(self.current), self.max, self.raise_interval);
        *self = Self { next: now, ..fresh };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const INTERVAL: Duration = Duration::from_secs(600);

    /// Probes until nothing is due, over a path that takes packets up to `path`; says how many.
    fn search(discovery: &mut Discovery, now: Time, path: usize) -> u32 {
        let mut probes = 0;
        while let Some(size) = discovery.probe(now) {
            assert!(size > discovery.current(), "a probe that can teach nothing");
            discovery.on_probe_sent(size);
            assert_eq!(discovery.probe(now), None, "one at a time");
            if size <= path {
                discovery.on_probe_arrived(now, size);
            } else {
                discovery.on_probe_lost(now);
            }
            probes += 1;
        }
        probes
    }

    /// A peer that stood still for some probe timeouts is no black hole for ten minutes.
    #[test]
    fn silence_is_looked_into_at_once() {
        let mut discovery = Discovery::new(1200, 1400, 1400, INTERVAL);
        let fell = (0..BLACK_HOLE).filter(|_| discovery.on_silence(Time::default(), 1400));
        assert_eq!((fell.count(), discovery.current()), (1, 1200));
        assert_eq!(search(&mut discovery, Time::default(), 1400), 1);
        assert_eq!(discovery.current(), 1400);
    }

    proptest! {
        // [LINK-32]
        #[test]
        fn it_finds_what_the_path_takes(path in 1200..9000_usize, max in 1200..9000_usize) {
            let mut discovery = Discovery::new(1200, 1200, max, INTERVAL);
            let probes = search(&mut discovery, Time::default(), path);
            let best = path.min(max);
            prop_assert!(discovery.current() <= best);
            prop_assert!(discovery.current() + GAIN_MIN >= best, "{} of {best}", discovery.current());
            prop_assert!(probes <= 3 * 14, "{probes} probes");
        }

        // [LINK-32]
        #[test]
        fn it_notices_that_a_path_takes_less_or_more(
            first in 1300..9000_usize, then in 1200..9000_usize,
        ) {
            let mut discovery = Discovery::new(1200, 1200, 9000, INTERVAL);
            let now = Time::default();
            search(&mut discovery, now, first);
            if then < discovery.current() {
                let losses = (1..100).find(|_| discovery.on_loss(now, 1300));
                prop_assert_eq!(losses, Some(BLACK_HOLE as i32));
                prop_assert_eq!(discovery.current(), 1200);
                prop_assert_eq!(discovery.probe(now), None, "not at once");
            }
            let later = now + INTERVAL;
            search(&mut discovery, later, then);
            prop_assert!(discovery.current() + GAIN_MIN >= then);
            prop_assert!(discovery.current() <= then);
        }
    }

    // [LINK-32]
    #[test]
    fn congestion_is_no_black_hole() {
        let mut discovery = Discovery::new(1200, 1200, 1400, INTERVAL);
        search(&mut discovery, Time::default(), 9000);
        for _ in 0..50 {
            assert!(!discovery.on_loss(Time::default(), 1400));
            discovery.on_arrival(1400);
        }
        for _ in 0..50 {
            assert!(!discovery.on_loss(Time::default(), 1200), "small packets say nothing");
        }
        assert_eq!(discovery.current(), 1400);
    }
}
