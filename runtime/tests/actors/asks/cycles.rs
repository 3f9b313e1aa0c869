//! Asks that wait for one another are found while they wait, and no others.

use crate::asks::expired::Silent;
use crate::support::{LONG, everywhere, hold_worker_on, on, soon};
use greenroom::{Actor, AskCycle, AskError, Context, Ref, Scheduler, System, handlers};
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::mpsc;
use std::task::Poll;
use std::thread;
use std::time::Duration;
use tokio::sync::oneshot;

/// Longer than what it takes until asks are looked at a few times.
const A_FEW_LOOKS: Duration = Duration::from_millis(60);

/// Asks others on the way that it is told.
#[derive(Actor)]
struct Walker {
    silent: Ref<Silent>,
}

type Walkers = Vec<Ref<Walker>>;

#[handlers]
impl Walker {
    /// Goes on along the way; the answer is how many were asked.
    #[ask]
    async fn walk(&mut self, way: Walkers) -> Result<usize, AskError> {
        match way.split_first() {
            None => Ok(1),
            Some((next, rest)) => Ok(1 + flat(next.walk(rest.to_vec()).within(LONG).await)?),
        }
    }
    /// As `walk`, as long as its asker waits; after so many that do so, as `walk`.
    #[ask(cancel)]
    async fn stroll(&mut self, way: Walkers, more: usize) -> Result<usize, AskError> {
        match way.split_first() {
            Some((next, rest)) if more > 0 => {
                Ok(1 + flat(next.stroll(rest.to_vec(), more - 1).within(LONG).await)?)
            }
            _ => self.walk(way).await,
        }
    }
    /// As `walk`, for nobody.
    #[tell]
    async fn set_out(&mut self, way: Walkers, tell: oneshot::Sender<Result<usize, AskError>>) {
        let _ = tell.send(self.walk(way).await);
    }
    /// Keeps the others waiting.
    #[ask]
    async fn rest(&mut self, time: Duration) -> usize {
        let _ = self.silent.never().within(time).await;
        1
    }
    /// Waits for whichever answers first; for the other one from its poll of that number on.
    #[ask]
    async fn either(
        &mut self,
        way: Walkers,
        other: Ref<Self>,
        poll: usize,
        time: Duration,
    ) -> Result<usize, AskError> {
        let (next, rest) = way.split_first().expect("there is a way");
        let mut polls = 0;
        let mut rested = pin!(other.rest(time).within(LONG).into_future());
        let rested = poll_fn(|cx| {
            polls += 1;
            if polls < poll { Poll::Pending } else { rested.as_mut().poll(cx) }
        });
        tokio::select! {
            biased;
            walked = next.walk(rest.to_vec()).within(LONG) => flat(walked),
            rested = rested => rested,
        }
    }
    /// Waits for the answer, or for so long.
    #[ask]
    async fn at_most(&mut self, way: Walkers, time: Duration) -> Result<usize, AskError> {
        let (next, rest) = way.split_first().expect("there is a way");
        tokio::select! {
            biased;
            walked = next.walk(rest.to_vec()).within(LONG) => flat(walked),
            () = tokio::time::sleep(time) => Ok(0),
        }
    }
    /// Waits for the answer, or for what comes through the gate.
    #[ask]
    async fn unless(
        &mut self,
        way: Walkers,
        gate: oneshot::Receiver<usize>,
    ) -> Result<usize, AskError> {
        let (next, rest) = way.split_first().expect("there is a way");
        tokio::select! {
            walked = next.walk(rest.to_vec()).within(LONG) => flat(walked),
            opened = gate => Ok(opened.unwrap_or(0)),
        }
    }
    /// Waits for the answer, or first for another one and then for so long. Just before its poll of that number it
    /// lets the other answer.
    #[ask]
    async fn or_then(
        &mut self,
        way: Walkers,
        other: Ref<Self>,
        poll: usize,
        time: Duration,
    ) -> Result<usize, AskError> {
        let (next, rest) = way.split_first().expect("there is a way");
        let (enter, _) = oneshot::channel();
        let (open, gate) = oneshot::channel();
        let mut gate_keeper = Some((open, other.clone()));
        let mut polls = 0;
        let mut kept = pin!(async {
            let _ = other.keep(enter, gate).within(LONG).await;
            tokio::time::sleep(time).await;
        });
        let then = poll_fn(|cx| {
            polls += 1;
            if polls == poll
                && let Some((open, other)) = gate_keeper.take()
            {
                answer_now(open, &other);
            }
            kept.as_mut().poll(cx)
        });
        tokio::select! {
            biased;
            () = then => Ok(0),
            walked = next.walk(rest.to_vec()).within(LONG) => flat(walked),
        }
    }
    #[tell]
    fn report(&mut self, to: mpsc::Sender<()>) {
        let _ = to.send(());
    }
    /// Waits for the answer, and for so long.
    #[ask]
    async fn at_least(&mut self, way: Walkers, time: Duration) -> Result<usize, AskError> {
        let (next, rest) = way.split_first().expect("there is a way");
        let walk = next.walk(rest.to_vec()).within(LONG).into_future();
        let (walked, ()) = tokio::join!(walk, tokio::time::sleep(time));
        flat(walked)
    }
    /// Waits for both.
    #[ask]
    async fn both(
        &mut self,
        way: Walkers,
        other: Ref<Self>,
        time: Duration,
    ) -> Result<usize, AskError> {
        let (next, rest) = way.split_first().expect("there is a way");
        let walk = next.walk(rest.to_vec()).within(LONG).into_future();
        let (walked, rested) = tokio::join!(walk, other.rest(time).within(LONG).into_future());
        Ok(flat(walked)? + rested?)
    }
    /// Has a task beside it walk, and rests.
    #[ask]
    async fn send_out(&mut self, way: Walkers, time: Duration, cx: &mut Context<Self>) -> usize {
        let me = cx.me();
        cx.task(async move {
            let (next, rest) = way.split_first().expect("there is a way");
            let walked = next.walk(rest.to_vec()).within(LONG).await;
            assert!(walked.is_ok(), "{walked:?} of {me:?}");
        });
        self.rest(time).await
    }
    #[ask]
    async fn keep(&mut self, entered: oneshot::Sender<()>, gate: oneshot::Receiver<()>) {
        let _ = entered.send(());
        let _ = gate.await;
    }
    #[ask]
    async fn ask_keep(
        &mut self,
        other: Ref<Self>,
        entered: oneshot::Sender<()>,
        gate: oneshot::Receiver<()>,
    ) -> Result<(), AskError> {
        other.keep(entered, gate).within(LONG).await
    }
}

