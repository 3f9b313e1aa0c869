//! The same script on each ready queue and on the locked one, which is their oracle. The script says which worker does what
//! next, or that somebody else does: so it is as if they ran at once, but in an order that is known.
//!
//! Which actor comes next is each queue's own choice. How many wait after each step is not, nor that who looks finds one of
//! them, nor how picks of high and normal actors follow each other. Where one worker alone takes actors, or only those
//! that live with it, their order is that of the locked queue, too.

use super::homes::Homes;
use crate::scheduler::{
    Batch, Guarded, LockFreeQueue, LockedQueue, Origin, ReadyQueue, StealingQueue, WorkerId,
};
use crate::sync::rounds;
use crate::task::{Hint, Priority, Ready};
use proptest::prelude::*;
use std::collections::{BTreeSet, VecDeque};

const WORKERS: usize = 3;
/// Actors of each priority that ever become ready: as many as there are fakes.
const ACTORS: usize = 1024;
/// More than a ring holds.
const MANY: usize = 300;
/// So many are left for a look at who starves.
const FEW: usize = 12;
/// Of so many picks one is from where a worker looks last, and of so many others one is of a normal actor.
const FAIR: usize = 61 * 5;

#[derive(Clone, Debug)]
enum Step {
    /// So many actors become ready, by a worker, or by somebody else if there is none of that number.
    Wake { by: usize, count: usize, priority: Priority, hint: Hint },
    /// A worker takes the next actor, if it has none in hand.
    Claim(usize),
    /// A worker has run the one that it has in hand.
    End(usize, End),
    /// The first that was suspended is ready again.
    Resume,
    /// A worker leaves to all what it alone would have taken first.
    HandOver(usize),
}

/// How a run ends.
#[derive(Clone, Copy, Debug)]
enum End {
    Rests,
    Yields,
    /// It waits for something, or has failed and is to be tried again later.
    Suspends,
}

fn script() -> impl Strategy<Value = Vec<Step>> {
    let priority = prop_oneof![4 => Just(Priority::Normal), 1 => Just(Priority::High)];
    let hint = prop_oneof![Just(Hint::Next), Just(Hint::Back)];
    let count = prop_oneof![15 => Just(1), 1 => Just(MANY)];
    let end = prop_oneof![Just(End::Rests), Just(End::Yields), Just(End::Suspends)];
    let wake = (0..=WORKERS, count, priority, hint);
    let step = prop_oneof![
        6 => wake.prop_map(|(by, count, priority, hint)| Step::Wake { by, count, priority, hint }),
        5 => (0..WORKERS).prop_map(Step::Claim),
        5 => (0..WORKERS, end).prop_map(|(worker, end)| Step::End(worker, end)),
        1 => Just(Step::Resume),
        1 => (0..WORKERS).prop_map(Step::HandOver),
    ];
    prop::collection::vec(step, 0..rounds(200, 200, 20))
}

/// Whose token it is: whether a high actor's, and its number.
type Token = (bool, usize);

fn ready((is_high, number): Token) -> Ready {
    Ready::fake(number, if is_high { Priority::High } else { Priority::Normal })
}

fn token(ready: Ready) -> Token {
    (ready.priority() == Priority::High, ready.into_fake())
}

fn ids() -> [WorkerId; WORKERS] {
    // SAFETY: the queues are used by this thread alone, which plays all workers in turn.
    std::array::from_fn(|index| unsafe { WorkerId::new(index) })
}

/// Those who become ready in one step, of whom the script has not spoken yet.
fn fresh(begun: &mut [usize; 2], count: usize, priority: Priority) -> Vec<Token> {
    let is_high = priority == Priority::High;
    let first = begun[usize::from(is_high)];
    let end = ACTORS.min(first + count);
    begun[usize::from(is_high)] = end;
    (first..end).map(|number| (is_high, number)).collect()
}

/// What was seen of a queue.
#[derive(Debug, Default, PartialEq, Eq)]
struct Seen {
    /// How many waited after each step.
    waiting: Vec<usize>,
    popped: Vec<Token>,
}

