//! Another path, or another carrier, for a lane that lives on.

use super::super::config::{Config, ConfigError};
use super::super::mtu::Discovery;
use super::super::pacer::Pacer;
use super::super::time::Time;
use super::{Event, Lane, Phase};

impl Lane {
    /// Packets take another path from now on, of which nothing is known (RFC 9000, section 9.4).
    /// [LINK-33]
    pub fn on_path_change(&mut self, now: Time) {
        self.recovery.path_changed(self.config.initial_rtt);
        self.congestion.on_path_change();
        self.mtu.on_path_change(now);
        self.set_packet_len();
        self.pacer = Pacer::new();
    }

    /// Packets go by another carrier from now on, and the one before carries none any more. Whether loss is
    /// guessed, how long packets are, and how many bytes may be under way, is as `config` says; the rest of it counts
    /// for nothing. What was under way is sent again, and does nothing where it had arrived; so is the word of an end that
    /// closes. [LINK-34] [LINK-73]
    ///
    /// # Errors
    /// The limits do not fit together; nothing has changed.
    pub fn on_carrier_change(&mut self, now: Time, config: &Config) -> Result<(), ConfigError> {
        let config = Config {
            loss_detection: config.loss_detection,
            packet_len_base: config.packet_len_base,
            packet_len_start: config.packet_len_start,
            packet_len_max: config.packet_len_max,
            flight_bytes_max: config.flight_bytes_max,
            ..self.config.clone()
        };
        config.check()?;
        self.mtu = discovery(&config);
        self.findings.clear();
        self.recovery.carrier_changed(config.loss_detection, &mut self.findings);
        self.config = config;
        for item in std::mem::take(&mut self.findings.lost) {
            if crate::planted!("rdma-move-forgets": false => true) {
                continue;
            }
            self.send_again(item);
        }
        self.counts.packets_lost += self.findings.lost_packets;
        self.liveness.set_waiting(now, self.recovery.sent.is_waiting());
        self.recovery.path_changed(self.config.initial_rtt);
        self.congestion.on_path_change();
        self.set_packet_len();
        self.pacer = Pacer::new();
        if let Phase::Closing { due, .. } = &mut self.phase {
            *due = true;
        }
        Ok(())
    }

    pub(super) fn set_packet_len(&mut self) {
        let len = self.mtu.current();
        self.congestion.set_packet_size(len as u64);
        self.events.push_back(Event::PacketLength(len));
    }
}

/// What sizes of packets there are to find out.
pub(super) fn discovery(config: &Config) -> Discovery {
    Discovery::new(
        config.packet_len_base,
        config.packet_len_start,
        config.packet_len_max,
        config.packet_len_raise_interval,
    )
}