/// Has a walker on another worker go on through the gate, and returns when it has answered.
fn answer_now(gate: oneshot::Sender<()>, keeper: &Ref<Walker>) {
    let (report, reported) = mpsc::channel();
    let keeper = keeper.clone();
    // What this worker sends may stay with it until the poll is over.
    thread::spawn(move || {
        gate.send(()).expect("it keeps");
        // Handled after that.
        keeper.report(report).try_send().expect("it lives");
    });
    reported.recv().expect("it reports");
}

/// One error of both.
fn flat<T>(asked: Result<T, AskError<AskError>>) -> Result<T, AskError> {
    asked.map_err(|error| match error {
        AskError::Failed(inner) => inner,
        AskError::Cycle(cycle) => AskError::Cycle(cycle),
        other => panic!("{other}"),
    })
}

async fn walkers(system: &System, count: usize) -> Walkers {
    let silent = system.spawn::<Silent>(Silent).await.unwrap();
    let mut walkers = Vec::new();
    for _ in 0..count {
        let walker = Walker { silent: silent.clone() };
        walkers.push(system.spawn::<Walker>(walker).await.unwrap());
    }
    walkers
}

/// Checks that the cycle leads once around, from whichever of them.
fn assert_around(cycle: &AskCycle, walkers: &[Ref<Walker>]) {
    let mut ids: Vec<_> = cycle.members().iter().map(|member| member.id).collect();
    let first = ids.iter().position(|id| *id == walkers[0].id()).expect("it is on the cycle");
    ids.rotate_left(first);
    assert_eq!(ids, walkers.iter().map(Ref::id).collect::<Vec<_>>(), "{cycle}");
}

