//! Which packets arrived and which are lost (RFC 9002, sections 5 and 6).
//!
//! Packets are never sent again: what was in a lost one goes into a new one. A packet is lost when
//! a packet three later was acknowledged, or one later and 9/8 of a round trip has passed. When
//! nothing is heard at all, a probe asks for an acknowledgement, each time after twice as long.

use super::ack::Ack;
use super::close::CloseReason;
use super::config::Config;
use super::marking::Marking;
use super::received::Ecn;
use super::rtt::Rtt;
use super::sent::{Item, Purpose, Sent, State};
use super::time::Time;
use std::time::Duration;

/// How much later a packet has to be acknowledged for an earlier one to be lost. [LINK-21]
const PACKET_THRESHOLD: u64 = 3;

/// Loss over so many probe delays means that the path's capacity is not what it was (section 7.6). [LINK-25]
const PERSISTENT_THRESHOLD: u32 = 3;

/// After so many probes without an answer, what is marked may be what does not get through.
const SILENT_PROBES: u32 = 3;

/// What an acknowledgement or a timer has shown. It is reused, so that it costs no allocation.
#[derive(Debug, Default)]
pub(super) struct Findings {
    /// What arrived.
    pub(super) acked: Vec<Item>,
    /// What has to be sent again.
    pub(super) lost: Vec<Item>,
    /// Bytes newly acknowledged, of packets that count as in flight.
    pub(super) acked_bytes: u64,
    /// When the newest of them was sent.
    pub(super) acked_sent: Option<Time>,
    /// The largest size of a packet that arrived.
    pub(super) acked_size_max: u32,
    /// When the newest lost packet was sent, probes of the path apart.
    pub(super) lost_sent: Option<Time>,
    /// The largest size of a lost packet, probes of the path apart.
    pub(super) lost_size_max: u32,
    /// How many packets were lost, probes of the path apart.
    pub(super) lost_packets: u64,
    /// Whether all packets of a long time were lost.
    pub(super) persistent: bool,
    /// The fate of a probe of the path.
    pub(super) probe: Option<(u32, State)>,
    /// Whether packets came marked with congestion.
    pub(super) congested: bool,
    /// The peer has got our acknowledgements of all packets below.
    pub(super) acks_received_below: u64,
}

/// Which timer ran out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Expired {
    Nothing,
    /// Packets are lost; the findings say which.
    Loss,
    /// Nothing was heard: ask.
    Probe,
}

#[derive(Debug)]
pub(super) struct Recovery {
    pub(super) sent: Sent,
    pub(super) rtt: Rtt,
    /// When the first round trip was measured on this path.
    first_sample: Option<Time>,
    marking: Marking,
    largest_acked: Option<u64>,
    /// When the oldest packet that a later one overtook counts as lost.
    loss_time: Option<Time>,
    last_eliciting: Time,
    probes: u32,
    granularity: Duration,
    peer_ack_delay: Duration,
    probe_delay_max: Duration,
    /// A carrier that repeats what it loses needs no guesses at loss. [LINK-24]
    guesses: bool,
    /// The first packet on this path. Of those before only what was in them counts. [LINK-33]
    path_first: u64,
}

impl Findings {
    pub(super) fn clear(&mut self) {
        let (mut acked, mut lost) =
            (std::mem::take(&mut self.acked), std::mem::take(&mut self.lost));
        acked.clear();
        lost.clear();
        *self = Self { acked, lost, ..Self::default() };
    }
}

impl Recovery {
    pub(super) fn new(config: &Config) -> Self {
        Self {
            sent: Sent::default(),
            rtt: Rtt::new(config.initial_rtt),
            first_sample: None,
            marking: Marking::default(),
            largest_acked: None,
            loss_time: None,
            last_eliciting: Time::default(),
            probes: 0,
            granularity: config.granularity,
            peer_ack_delay: config.ack_delay_max,
            probe_delay_max: config.probe_delay_max,
            guesses: config.loss_detection,
            path_first: 0,
        }
    }