/// A queue that follows the script, and what is known of it.
struct Play<'a> {
    queue: &'a dyn ReadyQueue,
    ids: [WorkerId; WORKERS],
    /// The first so many workers take actors.
    poppers: usize,
    begun: [usize; 2],
    waiting: BTreeSet<Token>,
    hands: [Option<Token>; WORKERS],
    suspended: VecDeque<Token>,
    /// Whether each worker's last picks in a row were of normal actors, while both kinds waited.
    picks: [Vec<bool>; WORKERS],
    seen: Seen,
}

impl<'a> Play<'a> {
    fn new(queue: &'a dyn ReadyQueue, poppers: usize) -> Self {
        Self {
            queue,
            ids: ids(),
            poppers,
            begun: [0; 2],
            waiting: BTreeSet::new(),
            hands: [None; WORKERS],
            suspended: VecDeque::new(),
            picks: [const { Vec::new() }; WORKERS],
            seen: Seen::default(),
        }
    }

    fn step(&mut self, step: &Step) {
        match *step {
            Step::Wake { by, count, priority, hint } => {
                for token in fresh(&mut self.begun, count, priority) {
                    self.push(by, token, hint);
                }
            }
            Step::Claim(worker) => self.claim(worker % self.poppers),
            Step::End(worker, end) => self.end(worker % self.poppers, end),
            Step::Resume => {
                if let Some(token) = self.suspended.pop_front() {
                    self.push(WORKERS, token, Hint::Back);
                }
            }
            Step::HandOver(worker) => self.queue.hand_over(self.ids[worker]),
        }
        self.look();
    }

    fn look(&mut self) {
        assert_eq!(self.queue.len(), self.waiting.len());
        for id in self.ids {
            assert_eq!(self.queue.has_work(id), !self.waiting.is_empty(), "{id:?} is told so");
        }
        self.seen.waiting.push(self.waiting.len());
    }

    fn push(&mut self, by: usize, token: Token, hint: Hint) {
        let from = self.ids.get(by).map_or(Origin::External, |&id| Origin::Worker(id));
        assert!(self.waiting.insert(token), "the script has each actor once");
        self.queue.push(from, ready(token), hint);
    }

    /// The next actor, for a worker that has none in hand.
    fn claim(&mut self, worker: usize) {
        if self.hands[worker].is_some() {
            return;
        }
        let mut batch = Batch::new();
        self.queue.pop(self.ids[worker], &mut batch);
        assert!(batch.len() <= 1, "what is in a batch no other worker reaches");
        let Some(token) = batch.pop().map(token) else {
            assert_eq!(self.waiting, BTreeSet::new(), "worker {worker} finds none of them");
            return;
        };
        let has_normal = self.waiting.first().is_some_and(|first| !first.0);
        let has_high = self.waiting.last().is_some_and(|last| last.0);
        assert!(self.waiting.remove(&token), "{token:?} was handed out before, or never came");
        self.note_pick(worker, has_normal && has_high, token);
        self.hands[worker] = Some(token);
        self.seen.popped.push(token);
    }

    // [G-FAIR-1]
    fn note_pick(&mut self, worker: usize, is_choice: bool, (is_high, _): Token) {
        let picks = &mut self.picks[worker];
        if !is_choice {
            return picks.clear();
        }
        picks.push(!is_high);
        if let [.., a, b, c, d, e] = picks[..] {
            let normal = [a, b, c, d, e].into_iter().filter(|is_normal| *is_normal).count();
            assert_eq!(normal, 1, "of five picks of worker {worker}");
        }
    }

    fn end(&mut self, worker: usize, end: End) {
        let Some(token) = self.hands[worker].take() else { return };
        match end {
            End::Rests => {}
            End::Yields => {
                assert!(self.waiting.insert(token), "it was in hand");
                self.queue.give_way(self.ids[worker], ready(token));
            }
            End::Suspends => self.suspended.push_back(token),
        }
    }

    /// All workers take turns until few wait; then whoever waits comes up, though nobody has enough.
    fn starves_none(&mut self) {
        for turn in 0.. {
            let worker = turn % self.poppers;
            self.end(worker, End::Rests);
            if self.waiting.len() <= FEW && self.hands.iter().all(Option::is_none) {
                break;
            }
            if self.waiting.len() > FEW {
                self.claim(worker);
            }
        }
        let mut starving = self.waiting.clone();
        let picks_max = FAIR * WORKERS * starving.len();
        for turn in 0..picks_max {
            if starving.is_empty() {
                return;
            }
            let worker = turn % self.poppers;
            self.claim(worker);
            if let Some(token) = &self.hands[worker] {
                starving.remove(token);
            }
            self.end(worker, End::Yields);
        }
        assert_eq!(starving, BTreeSet::new(), "these starve");
    }

