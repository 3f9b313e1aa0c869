//! Which packets have come, and when the peer is told (RFC 9000, section 13.2).

use super::ack::{ACK_LEN_MIN, EcnCounts, write_received};
use super::config::Config;
use super::ranges::Ranges;
use super::time::Time;
use super::wire::Writer;
use std::time::Duration;

/// What the network marked a packet with (RFC 3168).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ecn {
    /// Not at all.
    #[default]
    NotCapable,
    /// Able to be marked.
    Capable0,
    /// Able to be marked, the other way.
    Capable1,
    /// There was congestion.
    Congested,
}

#[derive(Debug)]
pub(super) struct Received {
    ranges: Ranges,
    ranges_max: usize,
    largest: Option<(u64, Time)>,
    ecn: EcnCounts,
    /// Packets that ask for an acknowledgement and have had none.
    unacked: u32,
    every: u32,
    delay: Duration,
    due: Option<Time>,
}

impl Received {
    pub(super) const fn new(config: &Config) -> Self {
        Self {
            ranges: Ranges::new(),
            ranges_max: config.ack_ranges_max,
            largest: None,
            ecn: EcnCounts { ect0: 0, ect1: 0, ce: 0 },
            unacked: 0,
            every: config.ack_every,
            delay: config.ack_delay_max,
            due: None,
        }
    }

    /// Notes a packet; `eliciting` says whether it asks for an acknowledgement.
    pub(super) fn on_packet(&mut self, now: Time, number: u64, eliciting: bool, ecn: Ecn) {
        self.ranges.insert(number);
        self.ranges.keep_highest(self.ranges_max);
        let expected = self.largest.map_or(0, |(largest, _)| largest + 1);
        if number >= expected {
            self.largest = Some((number, now));
        }
        match ecn {
            Ecn::NotCapable => {}
            Ecn::Capable0 => self.ecn.ect0 += 1,
            Ecn::Capable1 => self.ecn.ect1 += 1,
            Ecn::Congested => self.ecn.ce += 1,
        }
        if !eliciting {
            return;
        }
        self.unacked += 1;
        // The sender learns at once what helps it: a gap, an old packet, congestion. [LINK-10]
        let at_once = number != expected || ecn == Ecn::Congested || self.unacked >= self.every;
        let due = if at_once { now } else { now + self.delay };
        self.due = Some(self.due.map_or(due, |earlier| earlier.min(due)));
    }

    /// When an acknowledgement has to leave, if one has to.
    pub(super) const fn due(&self) -> Option<Time> {
        self.due
    }

    /// Adds an acknowledgement to a packet, if there is anything to say and room for it. All packets
    /// below the number returned are spoken of; 0 if none is.
    pub(super) fn write(&mut self, now: Time, writer: &mut Writer<'_>) -> u64 {
        if self.unacked == 0 || self.ranges.is_empty() || writer.room() < ACK_LEN_MIN {
            return 0;
        }
        let delay = self.largest.map_or(Duration::ZERO, |(_, at)| now.since(at));
        let delay_us = u64::try_from(delay.as_micros()).unwrap_or(0).min(1 << 30);
        let ecn = (self.ecn != EcnCounts::default()).then_some(self.ecn);
        if write_received(&self.ranges, delay_us, ecn, writer).is_err() {
            debug_assert!(false, "there is room for a range");
            return 0;
        }
        self.unacked = 0;
        self.due = None;
        self.ranges.end()
    }

    /// The peer has got acknowledgements of all packets below: they need not be repeated. [LINK-13]
    pub(super) fn on_acks_received(&mut self, below: u64) {
        self.ranges.remove_below(below);
    }
}

#[cfg(test)]
mod tests {
    use super::super::frame::Frame;
    use super::super::wire::Reader;
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        /// Every packet that asks is acknowledged within the delay, and none that did not come.
        // [LINK-10] [LINK-13]
        #[test]
        fn what_came_is_acknowledged_in_time(
            packets in prop::collection::vec((0..80_u64, any::<bool>(), 0..2000_u64), 1..60),
            lost in prop::collection::vec(any::<bool>(), 60),
        ) {
            let config = Config::default();
            let mut received = Received::new(&config);
            let (mut now, mut came, mut open) = (Time::default(), BTreeSet::new(), BTreeSet::new());
            for ((number, eliciting, wait), lost) in packets.into_iter().zip(lost) {
                now = now + Duration::from_micros(wait);
                if let Some(due) = received.due() && due < now {
                    now = due;
                }
                received.on_packet(now, number, eliciting, Ecn::NotCapable);
                came.insert(number);
                if eliciting {
                    open.insert(number);
                }
                prop_assert!(open.is_empty() || received.due().is_some());
                prop_assert!(received.due().is_none_or(|due| due <= now + config.ack_delay_max));
                if received.due().is_none_or(|due| due > now) {
                    continue;
                }
                let mut buffer = [0; 1200];
                let mut writer = Writer::new(&mut buffer);
                let below = received.write(now, &mut writer);
                let frame = Frame::read(&mut Reader::new(&buffer)).expect("well formed");
                let Frame::Ack(ack) = frame else { panic!("{frame:?} is no acknowledgement") };
                let named: BTreeSet<u64> = ack.ranges().flatten().collect();
                prop_assert!(named.is_subset(&came));
                prop_assert!(open.is_subset(&named), "{open:?} in {named:?}");
                prop_assert_eq!(below, named.last().unwrap() + 1);
                if !lost {
                    received.on_acks_received(below);
                }
                open.clear();
            }
        }
    }
}