// [G-CYCLE-1]
#[test]
fn asks_that_wait_for_one_another_fail_and_are_named() {
    everywhere(async |system| {
        for count in [1, 2, 5] {
            let walkers = walkers(system, count).await;
            let before = system.counts().ask_cycles;
            let way = [&walkers[1..], &walkers[..1]].concat();
            match flat(soon(walkers[0].walk(way).within(LONG).into_future()).await) {
                Err(AskError::Cycle(cycle)) => assert_around(&cycle, &walkers),
                other => panic!("{other:?}"),
            }
            assert_eq!(system.counts().ask_cycles, before + 1);
            // All are free again.
            for walker in &walkers {
                assert_eq!(soon(walker.walk(Vec::new()).into_future()).await, Ok(1));
            }
        }
    });
}

// [G-CYCLE-1] [G-CYCLE-2] [G-CANCEL-1]
#[test]
fn that_a_handler_may_be_cancelled_ends_no_circle() {
    everywhere(async |system| {
        // All of them may be cancelled, or some.
        for (count, more) in [(1, 0), (1, 1), (3, 1), (3, 3)] {
            let walkers = walkers(system, count).await;
            let before = system.counts();
            let way = [&walkers[1..], &walkers[..1]].concat();
            match flat(soon(walkers[0].stroll(way, more).within(LONG).into_future()).await) {
                Err(AskError::Cycle(cycle)) => assert_around(&cycle, &walkers),
                other => panic!("{other:?}"),
            }
            // All are free again.
            for walker in &walkers {
                assert_eq!(soon(walker.walk(Vec::new()).into_future()).await, Ok(1));
            }
            let counts = system.counts();
            assert_eq!(counts.ask_cycles, before.ask_cycles + 1);
            // What was asked by the one that fails is given up with it, as far around as that goes.
            assert!(counts.dead_cancelled <= before.dead_cancelled + count as u64, "{counts:?}");
        }
    });
}

// [G-CYCLE-1]
#[test]
fn a_cycle_says_who_asks_whom() {
    on(2, Scheduler::stealing(), async |system| {
        let silent = system.spawn::<Silent>(Silent).await.unwrap();
        let one = Walker { silent: silent.clone() };
        let one = system.spawn::<Walker>(one).named("one").await.unwrap();
        let two = system.spawn::<Walker>(Walker { silent }).await.unwrap();
        let failed = flat(one.walk(vec![two.clone(), one.clone()]).await);
        let Err(error @ AskError::Cycle(cycle)) = &failed else { panic!("{failed:?}") };
        let names = [format!("one ({})", one.id()), two.id().to_string()];
        let [first, second] = if cycle.members()[0].id == one.id() { [0, 1] } else { [1, 0] };
        let text = format!("{0} asks {1} asks {0}", names[first], names[second]);
        assert_eq!(cycle.to_string(), text);
        assert_eq!(error.to_string(), format!("the asks wait for one another: {text}"));
        let named = cycle.members().iter().filter_map(|member| member.name.as_deref());
        assert_eq!(named.collect::<Vec<_>>(), ["one"]);
    });
}

// [G-CYCLE-1]
#[test]
fn handlers_of_tells_and_two_that_start_at_once_are_found_too() {
    everywhere(async |system| {
        let walkers = walkers(system, 3).await;
        let mut told = Vec::new();
        for (number, walker) in walkers.iter().enumerate() {
            let (tell, outcome) = oneshot::channel();
            walker.set_out(vec![walkers[(number + 1) % 3].clone()], tell).await.unwrap();
            told.push(outcome);
        }
        for outcome in told {
            match soon(outcome).await.unwrap() {
                Ok(number) => assert_eq!(number, 2),
                Err(AskError::Cycle(cycle)) => assert_around(&cycle, &walkers),
                Err(error) => panic!("{error}"),
            }
        }
    });
}

