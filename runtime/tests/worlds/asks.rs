//! Asks in simulated worlds, while actors end and askers go: each has exactly one outcome, whose counterpart
//! is in the books of those who were asked; and asks that wait for one another are found, and no others.
//!
//! `GREENROOM_ASKS` says how many asks there are in all.
#![allow(clippy::unwrap_used, reason = "what goes wrong in a test may panic")]

use crate::support::{SCHEDULINGS, scheduled};
use greenroom::sim::{Explore, World, WorldClock};
use greenroom::{Actor, AskError, Counts, Ref, System, handlers};
use std::collections::BTreeSet;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::time::Duration;

/// Asks of all worlds, unless the environment says more.
const ASKS: u64 = 10_000;
/// Asks of each asker.
const EACH: u64 = 50;
/// Longer than anything here takes.
const LONG: Duration = Duration::from_secs(60);

/// What those who are asked have done.
#[derive(Default)]
struct Books {
    /// The questions that were answered.
    answered: Mutex<BTreeSet<u64>>,
    /// How many were begun, and dropped at an await.
    cut: AtomicU64,
}

/// Answers at once, later, or never.
#[derive(Actor)]
#[actor(mailbox = bounded(3))]
struct Clerk {
    books: Arc<Books>,
}

/// A handler at work, and whether it has come to its end.
struct Work(Arc<Books>, bool);

impl Drop for Work {
    fn drop(&mut self) {
        self.0.cut.fetch_add(u64::from(!self.1), Relaxed);
    }
}

impl Clerk {
    fn answer(&self, number: u64) -> u64 {
        let is_first = self.books.answered.lock().unwrap().insert(number);
        assert!(is_first, "question {number} is handled once");
        number
    }

    async fn work(&self, number: u64, awaits: u64) -> u64 {
        let mut work = Work(Arc::clone(&self.books), false);
        for _ in 0..awaits {
            tokio::task::yield_now().await;
        }
        work.1 = true;
        self.answer(number)
    }
}

#[handlers]
impl Clerk {
    #[ask]
    fn now(&mut self, number: u64) -> u64 {
        self.answer(number)
    }
    #[ask]
    async fn later(&mut self, number: u64, awaits: u64) -> u64 {
        self.work(number, awaits).await
    }
    #[ask(cancel)]
    async fn if_wanted(&mut self, number: u64, awaits: u64) -> u64 {
        self.work(number, awaits).await
    }
    #[ask(cancel)]
    async fn never(&mut self, number: u64) -> u64 {
        let _work = Work(Arc::clone(&self.books), false);
        std::future::pending::<()>().await;
        number
    }
}

/// What became of an ask.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Outcome {
    Answered,
    Expired,
    NoReply,
    Closed,
    /// Given up before there was one.
    GivenUp,
}

/// Asks clerks, each in a way of its own.
#[derive(Actor)]
struct Asker {
    clerks: Vec<Ref<Clerk>>,
    /// The number of its first question; those of others are others.
    first: u64,
    picks: Vec<u64>,
}

#[handlers]
impl Asker {
    #[ask]
    async fn ask_all(&mut self) -> Vec<(u64, Outcome)> {
        let (mut outcomes, mut kept) = (Vec::new(), Vec::new());
        for (number, pick) in (self.first..).zip(&self.picks) {
            let clerk = &self.clerks[(pick % self.clerks.len() as u64) as usize];
            let (way, rest) = (pick / 7 % 8, pick / 56);
            // Some have time for all, some for a little, some for none.
            let within = [LONG, LONG, Duration::from_micros(rest % 3), Duration::ZERO];
            let within = within[(rest / 3 % 4) as usize];
            let asked = match way {
                0..=2 => clerk.now(number).within(within),
                3..=4 => clerk.later(number, rest % 4).within(within),
                5..=6 => clerk.if_wanted(number, rest % 4).within(within),
                _ => clerk.never(number).within(Duration::from_millis(1)),
            };
            let patience = if rest % 5 == 0 { rest % 4 } else { u64::MAX };
            let mut asked = asked.into_future();
            let outcome = match with_patience(&mut asked, patience).await {
                None => Outcome::GivenUp,
                Some(Ok(answer)) => {
                    assert_eq!(answer, number, "the answer to this question and no other");
                    Outcome::Answered
                }
                Some(Err(AskError::Expired)) => Outcome::Expired,
                Some(Err(AskError::NoReply)) => Outcome::NoReply,
                Some(Err(AskError::Closed)) => Outcome::Closed,
                Some(Err(error)) => panic!("{error}"),
            };
            // Who has an outcome has gone, whether or not it keeps the future.
            if outcome != Outcome::GivenUp && rest % 2 == 0 {
                kept.push(asked);
            }
            outcomes.push((number, outcome));
        }
        outcomes
    }
}

