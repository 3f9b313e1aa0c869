//! When to stop polling and sleep: after a while without anything, so that idling costs nothing; and at once where that
//! while was too short time and again.

use crate::link::Time;
use std::time::Duration;

/// Whiles that were too short one after the other, until only some of them are tried.
const MISSES_MAX: u32 = 8;

/// Every so many, one is tried: the peer may have become faster. A question and its answer are two whiles, or four, and
/// each of them has its turn.
const TRIED_OF: u32 = 17;

/// What to do after a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Poll again.
    Poll,
    /// Arm the completion queue, poll once more, and sleep if that gave nothing.
    Arm,
}

/// What happened in a turn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Activity {
    /// Whether packets came.
    pub received: bool,
    /// Whether packets left, which may be answered.
    pub sent: bool,
}

/// How long nothing has come. One clock read for each turn is all it needs.
///
/// ```
/// use greenroom_transports::link::Time;
/// use greenroom_transports::rdma::{Activity, Idle, Next};
/// use std::time::Duration;
///
/// let (nothing, sent) = (Activity::default(), Activity { sent: true, received: false });
/// let mut idle = Idle::new(Duration::from_micros(50));
/// let start = Time::from_nanos(1);
/// assert_eq!(idle.after_turn(start, nothing), Next::Arm);
/// assert_eq!(idle.after_turn(start, sent), Next::Poll);
/// assert_eq!(idle.after_turn(start + Duration::from_micros(49), nothing), Next::Poll);
/// assert_eq!(idle.after_turn(start + Duration::from_micros(50), nothing), Next::Arm);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Idle {
    spin: Duration,
    /// When something came or left last, while that is polled for.
    since: Option<Time>,
    /// How often nothing came in time, since something did.
    misses: u32,
}

impl Idle {
    /// Polls for `spin` after something came or left, before it says to sleep.
    #[must_use]
    pub const fn new(spin: Duration) -> Self {
        Self { spin, since: None, misses: 0 }
    }

    /// What to do after a turn in which that happened.
    pub fn after_turn(&mut self, now: Time, activity: Activity) -> Next {
        if activity.received && self.since.is_some() {
            self.misses = 0;
        }
        if activity.received || activity.sent {
            self.since = Some(now);
        }
        let Some(since) = self.since else { return Next::Arm };
        let is_tried = self.misses < MISSES_MAX || self.misses.is_multiple_of(TRIED_OF);
        if is_tried && now.since(since) < self.spin {
            return Next::Poll;
        }
        self.since = None;
        self.misses = self.misses.wrapping_add(1);
        Next::Arm
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPIN: Duration = Duration::from_micros(50);
    const NOTHING: Activity = Activity { received: false, sent: false };
    const SENT: Activity = Activity { received: false, sent: true };
    const RECEIVED: Activity = Activity { received: true, sent: false };

    /// Sends, and hears the answer after `gap`: how long was polled for it.
    fn asks(idle: &mut Idle, now: &mut Time, gap: Duration) -> Duration {
        let mut next = idle.after_turn(*now, SENT);
        let mut polled = Duration::ZERO;
        let step = Duration::from_micros(1);
        for _ in 0..gap.as_micros() {
            *now = *now + step;
            if next == Next::Poll {
                polled += step;
                next = idle.after_turn(*now, NOTHING);
            }
        }
        idle.after_turn(*now, RECEIVED);
        // What comes is the last for now.
        *now = *now + SPIN;
        idle.after_turn(*now, NOTHING);
        polled
    }

    #[test]
    fn answers_that_come_soon_are_polled_for() {
        let (mut idle, mut now) = (Idle::new(SPIN), Time::from_nanos(1));
        for _ in 0..100 {
            let gap = Duration::from_micros(20);
            assert_eq!(asks(&mut idle, &mut now, gap), gap);
        }
    }

    #[test]
    fn answers_that_never_come_in_time_are_hardly_polled_for() {
        let (mut idle, mut now) = (Idle::new(SPIN), Time::from_nanos(1));
        let all: Vec<_> =
            (0..100).map(|_| asks(&mut idle, &mut now, Duration::from_millis(2))).collect();
        let polled: Duration = all.iter().skip(8).sum();
        assert!(polled <= SPIN * 100 / 8, "{polled:?}");
        assert!(polled > Duration::ZERO, "it still tries");
        // And when they come sooner, that is noticed, also after something that nobody asked for.
        idle.after_turn(now, RECEIVED);
        now = now + SPIN;
        let soon = Duration::from_micros(20);
        let polled = (0..100).map(|_| asks(&mut idle, &mut now, soon)).filter(|it| *it == soon);
        assert!(polled.count() > 80);
    }

    #[test]
    fn whoever_has_nothing_to_wait_for_sleeps() {
        let mut idle = Idle::new(SPIN);
        for micros in 0..100 {
            assert_eq!(idle.after_turn(Time::from_nanos(micros * 1_000), NOTHING), Next::Arm);
        }
    }
}
