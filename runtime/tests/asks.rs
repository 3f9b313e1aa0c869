//! An ask has exactly one outcome, and its deadline goes wherever the work goes.

#![allow(clippy::unwrap_used, reason = "what goes wrong in a test may panic")]
#![allow(clippy::disallowed_methods, reason = "these tests measure how long something waits")]

mod support;

use greenroom::{
    Actor, Ask, AskError, Calls, Context, Handle, HandleAsync, Idle, Message, Recipient, Ref,
    Reply, Scheduler, System, handlers,
};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};
use support::{Dice, LONG, block_on, everywhere, hold_worker, on, poll_once, run, soon, until};
use tokio::sync::{Semaphore, oneshot};

const SHORT: Duration = Duration::from_millis(20);
const NO_TIME: Duration = Duration::ZERO;

/// Answers in every way there is.
#[derive(Actor, Default)]
struct Oracle {
    replies: Vec<Reply<u32>>,
}

#[derive(Debug, PartialEq, Eq)]
struct Refusal(u32);

#[handlers]
impl Oracle {
    #[ask]
    fn double(&self, number: u32) -> u32 {
        number * 2
    }
    #[ask]
    async fn double_later(&self, number: u32) -> u32 {
        tokio::task::yield_now().await;
        number * 2
    }
    #[ask]
    fn refuse_odd(&self, number: u32) -> Result<u32, Refusal> {
        if number.is_multiple_of(2) { Ok(number) } else { Err(Refusal(number)) }
    }
    #[ask]
    async fn when(&self, gate: oneshot::Receiver<u32>) -> Option<u32> {
        gate.await.ok()
    }
    #[ask]
    fn remaining(&self, cx: &mut Context<Self>) -> Duration {
        cx.remaining()
    }
    /// Before its first await, and after it.
    #[ask]
    async fn remaining_later(&self, cx: &mut Context<Self>) -> [Duration; 2] {
        let before = cx.remaining();
        tokio::task::yield_now().await;
        [before, cx.remaining()]
    }
    #[tell]
    fn keep(&mut self, reply: Reply<u32>) {
        self.replies.push(reply);
    }
    #[tell]
    fn answer_all(&mut self) {
        self.replies.drain(..).for_each(|reply| reply.send(7));
    }
    #[tell]
    fn forget_all(&mut self) {
        self.replies.clear();
    }
    #[ask]
    fn kept(&self) -> usize {
        self.replies.len()
    }
    #[ask]
    fn abandoned(&self) -> usize {
        self.replies.iter().filter(|reply| reply.is_abandoned()).count()
    }
    /// Another thread answers, when it is told to.
    #[tell]
    fn answer_elsewhere(&mut self, gate: std::sync::mpsc::Receiver<()>) {
        let replies = std::mem::take(&mut self.replies);
        thread::spawn(move || {
            let _ = gate.recv();
            replies.into_iter().for_each(|reply| reply.send(7));
        });
    }
}

async fn oracle(system: &System) -> Ref<Oracle> {
    system.spawn::<Oracle>(Oracle::default()).await.expect("it starts")
}

/// Asks by a message that the actor keeps.
fn keep(oracle: &Ref<Oracle>) -> Ask<'_, OracleMessage, u32> {
    Calls::recipient(&**oracle).call(|reply| OracleMessage::Keep { reply })
}

// [G-ASK-1]
#[test]
fn an_ask_is_answered() {
    everywhere(async |system| {
        let oracle = oracle(system).await;
        assert_eq!(oracle.double(4).await, Ok(8));
        assert_eq!(oracle.double_later(5).await, Ok(10));
        assert_eq!(keep(&oracle).within(NO_TIME).await, Err(AskError::Expired));
    });
}

// [G-ASK-1]
#[test]
fn the_handlers_own_error_is_one_of_the_outcomes() {
    everywhere(async |system| {
        let oracle = oracle(system).await;
        assert_eq!(oracle.refuse_odd(4).await, Ok(4));
        assert_eq!(oracle.refuse_odd(5).await, Err(AskError::Failed(Refusal(5))));
        oracle.kill();
        soon(oracle.ended()).await;
        assert_eq!(oracle.refuse_odd(4).await, Err(AskError::Closed));
    });
}

#[derive(Message)]
#[message(reply = Result<u32, Refusal>)]
struct Check(u32);

#[derive(Message)]
#[message(reply = u32)]
struct Slow(u32);