    fn is_drained(&mut self) {
        while !self.waiting.is_empty() {
            self.claim(0);
            self.end(0, End::Rests);
        }
        self.look();
    }
}

/// What is seen of a queue that follows the script, of whose workers the first so many take actors.
fn follow(queue: &dyn ReadyQueue, poppers: usize, script: &[Step]) -> Seen {
    let mut play = Play::new(queue, poppers);
    for step in script {
        play.step(step);
    }
    let seen = std::mem::take(&mut play.seen);
    play.starves_none();
    play.is_drained();
    seen
}

/// What each worker is handed of those that live with it is what a locked queue of its own hands out.
fn follow_at_home(script: &[Step]) {
    let (homes, ids) = (Homes::new(WORKERS), ids());
    let oracles: [_; WORKERS] = std::array::from_fn(|_| LockedQueue::new(WORKERS));
    let (mut begun, mut coming, mut suspended) = ([0; 2], Vec::new(), VecDeque::new());
    let mut hands = [None; WORKERS];
    let pop = |queue: &dyn ReadyQueue, worker: usize| {
        let mut batch = Batch::new();
        queue.pop(ids[worker], &mut batch);
        batch.pop().map(token)
    };
    for step in script {
        match *step {
            Step::Wake { by, count, priority, hint } => {
                for token in fresh(&mut begun, count, priority) {
                    let Some(&id) = ids.get(by) else {
                        homes.push(Origin::External, ready(token), hint);
                        coming.push(token);
                        continue;
                    };
                    for queue in [&homes as &dyn ReadyQueue, &oracles[by]] {
                        queue.push(Origin::Worker(id), ready(token), hint);
                    }
                }
            }
            Step::Claim(worker) if hands[worker].is_none() => {
                for token in coming.drain(..) {
                    oracles[worker].push(Origin::External, ready(token), Hint::Back);
                }
                hands[worker] = pop(&homes, worker);
                assert_eq!(hands[worker], pop(&oracles[worker], worker));
            }
            Step::End(worker, end) => match (hands[worker].take(), end) {
                (Some(token), End::Yields) => {
                    for queue in [&homes as &dyn ReadyQueue, &oracles[worker]] {
                        queue.give_way(ids[worker], ready(token));
                    }
                }
                (Some(token), End::Suspends) => suspended.push_back(token),
                (Some(_), End::Rests) | (None, _) => {}
            },
            Step::Resume => {
                if let Some(token) = suspended.pop_front() {
                    homes.push(Origin::External, ready(token), Hint::Back);
                    coming.push(token);
                }
            }
            Step::Claim(_) | Step::HandOver(_) => {}
        }
        let waiting = oracles.iter().map(ReadyQueue::len).sum::<usize>() + coming.len();
        assert_eq!(homes.len(), waiting);
        for (id, oracle) in ids.into_iter().zip(&oracles) {
            assert_eq!(homes.has_work(id), !coming.is_empty() || !oracle.is_empty());
        }
    }
}

proptest! {
    #[test]
    fn each_queue_has_what_the_locked_one_has(script in script()) {
        let expected = follow(&LockedQueue::new(WORKERS), WORKERS, &script).waiting;
        let lock_free = LockFreeQueue::new(WORKERS);
        assert_eq!(follow(&lock_free, WORKERS, &script).waiting, expected);
        let stealing = StealingQueue::new(WORKERS);
        assert_eq!(follow(&stealing, WORKERS, &script).waiting, expected);
        let guarded = Guarded::checked(Box::new(StealingQueue::new(WORKERS)), WORKERS);
        assert_eq!(follow(&guarded, WORKERS, &script).waiting, expected);
    }

    #[test]
    fn the_lock_free_queue_hands_one_worker_the_same_in_the_same_order(script in script()) {
        let expected = follow(&LockedQueue::new(WORKERS), 1, &script);
        assert_eq!(follow(&LockFreeQueue::new(WORKERS), 1, &script), expected);
    }

    #[test]
    fn a_queue_of_a_workers_own_hands_it_the_same_in_the_same_order(script in script()) {
        follow_at_home(&script);
    }
}
