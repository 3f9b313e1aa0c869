//! CUBIC (RFC 9438): the window grows by a cubic function of the time since the last loss. [LINK-30]

use super::congestion::{Arrival, Controller};
use super::time::Time;

/// How far the window shrinks (section 4.6).
const BETA: f64 = 0.7;

/// How steep the function is, in packets per second cubed (section 5.1).
const STEEPNESS: f64 = 0.4;

/// The share of a packet by which Reno would grow, to be as aggressive as it is (section 4.3): until the window is as large as
/// before the loss, and by a whole one from then on.
const RENO_GROWTH: f64 = 3.0 * (1.0 - BETA) / (1.0 + BETA);

/// The least window, in packets.
const PACKETS_MIN: u64 = 2;

/// CUBIC, for one path.
#[derive(Debug)]
pub struct Cubic {
    packet_size: u64,
    initial_packets: u64,
    window: u64,
    /// Below it the window doubles with every round trip.
    threshold: u64,
    /// When the current recovery began: what was sent before says nothing new.
    recovery_start: Option<Time>,
    growth: Option<Growth>,
    /// The window at the last loss, in packets, and less if it had not come back to the one before.
    last_max: f64,
    /// The window at the last loss, in packets.
    prior: f64,
    /// Bytes that arrived and have not yet made the window grow.
    credit: f64,
}

/// A time of growth since a loss, windows in packets.
#[derive(Debug)]
struct Growth {
    start: Time,
    last: Time,
    /// The plateau, and when it is reached, in seconds after the start.
    max: f64,
    plateau: f64,
    /// What Reno's window would be.
    reno: f64,
}

impl Cubic {
    /// A window of `initial_packets` packets of `packet_size` bytes.
    ///
    /// ```
    /// use greenroom_transports::link::{Controller, Cubic};
    ///
    /// assert_eq!(Cubic::new(32, 1200).window(), 38_400);
    /// ```
    #[must_use]
    pub fn new(initial_packets: u64, packet_size: u64) -> Self {
        Self {
            packet_size,
            initial_packets,
            window: initial_packets * packet_size,
            threshold: u64::MAX,
            recovery_start: None,
            growth: None,
            last_max: 0.0,
            prior: 0.0,
            credit: 0.0,
        }
    }

    fn packets(&self) -> f64 {
        self.window as f64 / self.packet_size as f64
    }

    /// Grows after arrivals in congestion avoidance (sections 4.2 to 4.5).
    fn avoid(&mut self, now: Time, arrival: &Arrival) {
        let packets = self.packets();
        let last_max = self.last_max;
        let growth = self.growth.get_or_insert_with(|| {
            let max = last_max.max(packets);
            let plateau = ((max - packets) / STEEPNESS).cbrt();
            Growth { start: now, last: now, max, plateau, reno: packets }
        });
        // It stands still as well while nothing was under way. What one acknowledgement covers may have left over most of
        // a round trip, which is no pause.
        let pause = arrival.sent.since(growth.last);
        if crate::planted!("cubic-flight-pauses": pause > arrival.rtt => true) {
            growth.start = growth.start + pause;
        }
        growth.last = now;
        let arrived = arrival.bytes as f64 / self.packet_size as f64;
        let share = if growth.reno < self.prior { RENO_GROWTH } else { 1.0 };
        growth.reno += share * arrived / packets;
        let since = now.since(growth.start) + arrival.rtt;
        let at = since.as_secs_f64() - growth.plateau;
        let cubic = STEEPNESS * at * at * at + growth.max;
        let target = cubic.clamp(packets, 1.5 * packets);
        self.credit += (target - packets) / packets * arrived;
        let mut grown = packets + self.credit;
        if growth.reno > grown {
            grown = growth.reno;
        }
        // Whole packets only: the rest stays for later.
        let whole = (grown - packets).floor();
        if whole >= 1.0 {
            self.credit = 0.0;
            self.window += whole as u64 * self.packet_size;
        }
    }
}

impl Controller for Cubic {
    fn window(&self) -> u64 {
        self.window
    }

    fn on_arrival(&mut self, now: Time, arrival: &Arrival) {
        if self.recovery_start.is_some_and(|start| arrival.sent <= start) {
            return;
        }
        if !arrival.window_used {
            // A pause is no growth: the function stands still meanwhile (section 5.8).
            if let Some(growth) = &mut self.growth {
                growth.start = growth.start + now.since(growth.last);
                growth.last = now;
            }
            return;
        }
        if self.window < self.threshold {
            self.window = (self.window + arrival.bytes).min(self.threshold.max(self.window));
        } else {
            self.avoid(now, arrival);
        }
    }

    fn on_congestion(&mut self, now: Time, sent: Time, persistent: bool) {
        let fresh = self.recovery_start.is_none_or(|start| sent > start);
        if fresh {
            self.recovery_start = Some(now);
            self.growth = None;
            self.credit = 0.0;
            let packets = self.packets();
            self.prior = packets;
            // Fast convergence: who lost before reaching the old plateau makes room (section 4.7).
            let converging = packets < self.last_max;
            self.last_max = if converging { packets * (1.0 + BETA) / 2.0 } else { packets };
            let shrunk = (self.window as f64 * BETA) as u64;
            self.window = shrunk.max(PACKETS_MIN * self.packet_size);
            self.threshold = self.window;
        }
        if persistent {
            self.window = PACKETS_MIN * self.packet_size;
            self.recovery_start = None;
            self.growth = None;
        }
    }

    fn set_packet_size(&mut self, bytes: u64) {
        // What was counted in packets is as many bytes as before, and growth towards it begins anew.
        let scale = self.packet_size as f64 / bytes as f64;
        self.last_max *= scale;
        self.prior *= scale;
        self.growth = None;
        self.credit = 0.0;
        self.packet_size = bytes;
        self.window = self.window.max(PACKETS_MIN * bytes);
    }

    fn on_path_change(&mut self) {
        *self = Self::new(self.initial_packets, self.packet_size);
    }

    fn is_probing(&self) -> bool {
        self.window < self.threshold
    }
}

#[cfg(test)]
mod tests;