impl Handle<Check> for Oracle {
    fn handle(&mut self, Check(number): Check, _cx: &mut Context<Self>) -> Result<u32, Refusal> {
        self.refuse_odd(number)
    }
}

impl HandleAsync<Slow> for Oracle {
    async fn handle(&mut self, Slow(number): Slow, cx: &mut Context<Self>) -> u32 {
        assert!(cx.remaining() <= LONG, "the deadline is there before the first await");
        tokio::task::yield_now().await;
        assert!(cx.remaining() <= LONG, "the deadline is there after an await");
        number
    }
}

// [G-ASK-1] [G-ASK-3]
#[test]
fn messages_written_by_hand_are_asked_alike() {
    everywhere(async |system| {
        let oracle = oracle(system).await;
        assert_eq!(oracle.ask(Check(4)).await, Ok(Ok(4)));
        assert_eq!(oracle.ask(Check(5)).await, Ok(Err(Refusal(5))));
        assert_eq!(oracle.ask(Check(5)).flat().await, Err(AskError::Failed(Refusal(5))));
        assert_eq!(oracle.ask(Slow(6)).await, Ok(6));
        let narrow: Recipient<Slow> = oracle.recipient();
        assert_eq!(narrow.ask(Slow(7)).await, Ok(7));
    });
}

// [G-ASK-1]
#[test]
fn an_ask_expires_at_its_deadline_and_not_before() {
    everywhere(async |system| {
        let oracle = oracle(system).await;
        let began = Instant::now();
        assert_eq!(keep(&oracle).within(SHORT).await, Err(AskError::Expired));
        assert!(began.elapsed() >= SHORT, "{:?}", began.elapsed());
        // Also where the asker is a thread without a runtime.
        let began = Instant::now();
        let asker = oracle.clone();
        let asked = thread::spawn(move || block_on(keep(&asker).within(SHORT).into_future()));
        assert_eq!(asked.join().unwrap(), Err(AskError::Expired));
        assert!(began.elapsed() >= SHORT, "{:?}", began.elapsed());
    });
}

/// Runs `test` on a plain thread.
fn outside<T: Send + 'static>(test: impl FnOnce() -> T + Send + 'static) -> T {
    thread::spawn(test).join().unwrap()
}

// [G-ASK-1]
#[test]
fn a_plain_thread_waits_for_every_outcome() {
    for idle in [Idle::Park, Idle::Spin(SHORT / 4)] {
        for workers in [1, 2, 4] {
            let system = System::builder().workers(workers).idle(idle).build().unwrap();
            let oracle = run(oracle(&system));
            outside(move || {
                for number in 0..1000 {
                    assert_eq!(oracle.double(number).wait(), Ok(2 * number));
                }
                assert_eq!(oracle.double_later(5).wait(), Ok(10));
                assert_eq!(oracle.refuse_odd(4).wait(), Ok(4));
                assert_eq!(oracle.refuse_odd(5).wait(), Err(AskError::Failed(Refusal(5))));
                assert_eq!(oracle.ask(Check(5)).wait(), Ok(Err(Refusal(5))));
                assert_eq!(keep(&oracle).within(NO_TIME).wait(), Err(AskError::Expired));
                let began = Instant::now();
                assert_eq!(keep(&oracle).within(SHORT).wait(), Err(AskError::Expired));
                assert!(began.elapsed() >= SHORT, "{:?}", began.elapsed());
                let (gate, opened) = oneshot::channel();
                drop(gate);
                assert_eq!(oracle.when(opened).wait(), Ok(None));
                let (_gate, closed) = oneshot::channel();
                let killer = oracle.clone();
                let killer = thread::spawn(move || killer.kill());
                let killed = oracle.when(closed).within(LONG).wait();
                assert!(matches!(killed, Err(AskError::NoReply | AskError::Closed)), "{killed:?}");
                killer.join().unwrap();
                run(soon(oracle.ended()));
                assert_eq!(oracle.refuse_odd(4).wait(), Err(AskError::Closed));
            });
            run(system.shutdown(LONG)).unwrap();
            assert_eq!(system.counts().late_replies, 0, "nobody answered what was kept");
        }
    }
}

// [G-ASK-1]
#[test]
fn to_wait_on_a_worker_is_a_bug() {
    on(2, Scheduler::locked(), async |system| {
        let middle = middle(system, None).await;
        assert_eq!(middle.wait_on_the_worker().await, Err(AskError::NoReply));
    });
}