/// Polls `future` so many times, and gives it up.
async fn with_patience<F: Future>(future: F, mut polls: u64) -> Option<F::Output> {
    let mut future = pin!(future);
    poll_fn(|cx| match future.as_mut().poll(cx) {
        Poll::Ready(output) => Poll::Ready(Some(output)),
        Poll::Pending if polls == 0 => Poll::Ready(None),
        Poll::Pending => {
            polls -= 1;
            if polls < 10 {
                cx.waker().wake_by_ref();
            }
            Poll::Pending
        }
    })
    .await
}

/// A node with its scheduler and number of workers chosen.
fn system(world: &mut World) -> System {
    let workers = 1 + world.pick(3);
    let scheduler = SCHEDULINGS[world.pick(SCHEDULINGS.len())];
    let node =
        world.node("one").settings(move |builder| scheduled(builder.workers(workers), scheduler));
    node.start().system()
}

/// Three askers and four clerks, of which two end while they are asked.
fn play(world: &mut World) {
    let system = system(world);
    let books = Arc::new(Books::default());
    let picks = || (0..EACH).map(|_| world.pick(100_000) as u64).collect::<Vec<_>>();
    let picks = [picks(), picks(), picks()];
    let kills = world.pick(2) == 1;
    let outcomes = world.run(async {
        let mut clerks = Vec::new();
        for _ in 0..4 {
            let books = Arc::clone(&books);
            clerks.push(system.spawn::<Clerk>(Clerk { books }).await.unwrap());
        }
        let mut askers = Vec::new();
        for (first, picks) in (0..).step_by(EACH as usize).zip(picks) {
            let asker = Asker { clerks: clerks.clone(), first, picks };
            askers.push(system.spawn::<Asker>(asker).await.unwrap());
        }
        let ends = async {
            for clerk in &clerks[2..] {
                for _ in 0..20 {
                    tokio::task::yield_now().await;
                }
                let _ = if kills { clerk.kill() } else { clerk.stop() };
            }
        };
        let [one, two, three] = [0, 1, 2].map(|index: usize| askers[index].ask_all().within(LONG));
        let (one, two, three, ()) =
            tokio::join!(one.into_future(), two.into_future(), three.into_future(), ends);
        system.drain(LONG).await.unwrap();
        [one, two, three].map(Result::unwrap).concat()
    });
    judge(world, &system.counts(), &books, &outcomes);
}

