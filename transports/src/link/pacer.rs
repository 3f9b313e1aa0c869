//! Spreads packets over the round trip instead of sending a window at once (RFC 9002, section 7.7). [LINK-31]
//!
//! A token bucket: it fills a quarter faster than a window per round trip, so that pacing alone never
//! holds the window back, and it holds a burst, so that packets can be handed to the network together.

use super::time::{Time, nanos};
use std::time::Duration;

/// How long a burst may be, in time at the pace.
const BURST: Duration = Duration::from_millis(2);

/// The fewest packets a burst has room for.
const BURST_PACKETS_MIN: u64 = 10;

#[derive(Debug)]
pub(super) struct Pacer {
    tokens: u64,
    last: Option<Time>,
}

/// What the pace follows from.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    pub(super) window: u64,
    pub(super) rtt: Duration,
    pub(super) packet_size: u64,
    /// The window grows quickly, so the pace leaves it more room.
    pub(super) is_probing: bool,
}

impl Pace {
    /// Bytes in so many nanoseconds.
    fn bytes_in(&self, nanoseconds: u64) -> u64 {
        let (gain, per) = if self.is_probing { (2, 1) } else { (5, 4) };
        let rtt = u128::from(nanos(self.rtt).max(1));
        let bytes = u128::from(nanoseconds) * u128::from(self.window) * gain / per / rtt;
        u64::try_from(bytes).unwrap_or(u64::MAX)
    }

    /// How long it takes until so many bytes may go.
    fn time_for(&self, bytes: u64) -> Duration {
        let (gain, per) = if self.is_probing { (2, 1) } else { (5, 4) };
        let rate = u128::from(self.window.max(1)) * gain;
        // A round trip that takes no time, by a coarse clock, would have a wait of nothing, for ever.
        let nanoseconds = u128::from(bytes) * u128::from(nanos(self.rtt).max(1)) * per;
        Duration::from_nanos(u64::try_from(nanoseconds.div_ceil(rate)).unwrap_or(u64::MAX))
    }

    fn burst(&self) -> u64 {
        self.bytes_in(nanos(BURST)).min(self.window).max(BURST_PACKETS_MIN * self.packet_size)
    }
}

impl Pacer {
    pub(super) const fn new() -> Self {
        Self { tokens: 0, last: None }
    }

    /// When a packet may leave: `None` for now.
    pub(super) fn wait(&mut self, now: Time, pace: &Pace) -> Option<Time> {
        let burst = pace.burst();
        let earned = self.last.map_or(burst, |last| pace.bytes_in(nanos(now.since(last))));
        // Time that earns less than a byte goes on counting.
        if earned > 0 {
            self.tokens = self.tokens.saturating_add(earned).min(burst);
            self.last = Some(now);
        }
        let missing = pace.packet_size.saturating_sub(self.tokens);
        (missing > 0).then(|| now + pace.time_for(missing))
    }

    /// A packet leaves.
    pub(super) fn on_sent(&mut self, bytes: u64) {
        self.tokens = self.tokens.saturating_sub(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        // [LINK-31]
        #[test]
        fn it_keeps_the_pace_and_no_less(
            window_packets in 2..2000_u64,
            rtt_us in 50..300_000_u64,
            is_probing in any::<bool>(),
        ) {
            let packet_size = 1200;
            let rtt = Duration::from_micros(rtt_us);
            let pace = Pace { window: window_packets * packet_size, rtt, packet_size, is_probing };
            let mut pacer = Pacer::new();
            let (start, mut now, mut bytes) = (Time::from_nanos(1), Time::from_nanos(1), 0);
            let end = start + rtt * 20;
            loop {
                match pacer.wait(now, &pace) {
                    None => {
                        pacer.on_sent(packet_size);
                        bytes += packet_size;
                    }
                    Some(later) => {
                        prop_assert!(later > now, "a wait of nothing would spin");
                        now = later;
                    }
                }
                if now > end {
                    break;
                }
            }
            let most = pace.bytes_in(nanos(rtt * 20)) + pace.burst() + packet_size;
            let least = 20 * pace.window;
            prop_assert!(bytes <= most, "{bytes} of at most {most}");
            prop_assert!(bytes >= least, "{bytes} of at least {least}: less than a window a trip");
        }

        // [LINK-31]
        #[test]
        fn a_round_trip_of_no_time_does_not_hold_it_back(packet_size in 200..9000_u64) {
            let pace = Pace { window: 2 * packet_size, rtt: Duration::ZERO, packet_size, is_probing: false };
            let (mut pacer, mut now, mut packets) = (Pacer::new(), Time::from_nanos(1), 0);
            while packets < 100 {
                match pacer.wait(now, &pace) {
                    None => {
                        pacer.on_sent(packet_size);
                        packets += 1;
                    }
                    Some(later) => {
                        prop_assert!(later > now, "a wait of nothing would spin");
                        now = later;
                    }
                }
            }
        }

        // [LINK-31]
        #[test]
        fn a_pause_saves_up_no_more_than_a_burst(pause_ms in 0..10_000_u64) {
            let (window, rtt) = (1_200_000, Duration::from_millis(20));
            let pace = Pace { window, rtt, packet_size: 1200, is_probing: false };
            let mut pacer = Pacer::new();
            let mut now = Time::from_nanos(7);
            for _ in 0..2 {
                let mut burst = 0;
                while pacer.wait(now, &pace).is_none() {
                    pacer.on_sent(1200);
                    burst += 1200;
                }
                prop_assert!(burst <= pace.burst() + 1200);
                now = now + Duration::from_millis(pause_ms);
            }
        }
    }
}
