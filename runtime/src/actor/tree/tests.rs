//! The tree against a supervisor that does one thing after the other.

use super::{Key, Step, TooMany, Tree};
use crate::actor::options::RestartKind;
use crate::actor::supervision::{Shutdown, Strategy, Supervision};
use crate::event::ExitReason;
use crate::time::Time;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

const HOUR: Duration = Duration::from_secs(3600);
const STRATEGIES: [fn(u32, Duration) -> Supervision; 3] =
    [Supervision::one_for_one, Supervision::one_for_all, Supervision::rest_for_one];

fn policies(count: u32) -> impl Strategy_<Value = Supervision> {
    prop::sample::select(STRATEGIES.map(|policy| policy(count, HOUR)).to_vec())
}

use proptest::strategy::Strategy as Strategy_;

const PANICKED: ExitReason = ExitReason::Panicked(String::new());

/// For policies that draw nothing.
fn none() -> u64 {
    unreachable!("nothing is to be chosen")
}

fn tree(policy: Supervision, kinds: &[RestartKind]) -> Tree<()> {
    let mut tree = Tree::new(policy);
    for (key, &kind) in (1..).zip(kinds) {
        tree.add(key, (), kind, Shutdown::Forever);
    }
    tree
}

fn kinds() -> impl Strategy_<Value = Vec<RestartKind>> {
    let kinds = [RestartKind::Permanent, RestartKind::Transient, RestartKind::Never];
    prop::collection::vec(prop::sample::select(kinds.to_vec()), 1..8)
}

/// What children that obey at once are asked.
fn obeyed(tree: &mut Tree<()>) -> Vec<Step> {
    let mut steps = Vec::new();
    while let Some(step) = tree.next() {
        steps.push(step);
        match step {
            Step::Stop { child, for_good: true } => drop(tree.gone(child)),
            Step::Stop { child, for_good: false } => {
                let ended = tree.failed(child, &ExitReason::Restarted, Time(0), none);
                assert_eq!(ended, Ok(()), "it was asked to");
            }
            Step::Start { child, .. } => tree.started(child),
        }
    }
    steps
}

/// What a supervisor that does one thing after the other does about the failure of `failed`; `there`
/// loses those that do not come back.
fn by_hand(strategy: Strategy, there: &mut BTreeMap<Key, RestartKind>, failed: Key) -> Vec<Step> {
    let others: Vec<Key> = match strategy {
        Strategy::OneForOne => Vec::new(),
        Strategy::OneForAll => there.keys().copied().filter(|&key| key != failed).collect(),
        Strategy::RestForOne => there.keys().copied().filter(|&key| key > failed).collect(),
    };
    let mut steps = Vec::new();
    let mut again = BTreeSet::from([failed]);
    for child in others.into_iter().rev() {
        let for_good = there[&child] == RestartKind::Never;
        steps.push(Step::Stop { child, for_good });
        if for_good {
            there.remove(&child);
        } else {
            again.insert(child);
        }
    }
    let delay = Duration::ZERO;
    steps.extend(again.into_iter().map(|child| Step::Start { child, delay }));
    steps
}

proptest! {
    /// [G-SUPERVISE-1] [G-SUPERVISE-2]
    #[test]
    fn one_failure_after_the_other_is_met_as_by_hand(
        policy in policies(1000),
        kinds in kinds(),
        victims in prop::collection::vec(any::<prop::sample::Index>(), 0..20),
    ) {
        let mut tree = tree(policy, &kinds);
        let mut there: BTreeMap<Key, RestartKind> = (1..).zip(kinds).collect();
        for victim in victims {
            let restarting: Vec<Key> =
                there.iter().filter(|(_, kind)| **kind != RestartKind::Never).map(|it| *it.0).collect();
            if restarting.is_empty() {
                break;
            }
            let victim = *victim.get(&restarting);
            prop_assert_eq!(tree.failed(victim, &PANICKED, Time(0), none), Ok(()));
            let expected = by_hand(policy.strategy(), &mut there, victim);
            prop_assert_eq!(obeyed(&mut tree), expected);
        }
        tree.close();
        let closed: Vec<Step> =
            there.keys().rev().map(|&child| Step::Stop { child, for_good: true }).collect();
        prop_assert_eq!(obeyed(&mut tree), closed, "the last one first");
    }
}

/// Children that obey when they please, and fail meanwhile.
struct Slow {
    tree: Tree<()>,
    strategy: Strategy,
    /// Those that run, or are starting.
    up: BTreeSet<Key>,
    asked_to_stop: BTreeSet<Key>,
    starting: BTreeSet<Key>,
    /// How often each was started.
    starts: BTreeMap<Key, u32>,
    /// How often each is to have been started at the end, at least.
    owed: BTreeMap<Key, u32>,
    /// Those that are yet to be asked to stop, as the promises say.
    round: BTreeSet<Key>,
    /// Of these, and of those that were asked, the ones that nobody's failure is the cause of.
    unfailed: BTreeSet<Key>,
    /// Failures that count, by the child.
    counted: Vec<Key>,
    /// Restarts that were asked for, by the child.
    requested: Vec<Key>,
}