/// Holds what askers were told against what those who were asked have done, and what was counted.
fn judge(world: &mut World, counts: &Counts, books: &Books, outcomes: &[(u64, Outcome)]) {
    let answered = books.answered.lock().unwrap();
    // How many had that outcome, of those whose handler came to its end, and of the others.
    let count = |wanted: Outcome| {
        let those = || outcomes.iter().filter(|(_, outcome)| *outcome == wanted);
        let done = those().filter(|(number, _)| answered.contains(number)).count();
        (done as u64, (those().count() - done) as u64)
    };
    assert_eq!(count(Outcome::Answered).1, 0, "an answer is one that was given");
    assert_eq!(count(Outcome::NoReply).0, 0, "what was answered in time has a reply");
    assert_eq!(count(Outcome::Closed).0, 0, "what did not go in is not answered");
    // Who gives up may have the reply already, and not look at it.
    let (expired, given_up) = (count(Outcome::Expired), count(Outcome::GivenUp));
    let late = expired.0..=expired.0 + given_up.0;
    assert!(late.contains(&counts.late_replies), "{late:?} replies are late: {counts:?}");
    // A handler that was cut off was cancelled, or killed with its actor.
    let cut = books.cut.load(Relaxed);
    assert!(cut <= counts.dead_cancelled + counts.dead_crashed, "{outcomes:?}, {counts:?}");
    // Each question that was accepted is answered, or reported once; of the others, some never found room.
    let reported =
        counts.dead_expired + counts.dead_cancelled + counts.dead_stopped + counts.dead_crashed;
    let unanswered = expired.1 + given_up.1 + count(Outcome::NoReply).1;
    assert!(reported <= unanswered, "{outcomes:?}, {counts:?}");
    let never_in = unanswered - reported;
    assert!(never_in <= expired.1 + given_up.1, "{outcomes:?}, {counts:?}");
    assert_eq!(counts.ask_cycles, 0);
    world.sometimes("a question is skipped because it expired", counts.dead_expired > 0);
    world.sometimes("a handler is cut off", cut > 0);
    world
        .sometimes("a question does not begin because its asker went", counts.dead_cancelled > cut);
    world.sometimes("a reply comes late", counts.late_replies > 0);
    world.sometimes("an actor ends without an answer", count(Outcome::NoReply).1 > 0);
}

// [G-ASK-1] [G-ASK-2] [G-DEADLINE-1] [G-CANCEL-1]
#[test]
fn each_ask_has_one_outcome_while_actors_end_and_askers_go() {
    let asks = std::env::var("GREENROOM_ASKS").ok().and_then(|asks| asks.parse().ok());
    let asks: u64 = asks.unwrap_or(ASKS);
    Explore::new().seeds(asks.div_ceil(3 * EACH)).run(play);
}

/// Asks the others on a way, one in the handler of the other.
#[derive(Actor)]
struct Walker;

#[handlers]
impl Walker {
    #[ask]
    async fn walk(&mut self, way: Way) -> Result<u64, AskError> {
        go_on(way).await
    }
    /// As long as its asker waits.
    #[ask(cancel)]
    async fn stroll(&mut self, way: Way) -> Result<u64, AskError> {
        go_on(way).await
    }
}

/// Who is asked one after the other, and whether each may be cancelled.
type Way = Vec<(Ref<Walker>, bool)>;

async fn go_on(mut way: Way) -> Result<u64, AskError> {
    if way.is_empty() {
        return Ok(0);
    }
    let (next, cancels) = way.remove(0);
    ask(&next, cancels, way).await.map(|steps| steps + 1)
}

async fn ask(next: &Ref<Walker>, cancels: bool, way: Way) -> Result<u64, AskError> {
    let asked = if cancels {
        next.stroll(way).within(LONG).await
    } else {
        next.walk(way).within(LONG).await
    };
    asked.map_err(|error| match error {
        AskError::Failed(inner) => inner,
        AskError::Cycle(cycle) => AskError::Cycle(cycle),
        _ => AskError::NoReply,
    })
}

const WALKERS: usize = 5;

/// Four ways, by their walkers' places, and which of these may be cancelled. `upwards`, so that they close no circle.
fn draw_ways(world: &World, upwards: bool) -> Vec<Vec<(usize, bool)>> {
    let draw = |_| {
        let mut way: Vec<_> = (0..1 + world.pick(4)).map(|_| world.pick(WALKERS)).collect();
        if upwards {
            way.sort_unstable();
            way.dedup();
        }
        way.into_iter().map(|at| (at, world.pick(2) == 1)).collect()
    };
    (0..4).map(draw).collect()
}