// [G-ASK-1]
#[test]
fn the_default_deadline_is_the_systems() {
    let system = System::builder().workers(1).ask_timeout(SHORT).build().unwrap();
    run(async {
        let oracle = oracle(&system).await;
        assert!(oracle.remaining().await.unwrap() <= SHORT);
        let began = Instant::now();
        assert_eq!(soon(keep(&oracle).into_future()).await, Err(AskError::Expired));
        assert!(began.elapsed() >= SHORT - Duration::from_millis(1), "{:?}", began.elapsed());
        system.shutdown(LONG).await.unwrap();
    });
}

// [G-ASK-1]
#[test]
fn an_ask_that_is_dropped_unanswered_has_no_reply() {
    everywhere(async |system| {
        let oracle = oracle(system).await;
        let mut question = keep(&oracle).within(LONG).into_future();
        assert!(poll_once(&mut question).is_pending());
        oracle.forget_all().await.unwrap();
        assert_eq!(soon(question).await, Err(AskError::NoReply));
    });
}

// [G-ASK-1] [G-STOP-1] [G-STOP-3]
#[test]
fn questions_to_an_actor_that_ends_have_no_reply() {
    on(1, Scheduler::locked(), async |system| {
        for end in [Ref::stop, Ref::kill] {
            let oracle = oracle(system).await;
            let hold = hold_worker(system).await;
            let mut questions: Vec<_> =
                (0..5).map(|number| oracle.double(number).within(LONG).into_future()).collect();
            for question in &mut questions {
                assert!(poll_once(question).is_pending());
            }
            end(&oracle);
            drop(hold);
            for question in questions {
                assert_eq!(soon(question).await, Err(AskError::NoReply));
            }
            assert_eq!(oracle.double(1).await, Err(AskError::Closed));
        }
    });
}

// [G-ASK-1] [G-STOP-3]
#[test]
fn a_question_whose_handler_is_killed_has_no_reply() {
    everywhere(async |system| {
        let oracle = oracle(system).await;
        let (_gate, closed) = oneshot::channel();
        let mut question = oracle.when(closed).within(LONG).into_future();
        assert!(poll_once(&mut question).is_pending());
        oracle.kill();
        assert_eq!(soon(question).await, Err(AskError::NoReply));
    });
}

// [G-ASK-2]
#[test]
fn a_late_reply_is_dropped_and_counted() {
    everywhere(async |system| {
        let oracle = oracle(system).await;
        for _ in 0..3 {
            assert_eq!(keep(&oracle).within(NO_TIME).await, Err(AskError::Expired));
        }
        // One is given up without waiting for its end.
        let mut question = keep(&oracle).into_future();
        assert!(poll_once(&mut question).is_pending());
        drop(question);
        // One is in time.
        let mut question = keep(&oracle).within(LONG).into_future();
        assert!(poll_once(&mut question).is_pending());
        assert_eq!(oracle.kept().await, Ok(5));
        assert_eq!(oracle.abandoned().await, Ok(4));
        oracle.answer_all().await.unwrap();
        assert_eq!(soon(question).await, Ok(7));
        assert_eq!(oracle.kept().await, Ok(0));
        assert_eq!(system.counts().late_replies, 4);
    });
}

// [G-ASK-2]
#[test]
fn a_late_reply_is_counted_wherever_it_comes_from() {
    on(1, Scheduler::locked(), async |system| {
        let oracle = oracle(system).await;
        assert_eq!(keep(&oracle).within(NO_TIME).await, Err(AskError::Expired));
        let (answer, gate) = std::sync::mpsc::channel();
        oracle.answer_elsewhere(gate).await.unwrap();
        answer.send(()).unwrap();
        until(|| system.counts().late_replies == 1).await;
    });
}

/// Asks others while it is asked.
#[derive(Actor)]
struct Middle {
    next: Option<Ref<Self>>,
    oracle: Ref<Oracle>,
}

