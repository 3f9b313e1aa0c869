//! How much may be under way: the contract of congestion controllers.

use super::time::Time;
use std::fmt;
use std::time::Duration;

/// Bytes that arrived, as a [`Controller`] is told of them.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    /// How many, of packets that count as under way.
    pub bytes: u64,
    /// When the newest of them was sent.
    pub sent: Time,
    /// The smoothed round-trip time.
    pub rtt: Duration,
    /// Whether the window was in use when they arrived; if not, it has no reason to grow.
    pub window_used: bool,
}

/// Decides how many bytes may be under way, for one path.
///
/// It has no clock: every call says what time it is.
pub trait Controller: fmt::Debug + Send {
    /// The most bytes that may be under way.
    fn window(&self) -> u64;

    /// Bytes arrived.
    fn on_arrival(&mut self, now: Time, arrival: &Arrival);

    /// A packet that was sent at `sent` is lost, or was marked by the network. With `persistent`,
    /// everything of a long time was lost.
    fn on_congestion(&mut self, now: Time, sent: Time, persistent: bool);

    /// Packets are now of this size.
    fn set_packet_size(&mut self, bytes: u64);

    /// The path is another: begin anew.
    fn on_path_change(&mut self);

    /// Whether the window grows quickly, so that packets may leave quickly too.
    fn is_probing(&self) -> bool;
}
