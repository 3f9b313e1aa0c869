//! Deadlines travel on, and hold wherever the asker waits.

use crate::asks::oracle::{Oracle, SHORT, keep, oracle};
use crate::support::{Builds, LONG, SCHEDULERS, everywhere, hold_worker, poll_once, run, soon};
use greenroom::{Actor, AskError, Context, Ref, Reply, Scheduler, System, handlers};
use std::future::IntoFuture;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};
use tokio::sync::oneshot;
use tokio::time::timeout;

/// Asks others while it is asked.
#[derive(Actor)]
pub(crate) struct Middle {
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
    /// Holds its worker for longer than the default, then asks with that.
    #[tell]
    async fn ask_late(&mut self, took: Duration, outcome: oneshot::Sender<Result<u32, AskError>>) {
        let began = Instant::now();
        while began.elapsed() <= took {
            thread::yield_now();
        }
        let _ = outcome.send(self.oracle.double(1).await);
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

pub(crate) async fn middle(system: &System, next: Option<Ref<Middle>>) -> Ref<Middle> {
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
        let mut timeout = SHORT;
        let nested = loop {
            let (tell, told) = oneshot::channel();
            // Both have the same deadline, and whichever sees it first may be told of it.
            let asked = middle.wait_for_nothing(tell).within(timeout).await;
            assert!(matches!(asked, Ok(()) | Err(AskError::Expired)), "{asked:?}");
            // On a machine that has much to do it may pass before the question has begun.
            if let Ok(nested) = soon(told).await {
                break nested;
            }
            timeout *= 2;
        };
        assert_eq!(nested, Err(AskError::Expired));
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

/// What is left of the time at an oracle that an actor of the system asks while it is asked.
async fn remaining_by_way_of(system: &System, oracle: &Ref<Oracle>, within: Duration) -> Duration {
    // On a machine that has much to do the time may pass before the answer is there.
    for _ in 0..10 {
        let middle = Middle { next: None, oracle: oracle.clone() };
        let middle = system.spawn::<Middle>(middle).await.unwrap();
        if let Ok(remaining) = middle.remaining().within(within).await {
            return remaining;
        }
    }
    panic!("no answer came in time");
}

// [G-ASK-1] [G-ASK-3]
#[test]
fn deadlines_hold_between_systems_of_different_age() {
    let within = SHORT * 100;
    let old = System::builder().workers(1).own();
    run(async {
        let old_oracle = oracle(&old).await;
        // The clocks of the systems begin when they are built, further apart than the deadlines.
        tokio::time::sleep(within * 2).await;
        let young = System::builder().workers(1).own();
        let young_oracle = oracle(&young).await;
        for (asker, oracle) in [(&young, old_oracle), (&old, young_oracle)] {
            let remaining = remaining_by_way_of(asker, &oracle, within).await;
            assert!(remaining > Duration::ZERO && remaining <= within, "{remaining:?}");
        }
        young.shutdown(LONG).await.unwrap();
        old.shutdown(LONG).await.unwrap();
    });
}

// [G-ASK-1]
#[test]
fn an_ask_of_another_system_expires_whichever_worker_asks() {
    let [system, other] = [2, 1].map(|workers| System::builder().workers(workers).own());
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

// [G-ASK-1]
#[test]
fn a_short_default_counts_from_the_ask_on() {
    const DEFAULT: Duration = Duration::from_millis(900);
    let builder = System::builder().workers(2).scheduler(Scheduler::per_core());
    let system = builder.ask_timeout(DEFAULT).own_as_set();
    run(async {
        let oracle = system.spawn::<Oracle>(Oracle::default()).on(1).await.unwrap();
        let middle = Middle { next: None, oracle };
        let middle = system.spawn::<Middle>(middle).on(0).await.unwrap();
        // Once is enough: the machine may stand still for as long.
        for _ in 0..20 {
            let (tell, told) = oneshot::channel();
            middle.ask_late(DEFAULT, tell).await.unwrap();
            if soon(told).await.unwrap() == Ok(2) {
                return;
            }
        }
        panic!("what a handler does before it asks is taken off");
    });
}

/// Gives its answers to somebody else to give.
#[derive(Actor)]
struct Delegate {
    kept: mpsc::Sender<Reply<u32>>,
}

#[handlers]
impl Delegate {
    #[ask]
    fn decide(&mut self, reply: Reply<u32>) {
        self.kept.send(reply).expect("it is waited for");
    }
}

// [G-ASK-1]
#[test]
fn a_deadline_holds_though_the_system_that_was_asked_has_ended() {
    for scheduler in SCHEDULERS {
        run(async {
            let system = System::builder().workers(1).scheduler(scheduler()).own();
            let (kept, keeps) = mpsc::channel();
            let delegate = system.spawn::<Delegate>(Delegate { kept }).await.unwrap();
            // So long that the system ends before.
            let mut asking = Box::pin(delegate.decide().within(SHORT * 20).into_future());
            assert!(poll_once(&mut asking).is_pending());
            let reply = keeps.recv().expect("it was asked");
            soon(system.shutdown(LONG)).await.unwrap();
            assert_eq!(timeout(LONG / 2, asking).await, Ok(Err(AskError::Expired)));
            drop(reply);
        });
    }
}