impl Slow {
    fn new(policy: Supervision, count: u64) -> Self {
        let mut tree = Tree::new(policy);
        for key in 1..=count {
            tree.add(key, (), RestartKind::Permanent, Shutdown::Forever);
        }
        Self {
            tree,
            strategy: policy.strategy(),
            up: (1..=count).collect(),
            asked_to_stop: BTreeSet::new(),
            starting: BTreeSet::new(),
            starts: (1..=count).map(|key| (key, 0)).collect(),
            owed: BTreeMap::new(),
            round: BTreeSet::new(),
            unfailed: BTreeSet::new(),
            counted: Vec::new(),
            requested: Vec::new(),
        }
    }

    fn is_with(&self, failed: Key, key: Key) -> bool {
        match self.strategy {
            Strategy::OneForOne => key == failed,
            Strategy::OneForAll => true,
            Strategy::RestForOne => key >= failed,
        }
    }

    /// Takes what the tree asks.
    fn ask(&mut self) {
        let is_serial = self.strategy != Strategy::OneForOne;
        while let Some(step) = self.tree.next() {
            if is_serial {
                let outstanding = self.asked_to_stop.len() + self.starting.len();
                let restops = matches!(step, Step::Stop { .. }) && self.asked_to_stop.is_empty();
                assert!(outstanding == 0 || restops, "one at a time: {step:?}");
            }
            match step {
                Step::Stop { child, for_good } => {
                    assert!(self.up.contains(&child) && !for_good, "{child}");
                    assert_eq!(self.round.pop_last(), Some(child), "the last one first");
                    self.starting.remove(&child);
                    self.asked_to_stop.insert(child);
                }
                Step::Start { child, .. } => {
                    assert!(self.round.is_empty() || !is_serial, "nothing is left to stop");
                    assert!(self.up.insert(child), "it was down");
                    *self.starts.get_mut(&child).expect("a child") += 1;
                    self.starting.insert(child);
                }
            }
        }
    }

    /// The incarnation of `key` ends, because it was asked to, or fails, asked or not.
    fn end(&mut self, key: Key, reason: &ExitReason) {
        self.up.remove(&key);
        self.starting.remove(&key);
        let was_asked = self.asked_to_stop.remove(&key);
        let was_next = self.round.remove(&key);
        let is_failure = *reason != ExitReason::Restarted;
        if self.unfailed.remove(&key) && is_failure || !was_asked && !was_next {
            self.counted.push(key);
            for (&other, &starts) in &self.starts {
                if self.is_with(key, other) {
                    self.owed.insert(other, starts + 1);
                    self.unfailed.remove(&other);
                    if self.strategy != Strategy::OneForOne
                        && self.up.contains(&other)
                        && !self.asked_to_stop.contains(&other)
                    {
                        self.round.insert(other);
                    }
                }
            }
        }
        assert_eq!(self.tree.failed(key, reason, Time(0), none), Ok(()));
        self.ask();
    }

    /// A restart of `key` is asked for.
    fn restart(&mut self, key: Key) {
        assert!(self.tree.restart(key));
        let is_asked = self.asked_to_stop.contains(&key);
        if self.up.contains(&key) && !is_asked && self.round.insert(key) {
            self.unfailed.insert(key);
            self.requested.push(key);
        }
        self.ask();
    }

    fn start(&mut self, key: Key) {
        self.starting.remove(&key);
        self.tree.started(key);
        self.ask();
    }
}

