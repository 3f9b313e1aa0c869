//! The kit for tests of actors: it finds what is there, waits for what comes, and says what came instead.

use crate::support::{Builds, LONG, SCHEDULERS, everywhere, on, run, soon};
use greenroom::testkit::{self, Probe};
use greenroom::{
    Actor, AskError, Context, DeadLetter, DeadLetterReason, Event, ExitReason, Message, Recipient,
    Ref, Scheduler, System, handlers,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::sync::Notify;

const SHORT: Duration = Duration::from_millis(20);

/// Passes each parcel on until it has made its hops, and counts it then.
#[derive(Actor)]
struct Hopper {
    peers: Vec<Ref<Self>>,
    arrived: Arc<AtomicU64>,
}

#[handlers]
impl Hopper {
    #[start]
    fn start(arrived: Arc<AtomicU64>) -> Self {
        Self { peers: Vec::new(), arrived }
    }
    #[tell]
    fn meet(&mut self, peers: Vec<Ref<Self>>) {
        self.peers = peers;
    }
    #[tell]
    async fn hop(&mut self, hops: usize) {
        match hops {
            0 => _ = self.arrived.fetch_add(1, Ordering::Relaxed),
            hops => {
                if hops % 7 == 0 {
                    tokio::task::yield_now().await;
                }
                let to = &self.peers[hops * 31 % self.peers.len()];
                to.hop(hops - 1).await.expect("it lives");
            }
        }
    }
}

const HOPPERS: usize = 20;

async fn hoppers(system: &System, arrived: &Arc<AtomicU64>) -> Vec<Ref<Hopper>> {
    let mut hoppers = Vec::new();
    for _ in 0..HOPPERS {
        hoppers.push(system.spawn::<Hopper>(Arc::clone(arrived)).await.expect("it starts"));
    }
    for hopper in &hoppers {
        hopper.meet(hoppers.clone()).await.expect("it lives");
    }
    hoppers
}

// [G-IDLE-1]
#[test]
fn an_idle_system_has_handled_everything() {
    const ROUNDS: usize = if cfg!(sanitized) { 12 } else { 60 };
    everywhere(async |system| {
        let arrived = Arc::new(AtomicU64::new(0));
        let hoppers = hoppers(system, &arrived).await;
        for round in 1..=ROUNDS {
            for hopper in &hoppers {
                hopper.hop(round * 3).await.unwrap();
            }
            system.await_idle(LONG).await.unwrap();
            assert_eq!(arrived.load(Ordering::Relaxed), (round * HOPPERS) as u64);
        }
    });
}

// [G-IDLE-1]
#[test]
fn mail_between_workers_is_under_way() {
    const ROUNDS: usize = if cfg!(sanitized) { 100 } else { 500 };
    for scheduler in SCHEDULERS {
        on(4, scheduler(), async |system| {
            let arrived = Arc::new(AtomicU64::new(0));
            let mut hoppers = Vec::new();
            for number in 0..4 {
                let hopper = system.spawn::<Hopper>(Arc::clone(&arrived)).on(number);
                hoppers.push(hopper.await.unwrap());
            }
            for hopper in &hoppers {
                hopper.meet(hoppers.clone()).await.unwrap();
            }
            for round in 1..=ROUNDS {
                hoppers[round % 4].hop(round % 13).await.unwrap();
                system.await_idle(LONG).await.unwrap();
                assert_eq!(arrived.load(Ordering::Relaxed), round as u64);
            }
        });
    }
}

/// Waits in its handler until it is told to go on.
#[derive(Actor)]
#[actor(restart = transient(3 in "1h", backoff = "30ms..30ms"))]
struct Waiter {
    go: Arc<Notify>,
    child: Option<Ref<Self>>,
}

#[handlers]
impl Waiter {
    #[start]
    fn start(go: Arc<Notify>) -> Self {
        Self { go, child: None }
    }
    #[tell]
    async fn wait(&mut self) {
        self.go.notified().await;
    }
    #[tell]
    fn bear(&mut self, cx: &mut Context<Self>) {
        let child = cx.spawn::<Self>(Arc::clone(&self.go)).named("child").start();
        self.child = Some(child.expect("the name is free"));
    }
    #[tell]
    async fn let_wait(&mut self) {
        let child = self.child.as_ref().expect("it is born");
        child.wait().await.expect("it lives");
    }
    #[tell]
    fn crash(&mut self) {
        panic!("as told");
    }
}

// [G-IDLE-1]
#[test]
fn a_handler_that_waits_is_named_and_a_timer_is_not() {
    everywhere(async |system| {
        let go = Arc::new(Notify::new());
        let waiter = system.spawn::<Waiter>(Arc::clone(&go)).named("waiter").await.unwrap();
        waiter.bear().await.unwrap();
        system.await_idle(LONG).await.unwrap();
        waiter.let_wait().await.unwrap();
        // The one that tells the child is named until it has.
        crate::support::until_async(async || {
            let busy = system.await_idle(SHORT).await.unwrap_err().busy;
            busy.len() == 1 && busy[0].starts_with("child (")
        })
        .await;
        go.notify_one();
        system.await_idle(LONG).await.unwrap();
    });
}

// [G-IDLE-1]
#[test]
fn an_actor_that_is_to_start_again_is_not_idle() {
    on(2, Scheduler::stealing(), async |system| {
        let waiter = system.spawn::<Waiter>(Arc::default()).await.unwrap();
        waiter.crash().await.unwrap();
        system.await_idle(LONG).await.unwrap();
        assert_eq!(system.counts().restarts, 1, "the pause before it is over");
    });
}

#[test]
fn a_new_system_is_idle_at_once_and_an_ended_one_too() {
    run(async {
        let system = System::builder().workers(2).own();
        soon(system.await_idle(LONG)).await.unwrap();
        system.shutdown(LONG).await.unwrap();
    });
}

#[derive(Clone, Debug, PartialEq, Message)]
struct Price(u64);

#[derive(Debug, PartialEq, Message)]
#[message(reply = u64)]
struct Double(u64);

#[derive(Actor)]
struct Book {
    feed: Ref<Feed>,
    subscriber: Recipient<Price>,
}

#[handlers]
impl Book {
    #[start]
    fn start(feed: Ref<Feed>, subscriber: Recipient<Price>) -> Self {
        Self { feed, subscriber }
    }
    #[tell]
    async fn publish(&mut self, symbol: String) {
        if let Ok(price) = self.feed.price(symbol).await {
            let _ = self.subscriber.tell(Price(price)).await;
        }
    }
    #[tell]
    fn end(&mut self, cx: &mut Context<Self>) {
        cx.stop();
    }
}

/// Stood in for by a probe.
#[derive(Actor)]
struct Feed;

#[handlers]
impl Feed {
    #[ask]
    fn price(&self, symbol: String) -> u64 {
        symbol.len() as u64
    }
}

#[test]
fn a_probe_receives_and_stands_in_for_others() {
    everywhere(async |system| {
        let mut prices = Probe::spawn(system).await.unwrap().within(LONG);
        let mut feed = Probe::spawn(system).await.unwrap().within(LONG);
        let args = (feed.reference::<Feed>(), prices.recipient());
        let book = system.spawn::<Book>(args).await.unwrap();
        book.publish("GRN".to_owned()).await.unwrap();
        let FeedMessage::Price { symbol, reply } = feed.expect_next().await;
        assert_eq!(symbol, "GRN");
        reply.send(7);
        prices.expect(&Price(7)).await;
        // Unanswered, the book goes without.
        book.publish("none".to_owned()).await.unwrap();
        drop(
            feed.expect_that("a question", |asked| matches!(asked, FeedMessage::Price { .. }))
                .await,
        );
        prices.expect_none().await;
    });
}

#[test]
fn a_probe_answers_what_it_is_asked_and_ends_when_it_is_dropped() {
    on(1, Scheduler::locked(), async |system| {
        let probe = Probe::answering(system, |Double(number)| number * 2).await.unwrap();
        let mut probe = probe.within(LONG);
        let recipient = probe.recipient();
        assert_eq!(recipient.ask(Double(21)).await, Ok(42));
        probe.expect(&Double(21)).await;
        drop(probe);
        system.await_idle(LONG).await.unwrap();
        assert_eq!(recipient.ask(Double(1)).await, Err(AskError::Closed));
    });
}

/// What the expectation said as it failed.
async fn failure(expectation: impl Future<Output = ()> + Send + 'static) -> String {
    let failed = tokio::spawn(expectation).await.expect_err("it is not met");
    let text = failed.into_panic().downcast::<String>().expect("it panics with a text");
    *text
}

#[test]
fn a_failure_says_what_came_instead_and_where_it_was_expected() {
    on(2, Scheduler::stealing(), async |system| {
        let patient = async || Probe::spawn(system).await.expect("it starts").within(LONG);
        let send = async |probe: &Probe<Price>, price| {
            probe.recipient().tell(Price(price)).await.expect("it lives");
        };

        let mut another = patient().await;
        send(&another, 1).await;
        send(&another, 2).await;
        let text = failure(async move {
            another.expect(&Price(1)).await;
            another.expect(&Price(3)).await;
        });
        let text = text.await;
        assert!(text.contains("testkit.rs:"), "{text}");
        assert!(text.contains("expected Price(3), but another came"), "{text}");
        assert!(text.ends_with("\n  Price(1)\n  Price(2)"), "{text}");

        let mut silent = patient().await.within(SHORT);
        let text = failure(async move { silent.expect(&Price(1)).await }).await;
        assert!(text.contains("none came within 20ms") && text.ends_with("nothing"), "{text}");

        let mut talkative = patient().await;
        send(&talkative, 5).await;
        let text = failure(async move { talkative.expect_none().await }).await;
        assert!(text.contains("something came") && text.ends_with("Price(5)"), "{text}");

        let mut picky = patient().await.within(LONG);
        (0..30).for_each(|price| picky.recipient().tell(Price(price)).try_send().expect("room"));
        assert_eq!(picky.find("the eighth", |price| price.0 == 7).await, Price(7));
        // All of them are with the probe, so that none comes too late to be listed.
        system.await_idle(LONG).await.unwrap();
        let mut picky = picky.within(100 * SHORT);
        let text = failure(async move { _ = picky.find("a hundred", |it| it.0 == 100).await });
        let text = text.await;
        assert!(text.contains("expected a hundred") && text.contains("Price(29)"), "{text}");
        assert!(!text.contains("Price(3)\n"), "only the last are listed: {text}");
    });
}

#[test]
fn dead_letters_and_events_are_expected_too() {
    everywhere(async |system| {
        let mut letters = testkit::dead_letters(system).within(LONG);
        let mut events = testkit::events(system).within(LONG);
        let waiter = system.spawn::<Waiter>(Arc::default()).await.unwrap();
        waiter.crash().await.unwrap();
        let crashed = |letter: &DeadLetter| letter.reason == DeadLetterReason::Crashed;
        let letter = letters.expect_that("what it crashed at", crashed).await;
        assert_eq!(letter.actor, waiter.id());
        letters.expect_none().await;
        waiter.stop();
        events
            .find("its end", |event| {
                matches!(event, Event::Ended { actor, reason: ExitReason::Stopped }
                    if *actor == waiter.id())
            })
            .await;
    });
}

#[test]
fn a_failure_says_how_much_was_missed() {
    on(1, Scheduler::locked(), async |system| {
        let mut events = testkit::events(system).within(SHORT);
        for _ in 0..2_000 {
            let waiter = system.spawn::<Waiter>(Arc::default()).await.unwrap();
            waiter.kill();
        }
        system.await_idle(LONG).await.unwrap();
        let text = failure(async move { _ = events.find("a dream", |_| false).await }).await;
        assert!(text.contains("none came within 20ms (2976 were missed"), "{text}");
    });
}
