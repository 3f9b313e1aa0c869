//! Every limit of the engine, with its unit and what it is unless set.

use std::time::Duration;

/// The limits and times of a lane. Both ends may differ in all but what is said to be shared.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Bytes of a packet's inside that every path takes: 1168, so that a datagram of the UDP carrier
    /// has 1200.
    pub packet_len_base: usize,
    /// Bytes of a packet's inside that this path is known to take: `packet_len_base`, or more for a
    /// local network.
    pub packet_len_start: usize,
    /// Bytes of a packet's inside beyond which nothing is tried: 1420, so that a datagram has 1452.
    pub packet_len_max: usize,
    /// After how long a larger packet is tried again: 600 s.
    pub packet_len_raise_interval: Duration,
    /// The longest message, in bytes: 16 MiB. Shared.
    pub message_len_max: usize,
    /// Messages that are sent and not all acknowledged up to: 32,768. Shared.
    pub window_messages: u64,
    /// Bytes that the peer may send ahead to begin with, for each class: 1 MiB. Shared.
    pub window_bytes_start: u64,
    /// Bytes that the peer may send ahead at most, for each class: 18 MiB. At least the longest message
    /// and the first window.
    pub window_bytes_max: u64,
    /// Bytes that are kept until the peer has acknowledged them, of all messages that it is sent, whatever credit it
    /// gives: 72 MiB. That is twice what the widest windows of both classes take: those may be full while as much that
    /// has come waits for one lost packet. The message that passes it is still taken.
    pub unacknowledged_bytes_max: u64,
    /// Messages that come in pieces at one time: 256.
    pub reassemblies_max: usize,
    /// Messages that may be sent to an actor before it grants any: 32. `None` leaves it to whoever is above to
    /// bound what is on its way to each. Shared.
    pub mailbox_messages_start: Option<u64>,
    /// How long an acknowledgement may wait: 1 ms. Shared.
    pub ack_delay_max: Duration,
    /// How many packets may go without an acknowledgement: 2.
    pub ack_every: u32,
    /// Ranges of received packets that are remembered: 64.
    pub ack_ranges_max: usize,
    /// What the round trip is taken to be until it is measured: 50 ms.
    pub initial_rtt: Duration,
    /// The shortest time that timers tell apart: 1 ms.
    pub granularity: Duration,
    /// How long to wait at most before asking again for an acknowledgement: 3 s.
    pub probe_delay_max: Duration,
    /// Whether loss is guessed from acknowledgements and time: yes, unless the carrier repeats what it
    /// loses, as a reliable queue pair does.
    pub loss_detection: bool,
    /// Bytes that may be under way at most, whatever the congestion controller says: what the peer's carrier holds
    /// until it is read. `None` is no bound.
    pub flight_bytes_max: Option<u64>,
    /// Packets that may be under way to begin with: 32.
    pub initial_window_packets: u64,
    /// Of so many packet numbers one is left out at random: 256. Zero leaves none out.
    pub skip_every: u64,
    /// After how long without a packet to ask whether the peer is there, or up to an eighth of the time from then to
    /// suspicion later: 1 s; `None` leaves it to another lane of the association.
    pub keep_alive: Option<Duration>,
    /// After how long a silence the peer is suspected: 3 s.
    pub suspect_after: Duration,
    /// After how long a silence the peer is dead: 10 s.
    pub dead_after: Duration,
    /// Where random choices begin; the carrier draws it.
    pub seed: u64,
}

impl Config {
    /// The same, or for the one end of an association that asks later than the other, by a quarter of the time from a
    /// question to suspicion: so they do not ask together, unless a packet takes as long. [LINK-70]
    pub(crate) fn asking_later(mut self, is_later: bool) -> Self {
        if is_later {
            let more = |span| self.suspect_after.saturating_sub(span) / 4;
            self.keep_alive = self.keep_alive.map(|span| span + more(span));
        }
        self
    }
}

impl Default for Config {
    fn default() -> Self {
        Self {
            packet_len_base: 1168,
            packet_len_start: 1168,
            packet_len_max: 1420,
            packet_len_raise_interval: Duration::from_secs(600),
            message_len_max: 16 << 20,
            window_messages: 1 << 15,
            window_bytes_start: 1 << 20,
            window_bytes_max: 18 << 20,
            unacknowledged_bytes_max: 72 << 20,
            reassemblies_max: 256,
            mailbox_messages_start: Some(32),
            ack_delay_max: Duration::from_millis(1),
            ack_every: 2,
            ack_ranges_max: 64,
            initial_rtt: Duration::from_millis(50),
            granularity: Duration::from_millis(1),
            probe_delay_max: Duration::from_secs(3),
            loss_detection: true,
            flight_bytes_max: None,
            initial_window_packets: 32,
            skip_every: 256,
            keep_alive: Some(Duration::from_secs(1)),
            suspect_after: Duration::from_secs(3),
            dead_after: Duration::from_secs(10),
            seed: 0,
        }
    }
}

/// The least of [`Config::packet_len_base`]: room for any acknowledgement beside a whole envelope.
pub(super) const PACKET_LEN_MIN: usize = 256;

