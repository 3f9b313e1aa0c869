//! Every outcome there is, exactly one for each ask.

use crate::asks::deadlines::middle;
use crate::asks::oracle::{NO_TIME, Oracle, Refusal, SHORT, keep, oracle};
use crate::support::{
    Builds, LONG, block_on, everywhere, hold_worker, on, poll_once, run, soon, until,
};
use greenroom::{
    Actor, AskError, Context, Handle, HandleAsync, Idle, Message, Recipient, Ref, Scheduler,
    System, handlers,
};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::thread;
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

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
            let system = System::builder().workers(workers).idle(idle).own();
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
    let patient = System::builder().workers(1).ask_timeout(LONG).own_as_set();
    let hasty = System::builder().workers(1).ask_timeout(SHORT).own_as_set();
    run(async {
        let remaining = oracle(&patient).await.remaining().await.unwrap();
        assert!(LONG / 2 < remaining && remaining <= LONG, "{remaining:?}");
        let oracle = oracle(&hasty).await;
        let began = Instant::now();
        assert_eq!(soon(keep(&oracle).into_future()).await, Err(AskError::Expired));
        assert!(began.elapsed() >= SHORT - Duration::from_millis(1), "{:?}", began.elapsed());
        patient.shutdown(LONG).await.unwrap();
        hasty.shutdown(LONG).await.unwrap();
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

/// Counts its drops, and panics in the first one.
struct Bomb(Arc<AtomicU32>);

impl Drop for Bomb {
    fn drop(&mut self) {
        assert!(self.0.fetch_add(1, SeqCst) > 0, "as told");
    }
}

#[derive(Actor)]
struct Armourer;

#[handlers]
impl Armourer {
    #[ask]
    fn arm(&self, drops: Arc<AtomicU32>) -> Bomb {
        Bomb(drops)
    }
    #[ask]
    fn is_there(&self) {}
}

// [G-ASK-1]
#[test]
fn an_answer_that_nobody_looks_at_is_dropped_once_though_that_panics() {
    on(1, Scheduler::locked(), async |system| {
        let armourer = system.spawn::<Armourer>(Armourer).await.unwrap();
        let drops = Arc::new(AtomicU32::new(0));
        let hold = hold_worker(system).await;
        let mut asked = armourer.arm(Arc::clone(&drops)).within(LONG).into_future();
        assert!(poll_once(&mut asked).is_pending());
        drop(hold);
        assert_eq!(armourer.is_there().await, Ok(()));
        assert!(catch_unwind(AssertUnwindSafe(|| drop(asked))).is_err());
        assert_eq!(drops.load(SeqCst), 1);
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
