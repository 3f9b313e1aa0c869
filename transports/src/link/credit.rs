//! Credit in bytes, for each lane and class: what the receiver has room for. [LINK-40]
//!
//! Both ends count from the beginning of the lane. The sender gives each message a place in this
//! count; the receiver says up to where it has room, which is what it let go of plus a window.
//! A message costs its payload and [`MESSAGE_COST`].
//!
//! Invariants:
//! 1. No byte leaves the sender whose place lies beyond the receiver's limit.
//! 2. A message is taken while its place begins below the limit: so one message at most waits for
//!    credit, and the receiver sees of a long one that it needs a wider window.
//! 3. What the receiver holds, in any state, never exceeds its widest window.

use super::close::CloseReason;
use super::config::{Config, MESSAGE_COST};
use super::reassembly::PIECE_MIN;
use super::time::Time;
use std::time::Duration;

/// A sender that has less credit left than this may have to wait: pieces have a least length.
const USED_UP: u64 = MESSAGE_COST + PIECE_MIN as u64;

/// The sender's side.
#[derive(Debug)]
pub(super) struct Spend {
    position: u64,
    limit: u64,
    /// A sender was sent away, and has to be told when there is so much room.
    starved: Option<u64>,
}

/// The receiver's side.
#[derive(Debug)]
pub(super) struct Grant {
    window: u64,
    window_start: u64,
    window_max: u64,
    /// What the peer was told.
    limit: u64,
    received: u64,
    released: u64,
    last_raise: Time,
}

impl Spend {
    pub(super) const fn new(config: &Config) -> Self {
        Self { position: 0, limit: config.window_bytes_start, starved: None }
    }

    /// Whether a message may be taken that needs so much room; if not, somebody will have to be told when there is.
    pub(super) fn has_room(&mut self, needed: u64) -> bool {
        let has_room = self.left() >= needed;
        if !has_room {
            self.starved = Some(self.starved.map_or(needed, |least| least.min(needed)));
        }
        has_room
    }

    const fn left(&self) -> u64 {
        self.limit.saturating_sub(self.position)
    }

    /// Gives a message its place; says where that ends.
    pub(super) const fn take(&mut self, len: usize) -> u64 {
        self.position += len as u64 + MESSAGE_COST;
        self.position
    }

    /// Whether a whole message whose place ends at `end` may leave.
    pub(super) const fn covers(&self, end: u64) -> bool {
        end <= self.limit
    }

    /// How many bytes of a message whose place ends at `end` may leave, of `len` in all.
    pub(super) const fn sendable(&self, end: u64, len: usize) -> usize {
        let beyond = end.saturating_sub(self.limit);
        if beyond >= len as u64 { 0 } else { len - beyond as usize }
    }

    /// The receiver has room up to here; says whether somebody who waits has to be told.
    pub(super) fn raise(&mut self, limit: u64) -> bool {
        if limit > self.limit {
            self.limit = limit;
        }
        let left = self.left();
        self.starved.take_if(|needed| left >= *needed).is_some()
    }
}

impl Grant {
    pub(super) fn new(config: &Config) -> Self {
        Self {
            window: config.window_bytes_start,
            window_start: config.window_bytes_start,
            window_max: config.window_bytes_max,
            limit: config.window_bytes_start,
            received: 0,
            released: 0,
            last_raise: Time::default(),
        }
    }

    /// What to tell the peer.
    pub(super) const fn limit(&self) -> u64 {
        self.limit
    }

    /// Bytes that came, costs included.
    ///
    /// # Errors
    /// They are more than was granted. [LINK-42]
    pub(super) const fn on_received(&mut self, bytes: u64) -> Result<(), CloseReason> {
        // Compared before it is counted: invariant 3 holds for a peer that exceeds it, too.
        if bytes > self.limit - self.received {
            return Err(CloseReason::CreditExceeded);
        }
        self.received += bytes;
        // Wherever a lane is run with assertions: in all worlds, and in the guest.
        debug_assert!(self.held() <= self.window_max, "more is held than may ever be granted");
        Ok(())
    }

    /// A message of that length is on its way: the window has to have room for all of it, or it
    /// would never come to its end; and beside it for what others send meanwhile.
    pub(super) fn make_room_for(&mut self, len: u64) {
        let wanted = self.window_start.saturating_add(len + MESSAGE_COST);
        let wanted = crate::planted!("link-room-for-one": wanted => len + MESSAGE_COST);
        self.window = self.window.max(wanted.min(self.window_max));
    }

