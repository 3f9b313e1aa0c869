//! Whether the peer is still there. [LINK-70]
//!
//! Every packet of the peer's that is authentic is a sign of life. Silence means something only while
//! an answer is expected: always, on a lane that asks when nothing comes; while something waits for
//! an acknowledgement, on another.

use super::config::Config;
use super::time::Time;
use std::time::Duration;

/// What silence has come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Silence {
    /// Too short to mean anything.
    Short,
    /// Ask.
    Ask,
    /// Longer than a peer that is well keeps it.
    Suspect,
    /// For good.
    Dead,
}

#[derive(Debug)]
pub(super) struct Liveness {
    ask_after: Option<Duration>,
    suspect_after: Duration,
    dead_after: Duration,
    heard: Time,
    asked: Time,
    /// Since when something waits for an acknowledgement.
    waiting: Option<Time>,
    is_suspect: bool,
}

impl Liveness {
    /// `jitter` of 256 is added of an eighth of the time between a question and suspicion, so that many associations do
    /// not ask together.
    pub(super) fn new(now: Time, config: &Config, jitter: u8) -> Self {
        let until_suspect = |span: Duration| config.suspect_after.saturating_sub(span);
        let spread = |span: Duration| span + until_suspect(span) * u32::from(jitter) / (8 * 256);
        Self {
            ask_after: config.keep_alive.map(spread),
            suspect_after: config.suspect_after,
            dead_after: config.dead_after,
            heard: now,
            asked: now,
            waiting: None,
            is_suspect: false,
        }
    }

    /// A packet came; says whether the peer was suspected.
    pub(super) fn on_heard(&mut self, now: Time) -> bool {
        self.heard = now;
        self.waiting = self.waiting.map(|_| now);
        std::mem::take(&mut self.is_suspect)
    }

    /// Whether something waits for an acknowledgement.
    pub(super) fn set_waiting(&mut self, now: Time, waiting: bool) {
        self.waiting = waiting.then(|| self.waiting.unwrap_or(now));
    }

    /// This end stood still for so long, and heard nothing because it did not listen. [LINK-71]
    pub(super) fn on_pause(&mut self, pause: Duration) {
        self.heard = self.heard + pause;
        self.waiting = self.waiting.map(|since| since + pause);
    }

    fn quiet_since(&self) -> Option<Time> {
        if self.ask_after.is_some() { Some(self.heard) } else { self.waiting }
    }

    /// When [`Liveness::check`] has something to say.
    pub(super) fn timeout(&self) -> Option<Time> {
        let patience = if self.is_suspect { self.dead_after } else { self.suspect_after };
        let silence = self.quiet_since().map(|since| since + patience);
        let ask = self.ask_after.map(|after| self.heard.max(self.asked) + after);
        silence.into_iter().chain(ask).min()
    }

    /// Says what is due; each once.
    pub(super) fn check(&mut self, now: Time) -> Silence {
        if let Some(since) = self.quiet_since() {
            if now >= since + self.dead_after {
                return Silence::Dead;
            }
            if now >= since + self.suspect_after && !self.is_suspect {
                self.is_suspect = true;
                return Silence::Suspect;
            }
        }
        match self.ask_after {
            Some(after) if now >= self.heard.max(self.asked) + after => {
                self.asked = now;
                Silence::Ask
            }
            _ => Silence::Short,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn ms(count: u64) -> Duration {
        Duration::from_millis(count)
    }

    proptest! {
        /// Whatever the order of packets and timers: dead exactly after the time of silence, suspected
        /// before, and never while packets come often enough.
        // [LINK-70]
        #[test]
        fn the_dead_are_those_who_are_silent(
            gaps in prop::collection::vec(0..4000_u64, 0..30), jitter in any::<u8>(),
        ) {
            let config = Config::default();
            let start = Time::from_nanos(1);
            let mut liveness = Liveness::new(start, &config, jitter);
            let (mut heard, mut asked) = (start, start);
            let mut suspect = false;
            for gap in gaps {
                let next = heard + ms(gap);
                while let Some(due) = liveness.timeout() && due <= next {
                    match liveness.check(due) {
                        Silence::Ask => {
                            prop_assert!(due.since(heard) >= ms(1000));
                            // The first one, or the next.
                            prop_assert!(due.since(heard.max(asked)) <= ms(1250));
                            asked = due;
                        }
                        Silence::Suspect => {
                            prop_assert_eq!(due, heard + config.suspect_after);
                            suspect = true;
                        }
                        other => prop_assert!(false, "{other:?} after {gap} ms"),
                    }
                }
                prop_assert_eq!(liveness.on_heard(next), suspect);
                suspect = false;
                heard = next;
            }
            loop {
                let due = liveness.timeout().expect("it always asks");
                if liveness.check(due) == Silence::Dead {
                    prop_assert_eq!(due, heard + config.dead_after);
                    break;
                }
            }
        }
    }

    // [LINK-70]
    #[test]
    fn a_lane_that_does_not_ask_counts_while_it_waits() {
        let config = Config { keep_alive: None, ..Config::default() };
        let start = Time::from_nanos(1);
        let mut liveness = Liveness::new(start, &config, 0);
        assert_eq!(liveness.timeout(), None);
        let late = start + ms(60_000);
        assert_eq!(liveness.check(late), Silence::Short);
        liveness.set_waiting(late, true);
        liveness.set_waiting(late + ms(100), true);
        assert_eq!(liveness.timeout(), Some(late + config.suspect_after));
        assert_eq!(liveness.check(late + config.suspect_after), Silence::Suspect);
        liveness.set_waiting(late, false);
        assert_eq!(liveness.check(late + config.dead_after), Silence::Short);
    }

    // [LINK-71]
    #[test]
    fn who_stood_still_blames_nobody() {
        let config = Config::default();
        let start = Time::from_nanos(1);
        let mut liveness = Liveness::new(start, &config, 0);
        liveness.on_pause(ms(20_000));
        assert_eq!(liveness.check(start + ms(20_500)), Silence::Short);
        assert_eq!(liveness.check(start + ms(30_000)), Silence::Dead);
    }
}