// [G-CYCLE-2]
#[test]
fn a_chain_is_no_cycle_however_long_it_waits() {
    everywhere(async |system| {
        let walkers = walkers(system, 4).await;
        let mut resting = walkers[3].rest(A_FEW_LOOKS).within(LONG).into_future();
        let walked = soon(walkers[0].walk(walkers[1..].to_vec()).within(LONG).into_future());
        let (walked, rested) = tokio::join!(walked, &mut resting);
        assert_eq!((walked, rested), (Ok(4), Ok(1)));
        assert_eq!(system.counts().ask_cycles, 0);
    });
}

// [G-CYCLE-2]
#[test]
fn whoever_asks_beside_an_actor_keeps_nobody_waiting() {
    everywhere(async |system| {
        let walkers = walkers(system, 2).await;
        // The second asks the first only beside its handler.
        let sent = walkers[1].send_out(vec![walkers[0].clone()], A_FEW_LOOKS).within(LONG);
        let walked = walkers[0].walk(vec![walkers[1].clone()]).within(LONG);
        let (sent, walked) = tokio::join!(sent.into_future(), walked.into_future());
        assert_eq!((sent, walked), (Ok(1), Ok(2)));
        assert_eq!(system.counts().ask_cycles, 0);
    });
}

// [G-CYCLE-2]
#[test]
fn who_waits_for_either_of_two_answers_goes_on_with_the_other() {
    everywhere(async |system| {
        let walkers = walkers(system, 3).await;
        let way = vec![walkers[1].clone(), walkers[0].clone()];
        let asked = walkers[0].either(way, walkers[2].clone(), 1, A_FEW_LOOKS).within(LONG);
        assert_eq!(soon(asked.into_future()).await, Ok(1));
        assert_eq!(soon(walkers[1].walk(Vec::new()).into_future()).await, Ok(1));
        assert_eq!(system.counts().ask_cycles, 0);
    });
}

// [G-CYCLE-2]
#[test]
fn who_waits_for_another_answer_only_since_now_goes_on_with_that() {
    everywhere(async |system| {
        let walkers = walkers(system, 2).await;
        // It asks itself. It waits, looks whether that was long, and is seen to wait for answers alone: in that poll the
        // other answer is waited for at the latest.
        for poll in 1..=3 {
            let way = vec![walkers[0].clone()];
            let asked = walkers[0].either(way, walkers[1].clone(), poll, A_FEW_LOOKS).within(LONG);
            assert_eq!(soon(asked.into_future()).await, Ok(1), "from poll {poll}");
            assert_eq!(system.counts().ask_cycles, 0, "from poll {poll}");
        }
    });
}

// [G-CYCLE-1]
#[test]
fn who_waits_for_both_is_found_when_the_other_answer_is_there() {
    everywhere(async |system| {
        let walkers = walkers(system, 3).await;
        let way = vec![walkers[1].clone(), walkers[0].clone()];
        let asked = walkers[0].both(way, walkers[2].clone(), A_FEW_LOOKS / 4).within(LONG);
        match soon(asked.into_future()).await {
            Err(AskError::Failed(AskError::Cycle(cycle))) => assert_around(&cycle, &walkers[..2]),
            other => panic!("{other:?}"),
        }
        assert_eq!(system.counts().ask_cycles, 1);
    });
}