/// Asks along each way; of each the outcome, or nothing where its asker went, when its `patience` was over.
async fn set_out(
    system: &System,
    clock: &WorldClock,
    ways: &[Vec<(usize, bool)>],
    patience: [Duration; 4],
) -> Vec<Option<Result<u64, AskError>>> {
    let mut walkers = Vec::new();
    for _ in 0..WALKERS {
        walkers.push(system.spawn::<Walker>(Walker).await.unwrap());
    }
    let walk = |index: usize| {
        let mut way = ways[index].iter().map(|&(at, cancels)| (walkers[at].clone(), cancels));
        let (first, cancels) = way.next().unwrap();
        let rest = way.collect();
        async move {
            tokio::select! {
                biased;
                outcome = ask(&first, cancels, rest) => Some(outcome),
                () = clock.sleep(patience[index]) => None,
            }
        }
    };
    let asked = tokio::join!(walk(0), walk(1), walk(2), walk(3));
    system.drain(LONG).await.unwrap();
    vec![asked.0, asked.1, asked.2, asked.3]
}

fn check_outcome(way: &[(usize, bool)], outcome: &Result<u64, AskError>) {
    match outcome {
        Ok(steps) => assert_eq!(*steps, way.len() as u64 - 1),
        Err(AskError::Cycle(cycle)) => {
            let ids: BTreeSet<_> = cycle.members().iter().map(|member| member.id).collect();
            assert_eq!(ids.len(), cycle.members().len(), "nobody is on it twice");
        }
        Err(error) => panic!("{error}"),
    }
}

// [G-CYCLE-1] [G-CYCLE-2]
#[test]
fn asks_wait_for_one_another_or_they_do_not() {
    Explore::new().seeds(300).run(|world| {
        let system = system(world);
        // Upwards, or anywhere: of ways that all lead upwards none closes a cycle.
        let upwards = world.pick(2) == 1;
        let ways = draw_ways(world, upwards);
        let outcomes = world.run(set_out(&system, &world.clock(), &ways, [LONG; 4]));
        assert!(world.now() < LONG / 10, "nobody waits for a deadline: {:?}", world.now());
        for (way, outcome) in ways.iter().zip(&outcomes) {
            check_outcome(way, outcome.as_ref().expect("its asker waits"));
        }
        let cycles = system.counts().ask_cycles;
        assert!(cycles == 0 || !upwards, "{ways:?}");
        let turns_back = ways.iter().any(|way| {
            (1..way.len()).any(|at| way[..at].iter().any(|&(before, _)| before == way[at].0))
        });
        assert!(cycles > 0 || !turns_back, "{ways:?}");
        world.sometimes("two ways block each other", cycles > 0 && !turns_back);
        world.sometimes("all get through", cycles == 0 && !upwards);
    });
}

// [G-CYCLE-1] [G-CYCLE-2] [G-CANCEL-1]
#[test]
fn askers_that_go_leave_nobody_on_a_circle() {
    Explore::new().seeds(300).run(|world| {
        let system = system(world);
        let upwards = world.pick(2) == 1;
        let ways = draw_ways(world, upwards);
        // Before the asks are looked at for the first time, or later, or never.
        let patience = [(); 4].map(|()| match world.pick(3) {
            0 => Duration::from_micros(world.pick(2000) as u64 * 10),
            1 => Duration::from_millis(world.pick(200) as u64),
            _ => LONG,
        });
        let outcomes = world.run(set_out(&system, &world.clock(), &ways, patience));
        assert!(world.now() < LONG / 10, "nobody waits for a deadline: {:?}", world.now());
        for (way, outcome) in ways.iter().zip(&outcomes) {
            if let Some(outcome) = outcome {
                check_outcome(way, outcome);
            }
        }
        let counts = system.counts();
        assert!(counts.ask_cycles == 0 || !upwards, "{ways:?}");
        let went = outcomes.iter().any(Option::is_none);
        assert!(counts.dead_cancelled == 0 || went || counts.ask_cycles > 0, "{ways:?}");
        // The question of a circle is one, too.
        let cancelled = counts.dead_cancelled > counts.ask_cycles;
        world.sometimes(
            "who goes cancels, and a circle is found",
            cancelled && counts.ask_cycles > 0,
        );
        world.sometimes(
            "who goes cancels, and no circle is found",
            cancelled && counts.ask_cycles == 0,
        );
    });
}