    /// Forgets what was learnt of a path that is no longer used (RFC 9000, section 9.4).
    pub(super) fn path_changed(&mut self, initial_rtt: Duration) {
        self.rtt = Rtt::new(initial_rtt);
        self.first_sample = None;
        self.path_first = self.sent.next();
        self.sent.forget_bytes();
        self.marking.path_changed(self.path_first);
        self.probes = 0;
    }

    /// How the next packet is to be marked.
    pub(super) const fn ecn(&self) -> Ecn {
        self.marking.ecn()
    }

    /// Another carrier from now on, and nothing that is under way is waited for. What did arrive is
    /// sent once more, and does nothing there.
    pub(super) fn carrier_changed(&mut self, guesses: bool, findings: &mut Findings) {
        self.guesses = guesses;
        self.loss_time = None;
        for number in self.sent.first()..self.sent.next() {
            if self.sent.packet(number).is_some_and(|packet| packet.state == State::UnderWay) {
                self.lost(number, findings);
            }
        }
        self.sent.forget_settled();
    }

    /// A packet is sent with the items that were added.
    pub(super) fn on_sent(&mut self, now: Time, bytes: usize, purpose: Purpose, acked_below: u64) {
        if purpose != Purpose::Acks {
            self.last_eliciting = now;
        }
        self.sent.push(now, bytes, purpose, acked_below);
    }

    /// Takes in an acknowledgement; says whether it showed anything new.
    ///
    /// # Errors
    /// It names a packet that was never sent, which no honest peer does. [LINK-11]
    pub(super) fn on_ack(
        &mut self,
        now: Time,
        ack: &Ack<'_>,
        findings: &mut Findings,
    ) -> Result<bool, CloseReason> {
        if ack.largest >= self.sent.next() {
            return Err(CloseReason::AckOfUnsent);
        }
        let mut newest = None;
        let mut eliciting = false;
        for range in ack.ranges() {
            if *range.end() < self.sent.first() {
                break;
            }
            for number in (*range.start()).max(self.sent.first())..=*range.end() {
                match self.sent.packet(number).map(|packet| packet.state) {
                    Some(State::UnderWay) => {}
                    Some(State::Skipped) => return Err(CloseReason::AckOfUnsent),
                    _ => continue,
                }
                newest = newest.max(Some(number));
                eliciting |= self.acked(number, findings);
            }
        }
        let Some(newest) = newest else { return Ok(false) };
        if newest == ack.largest && newest >= self.path_first && eliciting {
            let sent = self.sent.packet(newest).expect("it is not forgotten yet").time;
            let delay = Duration::from_micros(ack.delay_us).min(self.peer_ack_delay);
            self.rtt.sample(now.since(sent), delay);
            self.first_sample = self.first_sample.or(Some(now));
        }
        // One that was overtaken on its way says what was counted before.
        if self.largest_acked.is_none_or(|before| ack.largest > before) {
            let counts = ack.ecn.unwrap_or_default();
            findings.congested = self.marking.on_counts(counts, self.sent.next());
        }
        self.largest_acked = self.largest_acked.max(Some(newest));
        self.find_losses(now, findings);
        self.probes = 0;
        self.sent.forget_settled();
        Ok(true)
    }

    /// Notes that a packet arrived; says whether it asked for acknowledgement on this path.
    fn acked(&mut self, number: u64, findings: &mut Findings) -> bool {
        let packet = *self.sent.packet(number).expect("the caller has looked at it");
        findings.acked.extend(self.sent.items(number));
        self.sent.settle(number, State::Acked);
        self.marking.on_acked(number);
        findings.acks_received_below = findings.acks_received_below.max(packet.acked_below);
        if packet.purpose == Purpose::Acks || number < self.path_first {
            return false;
        }
        findings.acked_bytes += u64::from(packet.bytes);
        findings.acked_sent = findings.acked_sent.max(Some(packet.time));
        findings.acked_size_max = findings.acked_size_max.max(packet.bytes);
        if packet.purpose == Purpose::MtuProbe {
            findings.probe = Some((packet.bytes, State::Acked));
        }
        true
    }