proptest! {
    /// [G-SUPERVISE-1] [G-SUPERVISE-2] [G-SUPERVISE-6]
    #[test]
    fn failures_in_the_middle_of_a_round_are_met_too(
        policy in policies(1000),
        count in 1..7_u64,
        moves in prop::collection::vec((0..4_u8, any::<prop::sample::Index>()), 0..80),
    ) {
        let mut slow = Slow::new(policy, count);
        for (what, which) in moves {
            let pick = |from: &BTreeSet<Key>| {
                let from: Vec<Key> = from.iter().copied().collect();
                (!from.is_empty()).then(|| *which.get(&from))
            };
            match what {
                0 => if let Some(key) = pick(&slow.up) { slow.end(key, &PANICKED) },
                1 => if let Some(key) = pick(&slow.asked_to_stop) {
                    slow.end(key, &ExitReason::Restarted);
                },
                2 => slow.restart(which.index(count as usize) as Key + 1),
                _ => if let Some(key) = pick(&slow.starting) { slow.start(key) },
            }
        }
        // From here on everybody obeys, and nobody fails.
        loop {
            if let Some(&key) = slow.asked_to_stop.first() {
                slow.end(key, &ExitReason::Restarted);
            } else if let Some(&key) = slow.starting.first() {
                slow.start(key);
            } else {
                break;
            }
        }
        prop_assert_eq!(slow.up.len() as u64, count, "everybody is back");
        for (key, starts) in &slow.starts {
            prop_assert!(*starts >= slow.owed.get(key).copied().unwrap_or(0));
            let causes = slow.counted.iter().filter(|&&it| slow.is_with(it, *key)).count();
            let causes = causes + slow.requested.iter().filter(|it| *it == key).count();
            prop_assert!(*starts as usize <= causes, "restarted without a cause");
        }
    }

    /// [G-SUPERVISE-3]
    #[test]
    fn a_round_counts_once_however_many_it_restarts(
        policy in policies(3),
        count in 2..7_u64,
        gaps in prop::collection::vec(0..40_u64, 1..40),
    ) {
        let minute = Duration::from_secs(60);
        let limit = 3;
        let policy = match policy.strategy() {
            Strategy::OneForOne => Supervision::one_for_one(limit, minute),
            Strategy::OneForAll => Supervision::one_for_all(limit, minute),
            Strategy::RestForOne => Supervision::rest_for_one(limit, minute),
        };
        let mut tree = Tree::new(policy);
        for key in 1..=count {
            tree.add(key, (), RestartKind::Permanent, Shutdown::Forever);
        }
        let (mut now, mut restarts) = (0, Vec::new());
        for (nth, gap) in gaps.into_iter().enumerate() {
            now += gap * 1_000_000_000;
            let recent = restarts.iter().filter(|&&at| now - at < 60_000_000_000).count();
            let outcome = tree.failed(nth as u64 % count + 1, &PANICKED, Time(now), none);
            if recent == limit as usize {
                prop_assert_eq!(outcome, Err(TooMany));
                return Ok(());
            }
            prop_assert_eq!(outcome, Ok(()));
            restarts.push(now);
            obeyed(&mut tree);
        }
    }
}

#[test]
fn a_child_that_leaves_is_not_started_again() {
    for policy in STRATEGIES {
        let mut tree = tree(policy(9, HOUR), &[RestartKind::Permanent; 3]);
        assert_eq!(tree.failed(1, &PANICKED, Time(0), none), Ok(()));
        assert!(tree.leave(1) && !tree.leave(1), "once");
        let asked = obeyed(&mut tree);
        assert!(!asked.contains(&Step::Start { child: 1, delay: Duration::ZERO }), "{asked:?}");
        assert!(tree.gone(1).is_some());
        assert_eq!(tree.children().map(|(key, _)| key).collect::<Vec<_>>(), [2, 3]);
        assert!(obeyed(&mut tree).is_empty());
    }
}

#[test]
fn a_restart_that_is_asked_for_touches_no_sibling_and_counts_nothing() {
    for policy in STRATEGIES {
        let mut tree = tree(policy(0, HOUR), &[RestartKind::Permanent; 3]);
        for _ in 0..5 {
            assert!(tree.restart(2));
            let delay = Duration::ZERO;
            let expected =
                [Step::Stop { child: 2, for_good: false }, Step::Start { child: 2, delay }];
            assert_eq!(obeyed(&mut tree), expected);
        }
        assert_eq!(tree.failed(2, &PANICKED, Time(0), none), Err(TooMany));
    }
}

/// [G-SUPERVISE-1] [G-SUPERVISE-3]
#[test]
fn what_fails_by_itself_where_it_is_to_be_restarted_counts() {
    for policy in STRATEGIES {
        for is_asked in [false, true] {
            let kinds = [RestartKind::Permanent; 3];
            let mut tree = tree(policy(1, HOUR), &kinds);
            assert!(tree.restart(2));
            if is_asked {
                assert_eq!(tree.next(), Some(Step::Stop { child: 2, for_good: false }));
            }
            assert_eq!(tree.failed(2, &PANICKED, Time(0), none), Ok(()));
            let mut there = (1..).zip(kinds).collect();
            let expected = by_hand(tree.policy.strategy(), &mut there, 2);
            assert_eq!(obeyed(&mut tree), expected);
            assert_eq!(tree.failed(2, &PANICKED, Time(0), none), Err(TooMany));
        }
    }
}