    /// Bytes that are no longer held, costs included.
    pub(super) fn on_released(&mut self, bytes: u64) {
        self.released +=
            crate::planted!("link-credit-leaks": bytes => bytes.saturating_sub(MESSAGE_COST));
        debug_assert!(self.released <= self.received, "more is released than came");
    }

    /// Raises the limit if it is worth it; says whether the peer has to be told. To be asked after
    /// messages came or were released.
    pub(super) fn renew(&mut self, now: Time, rtt: Duration) -> bool {
        let gain = (self.released + self.window).saturating_sub(self.limit);
        // A sender that has used up what it was granted may stand in the middle of a message.
        let is_used_up = self.limit - self.received < USED_UP && gain > 0;
        let is_much = gain >= self.window / 4;
        if !is_much && !is_used_up {
            return false;
        }
        // A window that lasts less than two round trips holds the sender back: a quarter took half
        // of one.
        if is_much && now.since(self.last_raise) < rtt / 2 {
            self.window = (self.window * 2).min(self.window_max);
        }
        self.limit = self.released + self.window;
        self.last_raise = now;
        true
    }

    /// Bytes that came and are still held.
    pub(super) const fn held(&self) -> u64 {
        self.received - self.released
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    const RTT: Duration = Duration::from_millis(1);

    fn config() -> Config {
        Config {
            window_bytes_start: 1000,
            window_bytes_max: 9064,
            message_len_max: 8000,
            ..Config::default()
        }
    }

    proptest! {
        /// Against a count of what is held: the sender sends all it may, the receiver lets go at
        /// random, and all messages come to their end however long they are.
        // [LINK-41] [LINK-42]
        #[test]
        fn everything_passes_and_nothing_exceeds_the_window(
            lens in prop::collection::vec(prop_oneof![0..200_usize, 0..8000_usize], 1..60),
            steps in prop::collection::vec(any::<bool>(), 0..60),
        ) {
            let config = config();
            let (mut spend, mut grant) = (Spend::new(&config), Grant::new(&config));
            let mut waiting: VecDeque<usize> = lens.iter().copied().collect();
            // Messages as (end, length, bytes sent), and those that have come.
            let (mut under_way, mut come) = (VecDeque::new(), VecDeque::new());
            let mut now = Time::default();
            let (mut arrived, mut steps) = (0, steps.into_iter().chain(std::iter::repeat(true)));
            for _ in 0..10_000 {
                now = now + Duration::from_micros(300);
                while !waiting.is_empty() && spend.has_room(1) {
                    let len = waiting.pop_front().expect("it is not empty");
                    under_way.push_back((spend.take(len), len, None));
                }
                // As a lane does it: the first piece says how long the message is.
                while let Some((end, len, sent)) = under_way.front_mut() {
                    let sendable = spend.sendable(*end, *len);
                    if sent.is_none() && (sendable > 0 || spend.covers(*end)) {
                        *sent = Some(0);
                        prop_assert_eq!(grant.on_received(MESSAGE_COST), Ok(()));
                        grant.make_room_for(*len as u64);
                    }
                    let Some(sent) = sent else { break };
                    let sendable = spend.sendable(*end, *len).max(*sent);
                    prop_assert_eq!(grant.on_received((sendable - *sent) as u64), Ok(()));
                    *sent = sendable;
                    if sendable < *len {
                        break;
                    }
                    come.push_back(*len);
                    arrived += 1;
                    under_way.pop_front();
                }
                grant.renew(now, RTT);
                spend.raise(grant.limit());
                prop_assert!(grant.held() <= config.window_bytes_max);
                if steps.next() == Some(true)
                    && let Some(len) = come.pop_front()
                {
                    grant.on_released(len as u64 + MESSAGE_COST);
                }
            }
            prop_assert_eq!(arrived, lens.len());
            prop_assert_eq!(grant.held(), 0);
        }

        // [LINK-40]
        #[test]
        fn who_was_sent_away_is_told_once(
            needed in 1..500_u64,
            limits in prop::collection::vec(0..4000_u64, 0..20),
        ) {
            let mut spend = Spend::new(&config());
            while spend.has_room(needed) {
                spend.take(100);
            }
            let told = limits.iter().filter(|limit| spend.raise(**limit)).count();
            let room = limits.iter().any(|limit| *limit >= spend.position + needed);
            prop_assert_eq!(told, usize::from(room));
        }
    }
}