/// Bytes in a window at most: an exabyte.
const BYTES_MAX: u64 = 1 << 60;
/// The most of [`Config::packet_len_max`]: no carrier has longer packets.
const PACKET_LEN_MAX: u64 = 1 << 20;
/// Packets that are counted ahead at most.
const PACKETS_MAX: u64 = 1 << 32;

/// What a message costs beside its payload, so that empty ones are bounded too. [LINK-41]
pub(super) const MESSAGE_COST: u64 = 64;

/// Why a [`Config`] cannot be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// Packet lengths do not ascend from 256: base, start, max.
    #[error("packet lengths must ascend from 256: base, start, max")]
    PacketLengths,
    /// The window of messages is not a power of two up to 32,768.
    #[error("the window must be a power of two, at most 32768 messages")]
    WindowMessages,
    /// The windows of bytes are too small.
    #[error("a window must have room for four packets, the largest for the longest message too")]
    WindowBytes,
    /// A message longer than 4 GiB.
    #[error("a message has at most 4 GiB")]
    MessageLength,
    /// A peer would be dead before it is suspected, or suspected at once.
    #[error("times of silence must ascend: asked, suspected, dead")]
    Silence,
    /// A count of zero, where nothing would work.
    #[error("{0} must not be zero")]
    Zero(&'static str),
    /// A count beyond all that anybody has a use for, with which sums would overflow.
    #[error("{0} is too large")]
    TooLarge(&'static str),
}

impl Config {
    /// Says whether the limits fit together.
    ///
    /// # Errors
    /// They do not; the first reason found.
    pub fn check(&self) -> Result<(), ConfigError> {
        let lengths = [PACKET_LEN_MIN, self.packet_len_base, self.packet_len_start];
        if !lengths.is_sorted() || self.packet_len_max < self.packet_len_start {
            return Err(ConfigError::PacketLengths);
        }
        if !self.window_messages.is_power_of_two() || self.window_messages > 1 << 15 {
            return Err(ConfigError::WindowMessages);
        }
        if u32::try_from(self.message_len_max).is_err() {
            return Err(ConfigError::MessageLength);
        }
        let longest = (self.message_len_max as u64).saturating_add(MESSAGE_COST);
        let room = longest.saturating_add(self.window_bytes_start);
        // A message in one packet waits for credit that only comes when a quarter of a window is free.
        if self.window_bytes_start < 4 * self.packet_len_max as u64 || self.window_bytes_max < room
        {
            return Err(ConfigError::WindowBytes);
        }
        let asked = self.keep_alive.unwrap_or_default();
        if asked >= self.suspect_after || self.suspect_after >= self.dead_after {
            return Err(ConfigError::Silence);
        }
        let counts = [
            ("unacknowledged_bytes_max", self.unacknowledged_bytes_max),
            ("reassemblies_max", self.reassemblies_max as u64),
            ("mailbox_messages_start", self.mailbox_messages_start.unwrap_or(1)),
            ("ack_every", u64::from(self.ack_every)),
            ("ack_ranges_max", self.ack_ranges_max as u64),
            ("initial_window_packets", self.initial_window_packets),
        ];
        counts.iter().try_for_each(|(name, count)| match count {
            0 => Err(ConfigError::Zero(name)),
            _ => Ok(()),
        })?;
        let sums = [
            ("window_bytes_max", self.window_bytes_max, BYTES_MAX),
            ("unacknowledged_bytes_max", self.unacknowledged_bytes_max, BYTES_MAX),
            ("packet_len_max", self.packet_len_max as u64, PACKET_LEN_MAX),
            ("initial_window_packets", self.initial_window_packets, PACKETS_MAX),
            ("skip_every", self.skip_every, PACKETS_MAX),
        ];
        let beyond = sums.iter().find(|(_, count, most)| count > most);
        beyond.map_or(Ok(()), |(name, ..)| Err(ConfigError::TooLarge(name)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_fit_together_and_nonsense_does_not() {
        assert_eq!(Config::default().check(), Ok(()));
        let bad = |change: fn(&mut Config)| {
            let mut config = Config::default();
            change(&mut config);
            config.check().unwrap_err()
        };
        assert_eq!(bad(|it| it.packet_len_base = 100), ConfigError::PacketLengths);
        assert_eq!(bad(|it| it.packet_len_max = 1000), ConfigError::PacketLengths);
        assert_eq!(bad(|it| it.window_messages = 1 << 16), ConfigError::WindowMessages);
        assert_eq!(bad(|it| it.window_messages = 100), ConfigError::WindowMessages);
        assert_eq!(bad(|it| it.window_bytes_max = 1 << 20), ConfigError::WindowBytes);
        assert_eq!(bad(|it| it.message_len_max = usize::MAX), ConfigError::MessageLength);
        assert_eq!(bad(|it| it.dead_after = it.suspect_after), ConfigError::Silence);
        assert_eq!(bad(|it| it.ack_every = 0), ConfigError::Zero("ack_every"));
        let large = ConfigError::TooLarge;
        assert_eq!(bad(|it| it.window_bytes_max = u64::MAX), large("window_bytes_max"));
        assert_eq!(bad(|it| it.initial_window_packets = 1 << 40), large("initial_window_packets"));
        assert_eq!(bad(|it| it.skip_every = u64::MAX), large("skip_every"));
    }
}
