//! Who runs next, of those who could.

use super::choice::{Choices, Label};
use std::collections::BTreeMap;

const NEXT: Label = Label::new("next");
const PRIORITY: Label = Label::new("priority");
const SPAN: Label = Label::new("span");
const CHANGE: Label = Label::new("change");
const VICTIM: Label = Label::new("victim");

/// Steps within which [`Policy::Pct`] changes its mind, one of these in each world: how long the world will be is not
/// known, and of changes spread over many more steps than it has, it would see none.
const SPANS: [u64; 3] = [64, 512, 2_000];

/// Steps between two in which the one that waited longest runs, whatever the policy, where choices are drawn: two actors that
/// always have something to do must not keep the others out for ever.
const FAIR_INTERVAL: u64 = 61;

/// By which rule a world chooses who runs next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Policy {
    /// Whoever has waited longest. Chooses nothing, so it is the dullest.
    RoundRobin,
    /// Anyone, each time anew.
    Random,
    /// Whoever has the highest of random priorities, which so many times drop to the lowest
    /// (Burckhardt and others, ASPLOS 2010): finds bugs that need few, badly timed interruptions. They drop within the
    /// first 64, 512 or 2,000 steps, which each world draws, so that short worlds have interruptions, too.
    Pct(u32),
    /// Whoever became ready last; in one step of 61, whoever has waited longest.
    Newest,
    /// Anyone but one victim, who runs when nobody else can, or has waited longest in one step of 61.
    Starve,
}

/// Those that a world draws one of, unless it is told which.
pub(crate) const DRAWN: [Policy; 6] = [
    Policy::RoundRobin,
    Policy::Random,
    Policy::Random,
    Policy::Pct(3),
    Policy::Newest,
    Policy::Starve,
];

/// A policy at work. Those it chooses from are named by numbers that stay theirs.
#[derive(Debug)]
pub(crate) struct Chooser {
    policy: Policy,
    priorities: BTreeMap<u64, u64>,
    /// Steps after which the one that runs loses its priority, last first.
    changes: Vec<u64>,
    steps: u64,
    victim: Option<u64>,
    /// Whether whoever waited longest runs now and then, whatever the policy.
    is_fair: bool,
}

impl Chooser {
    pub(crate) fn new(policy: Policy, is_fair: bool, choices: &mut Choices) -> Self {
        let mut changes = Vec::new();
        if let Policy::Pct(count @ 1..) = policy {
            let span = choices.noise(SPAN, SPANS.len() as u64);
            let span = SPANS[usize::try_from(span).unwrap_or(0)];
            changes.extend((0..count).map(|_| choices.noise(CHANGE, span)));
            changes.sort_unstable_by(|one, other| other.cmp(one));
        }
        Self { policy, priorities: BTreeMap::new(), changes, steps: 0, victim: None, is_fair }
    }

    /// The place of the one to run in `ready`, which is not empty and begins with who waited longest.
    pub(crate) fn choose(
        &mut self,
        ready: impl ExactSizeIterator<Item = u64> + Clone,
        choices: &mut Choices,
    ) -> usize {
        let count = ready.len();
        self.steps += 1;
        if self.is_fair && self.steps.is_multiple_of(FAIR_INTERVAL) {
            return 0;
        }
        match self.policy {
            Policy::RoundRobin => 0,
            Policy::Random => choices.pick(NEXT, count),
            Policy::Newest => count - 1,
            Policy::Starve => self.spare_victim(&ready, choices),
            Policy::Pct(changes) => self.highest(u64::from(changes), ready, choices),
        }
    }

    fn spare_victim(
        &mut self,
        ready: &(impl ExactSizeIterator<Item = u64> + Clone),
        choices: &mut Choices,
    ) -> usize {
        let count = ready.len();
        let victim = match self.victim {
            Some(victim) => victim,
            // Somebody out of the first real choice.
            None if count > 1 => {
                let place = choices.pick(VICTIM, count);
                let victim = ready.clone().nth(place).unwrap_or(0);
                *self.victim.insert(victim)
            }
            None => return 0,
        };
        let place = choices.pick(NEXT, count);
        let is_victim = ready.clone().nth(place) == Some(victim);
        if is_victim && count > 1 { (place + 1) % count } else { place }
    }

    /// The one of highest priority. Those that are drawn are above `lost`, which changes leave.
    fn highest(
        &mut self,
        lost: u64,
        ready: impl ExactSizeIterator<Item = u64> + Clone,
        choices: &mut Choices,
    ) -> usize {
        let mut best = (0, 0, 0);
        for (place, number) in ready.enumerate() {
            let priority = *self
                .priorities
                .entry(number)
                .or_insert_with(|| lost + choices.noise(PRIORITY, 1 << 20));
            if place == 0 || priority > best.0 {
                best = (priority, place, number);
            }
        }
        if self.changes.last().is_some_and(|&change| change <= self.steps) {
            self.changes.pop();
            self.priorities.insert(best.2, self.changes.len() as u64);
        }
        best.1
    }
}