#[handlers]
impl Middle {
    /// What is left of the deadline at the other end of the chain.
    #[ask]
    async fn remaining(&mut self) -> Duration {
        match &self.next {
            Some(next) => next.remaining().within(LONG * 2).await.expect("it answers in time"),
            None => self.oracle.remaining().within(LONG * 2).await.expect("it answers in time"),
        }
    }
    /// Asks as a plain thread does, which it is not.
    #[ask]
    fn wait_on_the_worker(&mut self) -> u32 {
        self.oracle.double(1).wait().expect("it panics before")
    }
    /// As `remaining`, asking only after an await.
    #[ask]
    async fn remaining_later(&mut self) -> Duration {
        tokio::task::yield_now().await;
        self.oracle.remaining().within(LONG * 2).await.expect("it answers in time")
    }
    /// What is left for a question asked after a tell, whose sender does not wait.
    #[tell]
    async fn remaining_of_none(&mut self, tell: oneshot::Sender<Duration>, cx: &mut Context<Self>) {
        assert_eq!(cx.remaining(), Duration::MAX);
        let remaining = self.oracle.remaining().within(LONG * 2).await.expect("it answers");
        let _ = tell.send(remaining);
    }
    /// Waits for an answer that never comes, as long as it may.
    #[ask]
    async fn wait_for_nothing(&mut self, outcome: oneshot::Sender<Result<u32, AskError>>) {
        let question = keep(&self.oracle).within(LONG * 2);
        let _ = outcome.send(question.await);
    }
    /// As above, while nobody asks this one.
    #[tell]
    async fn wait_alone(&mut self, outcome: oneshot::Sender<Result<u32, AskError>>) {
        let _ = outcome.send(keep(&self.oracle).within(SHORT).await);
    }
    /// As above, beside the actor.
    #[tell]
    fn wait_beside(
        &mut self,
        outcome: oneshot::Sender<Result<u32, AskError>>,
        cx: &mut Context<Self>,
    ) {
        let oracle = self.oracle.clone();
        cx.pipe(
            async move {
                // By then the worker has nothing to do.
                tokio::time::sleep(SHORT).await;
                let _ = outcome.send(keep(&oracle).within(SHORT).await);
            },
            Self::done,
        );
    }
    #[local]
    fn done(&mut self, (): ()) {}
}

async fn middle(system: &System, next: Option<Ref<Middle>>) -> Ref<Middle> {
    let oracle = oracle(system).await;
    system.spawn::<Middle>(Middle { next, oracle }).await.expect("it starts")
}

// [G-ASK-3]
#[test]
fn a_handler_sees_how_long_its_asker_waits() {
    everywhere(async |system| {
        let oracle = oracle(system).await;
        for within in [LONG, LONG * 10] {
            let remaining = oracle.remaining().within(within).await.unwrap();
            assert!(remaining <= within && remaining > within - LONG, "{remaining:?}");
            let later = oracle.remaining_later().within(within).await.unwrap();
            assert!(later[0] <= within && later[0] > within - LONG, "{later:?}");
            assert!(later[1] <= later[0] && later[1] > within - LONG, "{later:?}");
        }
    });
}

// [G-ASK-3]
#[test]
fn the_deadline_travels_on() {
    everywhere(async |system| {
        let last = middle(system, None).await;
        let second = middle(system, Some(last)).await;
        let first = middle(system, Some(second)).await;
        // Each asks for more time than its own asker has.
        let remaining = first.remaining().within(LONG).await.unwrap();
        assert!(remaining <= LONG, "{remaining:?}");
        let remaining = first.remaining_later().within(LONG).await.unwrap();
        assert!(remaining <= LONG, "{remaining:?}");
        // And no deadline stays behind for those who have none.
        let (tell, told) = oneshot::channel();
        first.remaining_of_none(tell).await.unwrap();
        let remaining = soon(told).await.unwrap();
        assert!(remaining > LONG, "{remaining:?}");
    });
}

// [G-ASK-1] [G-ASK-3]
#[test]
fn a_nested_ask_ends_with_the_outer_one() {
    everywhere(async |system| {
        let middle = middle(system, None).await;
        let (tell, told) = oneshot::channel();
        // Both have the same deadline, and whichever sees it first may be told of it.
        let asked = middle.wait_for_nothing(tell).within(SHORT).await;
        assert!(matches!(asked, Ok(()) | Err(AskError::Expired)), "{asked:?}");
        assert_eq!(soon(told).await.unwrap(), Err(AskError::Expired));
    });
}

// [G-ASK-1]
#[test]
fn an_ask_beside_an_actor_expires_while_its_worker_is_idle() {
    everywhere(async |system| {
        let oracle = oracle(system).await;
        let middle = Middle { next: None, oracle: oracle.clone() };
        let middle = system.spawn::<Middle>(middle).await.unwrap();
        // The oracle waits, so that the questions wake nobody.
        let (_gate, closed) = oneshot::channel();
        let mut running = oracle.when(closed).within(LONG * 10).into_future();
        assert!(poll_once(&mut running).is_pending());
        for _ in 0..5 {
            let (tell, told) = oneshot::channel();
            middle.wait_beside(tell).await.unwrap();
            assert_eq!(soon(told).await.unwrap(), Err(AskError::Expired));
        }
        oracle.kill();
    });
}

