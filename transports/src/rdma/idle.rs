//! When to stop polling and sleep: after a while without anything, so that idling costs nothing.

use crate::link::Time;
use std::time::Duration;

/// What to do after a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Poll again.
    Poll,
    /// Arm the completion queue, poll once more, and sleep if that gave nothing.
    Arm,
}

/// How long nothing has come. One clock read for each turn is all it needs.
///
/// ```
/// use greenroom_transports::link::Time;
/// use greenroom_transports::rdma::{Idle, Next};
/// use std::time::Duration;
///
/// let mut idle = Idle::new(Duration::from_micros(50));
/// let start = Time::from_nanos(1);
/// assert_eq!(idle.after_turn(start, 0), Next::Poll);
/// assert_eq!(idle.after_turn(start + Duration::from_micros(50), 0), Next::Arm);
/// assert_eq!(idle.after_turn(start + Duration::from_micros(51), 1), Next::Poll);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Idle {
    spin: Duration,
    since: Option<Time>,
}

impl Idle {
    /// Polls for `spin` without anything before it says to sleep.
    #[must_use]
    pub const fn new(spin: Duration) -> Self {
        Self { spin, since: None }
    }

    /// What to do after a turn that found so many packets.
    pub fn after_turn(&mut self, now: Time, packets: usize) -> Next {
        if packets > 0 {
            self.since = None;
            return Next::Poll;
        }
        let since = *self.since.get_or_insert(now);
        if now.since(since) >= self.spin { Next::Arm } else { Next::Poll }
    }
}