    /// Finds packets that were overtaken far or long enough (section 6.1).
    fn find_losses(&mut self, now: Time, findings: &mut Findings) {
        self.loss_time = None;
        let Some(largest) = self.largest_acked.filter(|_| self.guesses) else { return };
        let delay = self.rtt.loss_delay(self.granularity);
        let persistent = self.probe_delay() * PERSISTENT_THRESHOLD;
        let mut run_start = None;
        for number in self.sent.first()..largest {
            let packet = *self.sent.packet(number).expect("it lies between two that are there");
            match packet.state {
                State::UnderWay => {}
                State::Acked => {
                    run_start = None;
                    continue;
                }
                State::Lost | State::Skipped => continue,
            }
            let overtaken = largest - number >= PACKET_THRESHOLD;
            if !overtaken && now < packet.time + delay {
                // Later packets were sent later, so they are not lost either.
                self.loss_time = Some(packet.time + delay);
                return;
            }
            // Before the first round trip it was a guess how long is long (section 7.6.2).
            let is_known = self.first_sample.is_some_and(|first| first < packet.time);
            if packet.purpose == Purpose::Frames && number >= self.path_first && is_known {
                let start = *run_start.get_or_insert(packet.time);
                findings.persistent |= packet.time.since(start) > persistent;
            }
            self.lost(number, findings);
        }
    }

    fn lost(&mut self, number: u64, findings: &mut Findings) {
        let packet = *self.sent.packet(number).expect("the caller has looked at it");
        findings.lost.extend(self.sent.items(number));
        self.sent.settle(number, State::Lost);
        findings.lost_packets += u64::from(packet.purpose == Purpose::Frames);
        if crate::planted!("link-path-remembered": number < self.path_first => false) {
            return;
        }
        match packet.purpose {
            Purpose::Acks => {}
            Purpose::MtuProbe => findings.probe = Some((packet.bytes, State::Lost)),
            Purpose::Frames => {
                findings.lost_sent = findings.lost_sent.max(Some(packet.time));
                findings.lost_size_max = findings.lost_size_max.max(packet.bytes);
            }
        }
    }

    /// How long to wait for an acknowledgement before asking for one (section 6.2.1). [LINK-23]
    pub(super) fn probe_delay(&self) -> Duration {
        self.rtt.probe_delay(self.granularity).saturating_add(self.peer_ack_delay)
    }

    /// When [`Recovery::on_timeout`] has something to do.
    pub(super) fn timeout(&self) -> Option<Time> {
        if !self.guesses {
            return None;
        }
        self.loss_time.or_else(|| {
            let factor = 1_u32 << self.probes.min(16);
            let delay = self.probe_delay().saturating_mul(factor).min(self.probe_delay_max);
            self.sent.is_waiting().then(|| self.last_eliciting + delay)
        })
    }

    /// Does what is due.
    pub(super) fn on_timeout(&mut self, now: Time, findings: &mut Findings) -> Expired {
        if self.timeout().is_none_or(|due| now < due) {
            return Expired::Nothing;
        }
        if self.loss_time.is_some() {
            self.find_losses(now, findings);
            self.sent.forget_settled();
            return Expired::Loss;
        }
        self.probes += 1;
        if self.probes >= SILENT_PROBES {
            self.marking.on_silence(self.sent.next());
        }
        // The timer starts again, whether or not the probe can be sent at once.
        self.last_eliciting = now;
        Expired::Probe
    }

    /// How many probes in a row went unanswered.
    pub(super) const fn unanswered(&self) -> u32 {
        self.probes
    }

    /// What was in the oldest packets that wait for an acknowledgement, to go into a probe.
    pub(super) fn oldest_items(&self, into: &mut Vec<Item>) {
        let waiting = (self.sent.first()..self.sent.next()).filter(|number| {
            let packet = self.sent.packet(*number).expect("it is in the range");
            packet.state == State::UnderWay && packet.purpose == Purpose::Frames
        });
        for number in waiting.take(2) {
            into.extend(self.sent.items(number));
        }
    }
}

#[cfg(test)]
mod tests;