// [G-CYCLE-2]
#[test]
fn who_waits_for_something_else_beside_goes_on_with_that() {
    everywhere(async |system| {
        let walkers = walkers(system, 2).await;
        // The circle ends with the timer, whoever closes it.
        let way = || vec![walkers[1].clone(), walkers[0].clone()];
        let asked = walkers[0].at_most(way(), A_FEW_LOOKS).within(LONG);
        assert_eq!(soon(asked.into_future()).await, Ok(0));
        let (open, gate) = oneshot::channel();
        let asked = walkers[0].unless(way(), gate).within(LONG).into_future();
        let opens = async {
            tokio::time::sleep(A_FEW_LOOKS).await;
            open.send(7).unwrap();
        };
        assert_eq!(tokio::join!(soon(asked), opens).0, Ok(7));
        assert_eq!(soon(walkers[1].walk(Vec::new()).into_future()).await, Ok(1));
        assert_eq!(system.counts().ask_cycles, 0);
        let rests = walkers[1].rest(A_FEW_LOOKS).within(LONG).into_future();
        let asked = walkers[0].at_most(vec![walkers[1].clone()], Duration::ZERO).within(LONG);
        let (rested, asked) = tokio::join!(rests, asked.into_future());
        assert!(rested == Ok(1) && matches!(asked, Ok(0 | 1)), "{rested:?} {asked:?}");
        assert_eq!(system.counts().ask_cycles, 0);
    });
}

// [G-CYCLE-2]
#[test]
fn who_waits_for_a_timer_once_it_has_an_answer_goes_on_with_that() {
    on(2, Scheduler::per_core(), async |system| {
        let silent = system.spawn::<Silent>(Silent).await.unwrap();
        let spawn = async |worker| {
            let walker = Walker { silent: silent.clone() };
            system.spawn::<Walker>(walker).on(worker).await.unwrap()
        };
        let (first, second, other) = (spawn(0).await, spawn(1).await, spawn(1).await);
        // The answer comes before or in a poll that tells what the handler waits for, or after that.
        for poll in 2..=6 {
            let way = vec![second.clone(), first.clone()];
            let asked = first.or_then(way, other.clone(), poll, 4 * A_FEW_LOOKS).within(LONG);
            assert_eq!(soon(asked.into_future()).await, Ok(0), "in poll {poll}");
            assert_eq!(soon(second.walk(Vec::new()).into_future()).await, Ok(1));
            assert_eq!(system.counts().ask_cycles, 0, "in poll {poll}");
        }
    });
}

// [G-CYCLE-1]
#[test]
fn a_circle_is_found_when_there_is_nothing_else_to_wait_for() {
    everywhere(async |system| {
        let walkers = walkers(system, 2).await;
        let way = vec![walkers[1].clone(), walkers[0].clone()];
        match soon(walkers[0].at_least(way, A_FEW_LOOKS).within(LONG).into_future()).await {
            Err(AskError::Failed(AskError::Cycle(cycle))) => assert_around(&cycle, &walkers),
            other => panic!("{other:?}"),
        }
        assert_eq!(system.counts().ask_cycles, 1);
    });
}

// [G-CYCLE-2]
#[test]
fn an_answer_on_its_way_is_not_waited_for() {
    on(2, Scheduler::per_core(), async |system| {
        let silent = system.spawn::<Silent>(Silent).await.unwrap();
        let spawn = async |worker| {
            let walker = Walker { silent: silent.clone() };
            system.spawn::<Walker>(walker).on(worker).await.unwrap()
        };
        let (first, second) = (spawn(0).await, spawn(1).await);
        let (gate, closed) = oneshot::channel();
        let (asker, keeper) = (first.clone(), second.clone());
        let (enter, entered) = oneshot::channel();
        let asked =
            tokio::spawn(async move { asker.ask_keep(keeper, enter, closed).within(LONG).await });
        soon(entered).await.unwrap();
        // The wait is old enough for a look at who waits for whom.
        tokio::time::sleep(A_FEW_LOOKS).await;
        // The first has its answer, and no worker to take it, while the second asks it.
        let hold = hold_worker_on(system, 0).await;
        gate.send(()).unwrap();
        let (tell, told) = oneshot::channel();
        second.set_out(vec![first.clone()], tell).await.unwrap();
        tokio::time::sleep(A_FEW_LOOKS).await;
        drop(hold);
        assert_eq!(soon(told).await.unwrap(), Ok(2));
        assert_eq!(soon(asked).await.unwrap(), Ok(()));
        assert_eq!(system.counts().ask_cycles, 0);
    });
}