// [G-ASK-1] [G-ASK-3]
#[test]
fn deadlines_hold_between_systems_of_different_age() {
    let within = SHORT * 20;
    let old = System::builder().workers(1).build().unwrap();
    run(async {
        let old_oracle = oracle(&old).await;
        // The clocks of the systems begin when they are built, further apart than the deadlines.
        tokio::time::sleep(within * 2).await;
        let young = System::builder().workers(1).build().unwrap();
        let young_oracle = oracle(&young).await;
        let middle = Middle { next: None, oracle: old_oracle };
        let middle = young.spawn::<Middle>(middle).await.unwrap();
        let remaining = middle.remaining().within(within).await.unwrap();
        assert!(remaining > Duration::ZERO && remaining <= within, "{remaining:?}");
        let middle = Middle { next: None, oracle: young_oracle };
        let middle = old.spawn::<Middle>(middle).await.unwrap();
        let remaining = middle.remaining().within(within).await.unwrap();
        assert!(remaining > Duration::ZERO && remaining <= within, "{remaining:?}");
        young.shutdown(LONG).await.unwrap();
        old.shutdown(LONG).await.unwrap();
    });
}

// [G-ASK-1]
#[test]
fn an_ask_of_another_system_expires_whichever_worker_asks() {
    let [system, other] = [2, 1].map(|workers| System::builder().workers(workers).build().unwrap());
    run(async {
        let oracle = oracle(&other).await;
        let expires = async || {
            let middle = Middle { next: None, oracle: oracle.clone() };
            let middle = system.spawn::<Middle>(middle).await.unwrap();
            let (tell, told) = oneshot::channel();
            middle.wait_alone(tell).await.unwrap();
            assert_eq!(soon(told).await.unwrap(), Err(AskError::Expired));
        };
        // While one worker is held, the other asks.
        let first = hold_worker(&system).await;
        expires().await;
        let second = hold_worker(&system).await;
        drop(first);
        expires().await;
        drop(second);
        system.shutdown(LONG).await.unwrap();
        other.shutdown(LONG).await.unwrap();
    });
}

/// Has little room.
#[derive(Actor)]
#[actor(mailbox = bounded(1, bytes = "1KiB"))]
struct Narrow {
    gate: Arc<Semaphore>,
}

#[handlers]
impl Narrow {
    #[ask]
    async fn pass(&mut self, number: u32) -> u32 {
        let permit = self.gate.acquire().await.expect("it is never closed");
        permit.forget();
        number
    }
}

#[derive(Message)]
#[message(reply = usize)]
struct Huge([u8; 2000]);

impl Handle<Huge> for Narrow {
    fn handle(&mut self, huge: Huge, _cx: &mut Context<Self>) -> usize {
        huge.0.len()
    }
}

// [G-ASK-1] [G-BOUND-2]
#[test]
fn the_deadline_covers_the_wait_for_room() {
    everywhere(async |system| {
        let gate = Arc::new(Semaphore::new(0));
        let narrow = system.spawn::<Narrow>(Narrow { gate: Arc::clone(&gate) }).await.unwrap();
        let mut running = narrow.pass(1).within(LONG).into_future();
        assert!(poll_once(&mut running).is_pending());
        // One more has room, as soon as the first is being handled.
        let mut waiting = narrow.pass(2).within(LONG).into_future();
        assert!(poll_once(&mut waiting).is_pending());
        let mut outside = narrow.pass(3).within(LONG).into_future();
        assert!(poll_once(&mut outside).is_pending());
        let began = Instant::now();
        assert_eq!(narrow.pass(4).within(SHORT).await, Err(AskError::Expired));
        assert!(began.elapsed() >= SHORT);
        gate.add_permits(3);
        assert_eq!(soon(running).await, Ok(1));
        assert_eq!(soon(waiting).await, Ok(2));
        assert_eq!(soon(outside).await, Ok(3));
        // The question that expired was never sent, and left its place.
        gate.add_permits(1);
        assert_eq!(soon(narrow.pass(5).into_future()).await, Ok(5));
        assert_eq!(system.counts().late_replies, 0);
    });
}