#[test]
fn who_was_to_be_restarted_is_part_of_a_round_that_comes() {
    for is_asked in [false, true] {
        let mut tree = tree(Supervision::one_for_all(1, HOUR), &[RestartKind::Permanent; 2]);
        assert!(tree.restart(2));
        if is_asked {
            assert_eq!(tree.next(), Some(Step::Stop { child: 2, for_good: false }));
        }
        assert_eq!(tree.failed(1, &PANICKED, Time(0), none), Ok(()));
        assert_eq!(tree.failed(2, &PANICKED, Time(0), none), Ok(()), "it counts no more");
        let starts = [1, 2].map(|child| Step::Start { child, delay: Duration::ZERO });
        assert_eq!(obeyed(&mut tree), starts);
    }
}

#[test]
fn restarts_that_are_asked_for_wait_for_nobody_where_nobody_depends_on_another() {
    let mut tree = tree(Supervision::one_for_one(0, HOUR), &[RestartKind::Permanent; 3]);
    let stop = |child| Some(Step::Stop { child, for_good: false });
    let start = |child| Some(Step::Start { child, delay: Duration::ZERO });
    assert!(tree.restart(1) && tree.restart(3));
    assert_eq!([tree.next(), tree.next(), tree.next()], [stop(3), stop(1), None]);
    assert!(tree.restart(1));
    assert_eq!(tree.next(), None, "it was asked");
    assert_eq!(tree.failed(1, &ExitReason::Restarted, Time(0), none), Ok(()));
    assert_eq!([tree.next(), tree.next()], [start(1), None]);
    assert!(tree.restart(2));
    assert_eq!(tree.next(), stop(2), "though one has not stopped, and one has not started");
    assert_eq!(tree.failed(3, &ExitReason::Restarted, Time(0), none), Ok(()));
    assert_eq!([tree.next(), tree.next()], [start(3), None]);
}

#[test]
fn a_wait_that_nobody_is_left_for_is_not_for_the_next_round() {
    let policy = Supervision::one_for_all(9, HOUR).backoff(HOUR, HOUR);
    let mut tree = tree(policy, &[RestartKind::Permanent; 3]);
    assert_eq!(tree.failed(3, &PANICKED, Time(0), none), Ok(()));
    assert_eq!(tree.next(), Some(Step::Stop { child: 2, for_good: false }));
    for child in 1..=3 {
        assert!(tree.leave(child) && tree.gone(child).is_some());
    }
    assert_eq!(tree.next(), None);
    tree.add(4, (), RestartKind::Permanent, Shutdown::Forever);
    assert!(tree.restart(4));
    let delay = Duration::ZERO;
    let expected = [Step::Stop { child: 4, for_good: false }, Step::Start { child: 4, delay }];
    assert_eq!(obeyed(&mut tree), expected);
}

#[test]
fn the_wait_comes_before_the_first_start_of_a_round() {
    let millis = Duration::from_millis;
    let policy = Supervision::one_for_all(9, HOUR).backoff(millis(10), millis(15));
    let mut tree = tree(policy, &[RestartKind::Permanent; 2]);
    for wait in [10, 15, 15] {
        assert_eq!(tree.failed(2, &PANICKED, Time(0), none), Ok(()));
        let expected = [
            Step::Stop { child: 1, for_good: false },
            Step::Start { child: 1, delay: millis(wait) },
            Step::Start { child: 2, delay: Duration::ZERO },
        ];
        assert_eq!(obeyed(&mut tree), expected);
    }
}

#[test]
fn a_tree_that_closes_in_the_middle_of_a_round_starts_nobody() {
    for policy in STRATEGIES {
        let mut tree = tree(policy(9, HOUR), &[RestartKind::Permanent; 3]);
        assert_eq!(tree.failed(2, &PANICKED, Time(0), none), Ok(()));
        let first = tree.next();
        tree.close();
        if let Some(Step::Stop { child, .. }) = first {
            assert_eq!(tree.next(), None, "it is waited for");
            assert_eq!(tree.failed(child, &PANICKED, Time(0), none), Ok(()));
        }
        let asked = obeyed(&mut tree);
        let closed = [3, 2, 1].map(|child| Step::Stop { child, for_good: true });
        assert_eq!(asked, closed);
    }
}

#[test]
fn who_has_started_by_itself_is_not_asked_to() {
    let mut tree = tree(Supervision::one_for_all(9, HOUR), &[RestartKind::Permanent; 2]);
    assert_eq!(tree.failed(2, &PANICKED, Time(0), none), Ok(()));
    assert_eq!(tree.next(), Some(Step::Stop { child: 1, for_good: false }));
    tree.started(2);
    assert_eq!(tree.failed(1, &PANICKED, Time(0), none), Ok(()));
    assert_eq!(tree.next(), Some(Step::Start { child: 1, delay: Duration::ZERO }));
    tree.started(1);
    assert_eq!(tree.next(), None);
}
