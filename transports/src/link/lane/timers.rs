//! What happens when time passes.

use super::super::close::End;
use super::super::liveness::Silence;
use super::super::recovery::Expired;
use super::super::time::Time;
use super::{Event, Lane, Phase, Rest};
use std::time::Duration;

/// A timer that is served so much too late means that this end stood still.
const PAUSE: Duration = Duration::from_secs(1);

impl Lane {
    /// When [`Lane::on_timeout`] wants to be called, or [`Lane::poll_transmit`] has something to send;
    /// `None` for never. It changes with every call.
    #[must_use]
    pub fn timeout(&self) -> Option<Time> {
        match self.phase {
            Phase::Open => {}
            Phase::Closing { until, .. } => return Some(until),
            Phase::Ended => return None,
        }
        let times = [
            self.recovery.timeout(),
            self.received.due(),
            self.pace_until,
            self.liveness.timeout(),
            self.size_probe_due(),
        ];
        times.into_iter().flatten().min()
    }

    /// When a larger packet is tried, if window and pace let it go. A carrier that repeats what it loses
    /// has no sizes to find.
    pub(super) fn size_probe_due(&self) -> Option<Time> {
        let room = self.congestion_window().saturating_sub(self.recovery.sent.bytes_in_flight());
        let fits = room >= self.config.packet_len_max as u64 && self.pace_until.is_none();
        self.mtu.due().filter(|_| fits && self.config.loss_detection)
    }

    /// Does what is due by now. The carrier then asks for packets and events.
    pub fn on_timeout(&mut self, now: Time) {
        match self.phase {
            Phase::Open => {}
            Phase::Closing { until, .. } => {
                if now >= until {
                    self.phase = Phase::Ended;
                }
                return;
            }
            Phase::Ended => return,
        }
        self.notice_pause(now);
        self.on_recovery_timeout(now);
        self.trim_at_rest(now);
        match self.liveness.check(now) {
            Silence::Short => {}
            Silence::Ask => self.ping = true,
            Silence::Suspect => self.events.push_back(Event::Suspected),
            Silence::Dead => self.end(End::Silent),
        }
    }

    /// Lets go of what is kept for later once there were no messages for as long as it takes until one end asks. Questions and
    /// their answers are none, and come to both ends as long as they live.
    fn trim_at_rest(&mut self, now: Time) {
        let messages = self.counts.messages_sent + self.counts.messages_delivered;
        if messages != self.rest.messages {
            self.rest = Rest { messages, since: now };
        }
        if self.config.keep_alive.is_some_and(|span| now.since(self.rest.since) >= span) {
            self.pool.trim();
            self.outbox.trim();
        }
    }

    fn notice_pause(&mut self, now: Time) {
        let late = self.liveness.timeout().map_or(Duration::ZERO, |due| now.since(due));
        if late > PAUSE {
            self.liveness.on_pause(late);
        }
    }

    fn on_recovery_timeout(&mut self, now: Time) {
        self.findings.clear();
        match self.recovery.on_timeout(now, &mut self.findings) {
            Expired::Nothing => {}
            Expired::Loss => self.on_losses(now),
            Expired::Probe => {
                self.counts.probes += 1;
                self.probes = 1;
                let mut items = std::mem::take(&mut self.probe_items);
                self.recovery.oldest_items(&mut items);
                for item in items.drain(..) {
                    self.send_again(item);
                }
                self.probe_items = items;
                // Packets above the base size may be what does not get through. [LINK-32]
                if self.recovery.unanswered() > 1 && self.mtu.on_silence(now, self.mtu.current()) {
                    self.set_packet_len();
                }
            }
        }
    }
}