// [G-ASK-1] [G-BOUND-2]
#[test]
fn a_plain_thread_waits_for_room_too() {
    everywhere(async |system| {
        let gate = Arc::new(Semaphore::new(0));
        let narrow = system.spawn::<Narrow>(Narrow { gate: Arc::clone(&gate) }).await.unwrap();
        let ask = |number, within| {
            let narrow = narrow.clone();
            thread::spawn(move || narrow.pass(number).within(within).wait())
        };
        let asked = [0, 1, 2, 3].map(|number| ask(number, LONG));
        assert_eq!(ask(4, SHORT).join().unwrap(), Err(AskError::Expired));
        // One for the question that expired, as it may have found room.
        gate.add_permits(5);
        let answers = asked.map(|asked| asked.join().unwrap());
        assert_eq!(answers, [Ok(0), Ok(1), Ok(2), Ok(3)]);
    });
}

// [G-ASK-1]
#[test]
fn a_question_larger_than_the_mailbox_ends_at_once() {
    everywhere(async |system| {
        let gate = Arc::new(Semaphore::new(0));
        let narrow = system.spawn::<Narrow>(Narrow { gate }).await.unwrap();
        let asked = soon(narrow.ask(Huge([0; 2000])).within(LONG).into_future()).await;
        assert!(asked.is_err(), "{asked:?}");
    });
}

/// Asks many times, while oracles come and go.
async fn ask_many(oracles: Vec<Ref<Oracle>>, count: u32, seed: u64) -> [u32; 4] {
    let mut dice = Dice::new(seed);
    let [mut answered, mut expired, mut unanswered, mut closed] = [0; 4];
    for number in 0..count {
        let oracle = &oracles[usize::try_from(dice.below(oracles.len() as u64)).expect("small")];
        let way = dice.below(20);
        let outcome = match way {
            0 => oracle.double(number).within(NO_TIME).await,
            1..=5 => oracle.double_later(number).within(LONG).await,
            6 => keep(oracle).within(NO_TIME).await.map(|_| number * 2),
            7 => {
                let mut question = oracle.double(number).into_future();
                let _ = poll_once(&mut question);
                oracle.double(number).within(LONG).await
            }
            _ => oracle.double(number).within(LONG).await,
        };
        match outcome {
            Ok(answer) => {
                assert_eq!(answer, number * 2, "the answer to this question and no other");
                answered += 1;
            }
            Err(AskError::Expired) => {
                assert!(way == 0 || way == 6, "it had time");
                expired += 1;
            }
            Err(AskError::NoReply) => unanswered += 1,
            Err(AskError::Closed) => closed += 1,
            Err(error) => panic!("{error}"),
        }
    }
    [answered, expired, unanswered, closed]
}

#[derive(Actor)]
struct Asker;

#[handlers]
impl Asker {
    #[ask]
    async fn ask_many(&mut self, oracles: Vec<Ref<Oracle>>, count: u32, seed: u64) -> [u32; 4] {
        ask_many(oracles, count, seed).await
    }
}

// [G-ASK-1] [G-ASK-2]
#[test]
fn a_hundred_thousand_asks_have_one_outcome_each() {
    const EACH: u32 = 8_400;
    everywhere(async |system| {
        let mut totals = [0; 4];
        let mut oracles = Vec::new();
        for _ in 0..20 {
            oracles.push(oracle(system).await);
        }
        let outside = oracles.clone();
        let thread = thread::spawn(move || block_on(ask_many(outside, EACH / 2, 1)));
        let first = system.spawn::<Asker>(Asker).await.unwrap();
        let second = system.spawn::<Asker>(Asker).await.unwrap();
        let mut asks = [
            first.ask_many(oracles.clone(), EACH / 4, 2).within(LONG).into_future(),
            second.ask_many(oracles.clone(), EACH / 4, 3).within(LONG).into_future(),
        ];
        for ask in &mut asks {
            assert!(poll_once(ask).is_pending());
        }
        let mine = ask_many(oracles.clone(), EACH, 4);
        let stops = async {
            for (number, oracle) in oracles.iter().enumerate().skip(5) {
                tokio::time::sleep(Duration::from_millis(2)).await;
                if number % 2 == 0 {
                    oracle.stop()
                } else {
                    oracle.kill()
                };
            }
        };
        let (mine, ()) = tokio::join!(mine, stops);
        let [first, second] = asks;
        let others = [soon(first).await.unwrap(), soon(second).await.unwrap()];
        for outcomes in [mine, thread.join().unwrap()].into_iter().chain(others) {
            totals.iter_mut().zip(outcomes).for_each(|(total, count)| *total += count);
        }
        assert_eq!(totals.iter().sum::<u32>(), EACH * 2);
        assert!(totals[0] > 0 && totals[1] > 0, "{totals:?}");
    });
}
