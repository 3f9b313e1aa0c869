//! How far ahead a node gives credit for the messages to one actor. [ENV-11]
//!
//! The peer may have a window of messages under way. It begins narrow. One of which half is used up before it is certain
//! that the peer has heard of more, while all that comes is handed in at once, may hold the sender back, since that takes
//! less than a round trip: it is doubled. One in which
//! something waited all the time holds nobody back, since the actor does: it becomes an eighth narrower. Long messages have a
//! window of few, so that the bytes which may come are bounded.

use crate::sync::planted;

/// Messages in a window at first, and at least.
pub(in crate::net) const WIDTH_MIN: u32 = 128;
/// Messages in a window at most.
const WIDTH_MAX: u64 = 4096;
/// Bytes of messages as long as the longest of late, in a window that is wider than the least.
const BYTES_MAX: u64 = 16 << 20;

/// See the [module](self).
#[derive(Debug)]
pub(super) struct Window {
    /// Messages that came.
    received: u64,
    /// Messages that came and do not wait any more.
    settled: u64,
    /// Messages that may come altogether; never fewer than the peer was told.
    granted: u64,
    width: u64,
    /// The number of the frame by which the peer was told last.
    told: u64,
    /// Whether nothing waited at some time since.
    was_idle: bool,
    /// Bytes of the longest message since.
    longest: u64,
}

impl Window {
    pub(super) fn new() -> Self {
        let width = u64::from(WIDTH_MIN);
        Self {
            received: 0,
            settled: 0,
            granted: width,
            width,
            told: 0,
            was_idle: false,
            longest: 0,
        }
    }

    /// Counts a message of so many bytes that came; `false` if there was no credit for it.
    pub(super) fn receive(&mut self, bytes: usize) -> bool {
        self.received += 1;
        self.longest = self.longest.max(bytes as u64);
        self.received <= self.granted
    }

    /// Whether there is credit for so many more.
    pub(super) fn has_credit(&self, messages: u32) -> bool {
        self.received + u64::from(messages) <= self.granted
    }

    /// Counts messages for which there is credit, the longest of so many bytes.
    pub(super) fn receive_run(&mut self, messages: u32, longest: usize) {
        self.received += u64::from(messages);
        self.longest = self.longest.max(longest as u64);
    }

    /// How many messages may be handed in until it is time to move the window; one at least.
    pub(super) fn until_due(&self) -> u32 {
        let ahead = (self.granted - self.settled).saturating_sub(self.width / 2);
        u32::try_from(ahead).unwrap_or(u32::MAX).max(1)
    }

    /// Counts messages that are handed in, or will never be; says whether it is time to move the window.
    pub(super) fn settle(&mut self, messages: u32) -> bool {
        self.settled += u64::from(messages);
        self.was_idle |= self.settled == self.received;
        self.granted - self.settled <= self.width / 2
    }

    /// Moves the window behind what is settled; returns how many messages may come altogether by now. The peer has so
    /// many frames of this node for certain.
    pub(super) fn advance(&mut self, arrived: u64) -> u64 {
        let was_quick = planted!("net-window-ignores-way": arrived < self.told => false);
        let width = match planted!("net-window-ignores-actor": self.was_idle => true) {
            false => self.width - self.width / 8,
            true if was_quick => self.width * 2,
            true => self.width,
        };
        let least = u64::from(WIDTH_MIN);
        let fitting =
            planted!("net-window-ignores-bytes": BYTES_MAX / self.longest.max(1) => WIDTH_MAX);
        self.width = width.min(fitting).clamp(least, WIDTH_MAX);
        (self.was_idle, self.longest) = (false, 0);
        self.granted = self.granted.max(self.settled + self.width);
        self.granted
    }

