//! Credit in messages, for each actor: how many may be sent to it before some were placed in its
//! mailbox. [LINK-45]
//!
//! Before an actor has granted anything, [`Config::mailbox_messages_start`] messages may be on their way
//! to it. Both ends count tells and asks from the beginning. The limit is a courtesy that keeps full
//! mailboxes from filling the lane: who ignores it only uses up its own credit in bytes.
//!
//! [`Config::mailbox_messages_start`]: super::Config::mailbox_messages_start

use super::envelope::Address;
use super::wire::VARINT_MAX;
use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;
use std::collections::VecDeque;

/// The sender's side: what each actor of the peer takes.
#[derive(Debug)]
pub(super) struct Allowances {
    start: u64,
    actors: HashMap<Address, Allowance, FxBuildHasher>,
}

#[derive(Debug)]
struct Allowance {
    sent: u64,
    limit: u64,
    starved: bool,
}

/// The receiver's side: what each actor here has granted.
#[derive(Debug)]
pub(super) struct Placements {
    start: u64,
    actors: HashMap<Address, Placement, FxBuildHasher>,
    /// Actors whose limit is to be told.
    news: VecDeque<Address>,
}

#[derive(Debug)]
struct Placement {
    placed: u64,
    limit: u64,
    /// Whether the actor is among the news.
    is_news: bool,
}

impl Allowances {
    pub(super) fn new(start: u64) -> Self {
        Self { start, actors: HashMap::default() }
    }

    /// Counts a message to the actor, if it takes one more; if not, its sender will have to be told.
    pub(super) fn try_take(&mut self, to: Address) -> bool {
        // Most are known: to look for one is less than to make sure of room for it.
        let allowance = match self.actors.get_mut(&to) {
            Some(allowance) => allowance,
            None => self.actors.entry(to).or_insert(Allowance {
                sent: 0,
                limit: self.start,
                starved: false,
            }),
        };
        allowance.starved = allowance.sent >= allowance.limit;
        allowance.sent += u64::from(!allowance.starved);
        !allowance.starved
    }

    /// The actor takes messages up to the limit; says whether a sender has to be told. Of an actor that
    /// nothing was sent to, nothing is kept.
    pub(super) fn raise(&mut self, to: Address, limit: u64) -> bool {
        let Some(allowance) = self.actors.get_mut(&to) else { return false };
        allowance.limit = allowance.limit.max(limit);
        allowance.starved && allowance.sent < allowance.limit && {
            allowance.starved = false;
            true
        }
    }

    /// The actor is gone for good.
    pub(super) fn forget(&mut self, to: Address) {
        self.actors.remove(&to);
    }
}

impl Placements {
    pub(super) fn new(start: u64) -> Self {
        Self { start, actors: HashMap::default(), news: VecDeque::new() }
    }

    /// A message was placed in the mailbox, which would take `window` more of this peer's.
    pub(super) fn on_placed(&mut self, to: Address, window: u32) {
        // As for allowances.
        let placement = match self.actors.get_mut(&to) {
            Some(placement) => placement,
            None => self.actors.entry(to).or_insert(Placement {
                placed: 0,
                limit: self.start,
                is_news: false,
            }),
        };
        placement.placed += 1;
        let limit = (placement.placed + u64::from(window)).min(VARINT_MAX);
        // Half a window at a time, so that not every message costs an announcement.
        let gain = limit.saturating_sub(placement.limit);
        if gain < u64::from(window).div_ceil(2).max(1) {
            return;
        }
        placement.limit = limit;
        if !placement.is_news {
            placement.is_news = true;
            self.news.push_back(to);
        }
    }

    /// The peer may not have been told.
    pub(super) fn on_lost(&mut self, to: Address) {
        if let Some(placement) = self.actors.get_mut(&to)
            && !placement.is_news
        {
            placement.is_news = true;
            self.news.push_back(to);
        }
    }

    pub(super) fn has_news(&self) -> bool {
        !self.news.is_empty()
    }

    /// An actor and its limit, which the peer is told now.
    pub(super) fn next_news(&mut self) -> Option<(Address, u64)> {
        while let Some(to) = self.news.pop_front() {
            if let Some(placement) = self.actors.get_mut(&to) {
                placement.is_news = false;
                return Some((to, placement.limit));
            }
        }
        None
    }

    /// The actor is gone for good.
    pub(super) fn forget(&mut self, to: Address) {
        self.actors.remove(&to);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    fn address(slot: u32) -> Address {
        Address { slot, generation: 0 }
    }

    proptest! {
        /// Against plain counts: what is on the way never exceeds the widest window, nobody waits for
        /// ever, and announcements that are lost do no harm.
        // [LINK-45]
        #[test]
        fn senders_wait_only_for_what_is_not_placed(
            steps in prop::collection::vec((0..3_u32, 0..4_u8), 0..300),
            window in 1..40_u32,
        ) {
            let (mut sender, mut receiver) = (Allowances::new(4), Placements::new(4));
            let mut on_the_way = BTreeMap::new();
            let mut refused = BTreeMap::new();
            for (slot, step) in steps {
                let (to, count) = (address(slot), on_the_way.entry(slot).or_insert(0_u32));
                match step {
                    0 | 1 if sender.try_take(to) => {
                        *count += 1;
                        refused.remove(&slot);
                    }
                    0 | 1 => {
                        refused.insert(slot, ());
                    }
                    2 if *count > 0 => {
                        *count -= 1;
                        receiver.on_placed(to, window);
                    }
                    _ => {
                        if let Some((to, limit)) = receiver.next_news() {
                            // Lost at first, and told later.
                            receiver.on_lost(to);
                            let again = receiver.next_news();
                            receiver.on_lost(again.expect("what is lost is news again").0);
                            if sender.raise(to, limit) {
                                prop_assert!(refused.remove(&to.slot).is_some());
                            } else if refused.contains_key(&to.slot) {
                                prop_assert!(!sender.try_take(to));
                            }
                        }
                    }
                }
                prop_assert!(*on_the_way.get(&slot).unwrap() <= window.max(4));
            }
            // Everything is placed and told: everybody has room.
            for (slot, count) in &on_the_way {
                for _ in 0..*count {
                    receiver.on_placed(address(*slot), window);
                }
            }
            while let Some((to, limit)) = receiver.next_news() {
                sender.raise(to, limit);
            }
            for slot in on_the_way.keys() {
                prop_assert!(sender.try_take(address(*slot)), "{slot} waits for ever");
            }
        }
    }

    #[test]
    fn of_actors_that_nothing_was_sent_to_nothing_is_kept() {
        let mut sender = Allowances::new(4);
        assert!(!sender.raise(address(9), 100));
        assert!(sender.actors.is_empty());
        assert!(sender.try_take(address(1)));
        sender.forget(address(1));
        assert!(sender.actors.is_empty());
        let mut receiver = Placements::new(4);
        receiver.on_placed(address(1), 8);
        receiver.forget(address(1));
        assert_eq!(receiver.next_news(), None);
    }
}
