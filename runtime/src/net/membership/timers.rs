//! The timers of the protocol, until they are due.
//!
//! That a node is down is remembered for a day, unless its place is needed before, and others may say so of it again and again,
//! each time of a later membership. Whenever nobody was up and somebody comes, all that is done from time to time begins anew.
//! The protocol obeys the last of these timers only, so no other one is kept.

use super::id::Id;
use crate::net::NodeId;
use crate::time::Time;
use foca::Timer;
use std::collections::{BTreeMap, BTreeSet};

/// See the [module](self).
#[derive(Default)]
pub(super) struct Timers {
    by_time: BTreeMap<Key, Timer<Id>>,
    /// Those of which there is one.
    ones: BTreeMap<One, Key>,
    /// How many were set.
    count: u64,
}

/// When one is due, and its number.
type Key = (Time, u64);

/// A timer of which the last one counts.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum One {
    /// Lets a node that is down be forgotten.
    Removal(NodeId),
    Probe,
    Announce,
    AnnounceDown,
    Gossip,
}

impl One {
    fn of(timer: &Timer<Id>) -> Option<Self> {
        match timer {
            Timer::RemoveDown(id) => Some(Self::Removal(id.identity.node)),
            Timer::ProbeRandomMember(_) => Some(Self::Probe),
            Timer::PeriodicAnnounce(_) => Some(Self::Announce),
            Timer::PeriodicAnnounceDown(_) => Some(Self::AnnounceDown),
            Timer::PeriodicGossip(_) => Some(Self::Gossip),
            Timer::SendIndirectProbe { .. } | Timer::ChangeSuspectToDown { .. } => None,
        }
    }
}

impl Timers {
    pub(super) fn set(&mut self, due: Time, timer: Timer<Id>) {
        self.count += 1;
        let key = (due, self.count);
        if let Some(one) = One::of(&timer)
            && let Some(before) = self.ones.insert(one, key)
        {
            self.by_time.remove(&before);
        }
        self.by_time.insert(key, timer);
    }

    /// When the first of them is due.
    pub(super) fn first_due(&self) -> Option<Time> {
        self.by_time.first_key_value().map(|((due, _), _)| *due)
    }

    /// The nodes that are to be forgotten by then.
    pub(super) fn removals_by(&self, by: Time) -> BTreeSet<NodeId> {
        let all = self.ones.iter().filter(|(_, (due, _))| *due <= by);
        let nodes = all.filter_map(|(one, _)| match one {
            One::Removal(node) => Some(*node),
            _ => None,
        });
        nodes.collect()
    }

    /// Takes those that let so many of these nodes be forgotten, which have been down for longest.
    pub(super) fn take_removals(&mut self, count: usize, of: &BTreeSet<NodeId>) -> Vec<Timer<Id>> {
        let removals = of.iter().filter_map(|node| self.ones.get(&One::Removal(*node)));
        let mut removals: Vec<_> = removals.copied().collect();
        removals.sort_unstable();
        removals.truncate(count);
        removals.into_iter().filter_map(|key| self.remove(key)).collect()
    }

    /// Takes the first one that is due by then.
    pub(super) fn take(&mut self, now: Time) -> Option<Timer<Id>> {
        let (&first, _) = self.by_time.first_key_value()?;
        if first.0 <= now { self.remove(first) } else { None }
    }

    fn remove(&mut self, key: Key) -> Option<Timer<Id>> {
        let timer = self.by_time.remove(&key)?;
        if let Some(one) = One::of(&timer) {
            self.ones.remove(&one);
        }
        Some(timer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::membership::swim::Swim;
    use crate::net::membership::swim::tests::{gossip, id};
    use foca::State::Down;
    use std::time::Duration;

    #[test]
    fn of_a_node_that_is_down_again_and_again_one_timer_is_kept() {
        let (me, peer) = (id(1, 1), id(2, 1));
        let mut swim = Swim::new(me.clone(), Duration::from_secs(1), 10, 7);
        let (mut timers, now) = (Timers::default(), Time(0));
        let mut removals = 0;
        for generation in 1..1000 {
            let news = gossip(&peer, &me, &[(3, generation, Down)]);
            swim.packet(&news, now, 0, &mut timers).unwrap();
            for (delay, timer) in swim.take().timers {
                removals += usize::from(matches!(timer, Timer::RemoveDown(_)));
                timers.set(now.after(delay), timer);
            }
        }
        assert_eq!(removals, 999, "the protocol sets one for each");
        assert!(timers.by_time.len() < 20, "{}", timers.by_time.len());
        // The last one, which lets the node be forgotten.
        let all = std::iter::from_fn(|| timers.take(Time::NEVER));
        let mut kept = all.filter(|timer| matches!(timer, Timer::RemoveDown(_)));
        assert!(matches!(kept.next(), Some(Timer::RemoveDown(last)) if last == id(3, 999)));
        assert!(kept.next().is_none());
        drop(kept);
        assert!(timers.ones.is_empty() && timers.first_due().is_none());
    }

    #[test]
    fn of_a_peer_that_comes_and_goes_no_timers_add_up() {
        let me = id(1, 1);
        let mut swim = Swim::new(me.clone(), Duration::from_secs(1), 10, 7);
        let (mut timers, now, mut set) = (Timers::default(), Time(0), 0);
        for generation in 1..1000 {
            let peer = id(2, generation);
            for told in [&[][..], &[(2, generation, Down)]] {
                swim.packet(&gossip(&peer, &me, told), now, 0, &mut timers).unwrap();
                for (delay, timer) in swim.take().timers {
                    set += 1;
                    timers.set(now.after(delay), timer);
                }
            }
        }
        assert!(set > 3000, "each time all begins anew");
        assert!(timers.by_time.len() < 20, "{}", timers.by_time.len());
    }

    #[test]
    fn who_has_been_down_for_longest_is_forgotten_first() {
        let mut timers = Timers::default();
        for (node, due) in [(2, 30), (3, 10), (4, 20), (3, 40)] {
            timers.set(Time(due), Timer::RemoveDown(id(node, due)));
        }
        let all = BTreeSet::from([2, 3, 4].map(NodeId));
        assert!(timers.take_removals(2, &BTreeSet::from([NodeId(5)])).is_empty());
        assert_eq!(
            timers.take_removals(2, &all),
            [(4, 20), (2, 30)].map(|(n, due)| Timer::RemoveDown(id(n, due)))
        );
        assert_eq!(timers.take_removals(2, &all), [Timer::RemoveDown(id(3, 40))]);
        assert!(timers.take_removals(2, &all).is_empty() && timers.first_due().is_none());
    }
}