    /// Notes by which frame the peer is told so.
    pub(super) fn tell(&mut self, frame: u64) {
        self.told = frame;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A peer that sends a message every `pause` milliseconds, or whenever it may, of that many bytes, to an actor that
    /// takes `rate` of them in a millisecond, `way` milliseconds from it; returns how many are handled in `ms`.
    fn stream(
        window: &mut Window,
        bytes: usize,
        (pause, rate): (u64, u64),
        way: usize,
        ms: u64,
    ) -> u64 {
        let (mut granted, mut sent, mut waiting, mut handled) = (window.granted, 0, 0, 0);
        let (mut mail, mut credits) = (vec![0; way], vec![granted; way]);
        // How many frames told credit at which time; those of a round trip ago have arrived for certain.
        let (mut frames, mut arrived) = (0, vec![0; 2 * way]);
        for now in 0..ms {
            let wanted = now.checked_div(pause).unwrap_or(u64::MAX).min(granted);
            mail.push(wanted.saturating_sub(sent));
            sent = sent.max(wanted);
            for _ in 0..mail.remove(0) {
                assert!(window.receive(bytes), "there was credit");
                waiting += 1;
            }
            for _ in 0..waiting.min(rate) {
                (waiting, handled) = (waiting - 1, handled + 1);
                if window.settle(1) {
                    window.advance(arrived[0]);
                    frames += 1;
                    window.tell(frames);
                }
            }
            assert!(waiting <= window.granted - window.settled);
            credits.push(window.granted);
            granted = credits.remove(0);
            arrived.push(frames);
            arrived.remove(0);
        }
        handled
    }

    #[test]
    fn a_long_way_does_not_hold_a_quick_actor_back() {
        for way in [1, 20, 100, 200] {
            let handled = stream(&mut Window::new(), 100, (0, 10), way, 20_000);
            // What the actor takes, or what the widest window allows in each round trip.
            let most = (10 * 20_000).min(WIDTH_MAX * 20_000 / (2 * way as u64));
            assert!(handled * 2 > most, "{handled} of {most} over {way} ms");
        }
    }

    #[test]
    fn a_steady_sender_is_not_held_back_however_long_the_way_is() {
        for (pause, way) in [(10, 1500), (5, 2000)] {
            let handled = stream(&mut Window::new(), 100, (pause, 10), way, 60_000);
            let sent = 60_000 / pause;
            assert!(handled * 2 > sent, "{handled} of {sent} over {way} ms");
        }
    }

    #[test]
    fn who_seldom_sends_has_a_narrow_window() {
        let mut window = Window::new();
        stream(&mut window, 100, (10, 10), 100, 100_000);
        assert_eq!(window.width, u64::from(WIDTH_MIN));
    }

    #[test]
    fn a_slow_actor_has_few_messages_under_way() {
        let mut window = Window::new();
        stream(&mut window, 100, (0, 1), 1, 10_000);
        assert!(window.width <= 256, "{window:?}");
        // Also one that becomes slow.
        let mut window = Window { width: WIDTH_MAX, granted: WIDTH_MAX, ..Window::new() };
        stream(&mut window, 100, (0, 1), 1, 20_000);
        assert!(window.width <= 256, "{window:?}");
    }

    #[test]
    fn long_messages_have_a_narrow_window() {
        let mut window = Window::new();
        stream(&mut window, 64 << 10, (0, 100), 50, 20_000);
        assert!(window.width <= 256, "{window:?}");
    }

    /// Hands in `count` messages, so many at once; `frames` counts those that told credit, of which the peer has `arrived`.
    fn hand_in(
        window: &mut Window,
        mut count: u32,
        at_once: fn(&Window) -> u32,
        arrived: u64,
        mut frames: u64,
    ) -> u64 {
        while count > 0 {
            let some = at_once(window).min(count);
            window.receive_run(some, 100);
            if window.settle(some) {
                window.advance(arrived);
                frames += 1;
                window.tell(frames);
            }
            count -= some;
        }
        frames
    }

    proptest! {
        /// Messages that are handed in as one leave the window as those do that are handed in one by one.
        #[test]
        fn a_run_moves_the_window_as_single_messages_do(
            runs in prop::collection::vec((1..200_u32, 0..6_u64), 1..100),
        ) {
            let (mut single, mut whole, mut frames) = (Window::new(), Window::new(), 0_u64);
            for (count, under_way) in runs {
                let count = count.min((single.granted - single.received) as u32);
                let arrived = frames.saturating_sub(under_way);
                let told = hand_in(&mut single, count, |_| 1, arrived, frames);
                prop_assert_eq!(hand_in(&mut whole, count, Window::until_due, arrived, frames), told);
                prop_assert_eq!(format!("{single:?}"), format!("{whole:?}"));
                frames = told;
            }
        }

        /// Whatever comes at whatever times: who keeps to the credit is never refused, who does not is, and credit
        /// never falls, nor runs out while nothing waits.
        #[test]
        fn credit_never_falls_and_never_runs_out(
            steps in prop::collection::vec((0..3_u8, 0..200_u64, 0..1_u64 << 24), 1..400),
        ) {
            let (mut window, mut told) = (Window::new(), u64::from(WIDTH_MIN));
            for (what, count, bytes) in steps {
                window.tell(bytes);
                for _ in 0..count {
                    if what == 0 && window.received < told {
                        prop_assert!(window.receive(bytes as usize));
                    } else if what > 0 && window.settled < window.received && window.settle(1) {
                        let granted = window.advance(1 << 23);
                        prop_assert!(granted >= told);
                        told = granted;
                    }
                }
                let open = told - window.settled;
                prop_assert!((1..=WIDTH_MAX).contains(&open), "{open}");
                prop_assert!(open > u64::from(WIDTH_MIN) / 2 || window.settled < window.received);
            }
            while window.received < told {
                prop_assert!(window.receive(0));
            }
            prop_assert!(!window.receive(0));
        }
    }
}
