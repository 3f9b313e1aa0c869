//! A question whose deadline has passed does not begin.

use crate::asks::oracle::SHORT;
use crate::support::{LONG, everywhere, poll_once, soon};
use greenroom::sim::Explore;
use greenroom::{
    Actor, AskError, Context, DeadLetterReason, Handle, HandleAsync, Message, Ref, handlers,
};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;
use tokio::sync::oneshot;

/// Notes what it begins.
#[derive(Actor, Default)]
#[actor(mailbox = bounded(5))]
pub(crate) struct Clerk {
    begun: u32,
}

#[handlers]
impl Clerk {
    #[ask]
    fn stamp(&mut self) -> u32 {
        self.begun += 1;
        self.begun
    }
    #[ask]
    async fn stamp_later(&mut self) -> u32 {
        self.begun += 1;
        tokio::task::yield_now().await;
        self.begun
    }
    /// Keeps the others waiting.
    #[ask]
    async fn hold(&mut self, gate: oneshot::Receiver<()>) {
        let _ = gate.await;
    }
    /// Keeps its worker, and the others waiting.
    #[ask]
    fn hold_worker(&mut self, entered: oneshot::Sender<()>, released: mpsc::Receiver<()>) {
        let _ = entered.send(());
        let _ = released.recv();
    }
    /// Keeps the others waiting for exactly so long.
    #[ask]
    async fn sleep(&mut self, silent: Ref<Silent>, time: Duration) {
        let _ = silent.never().within(time).await;
    }
    #[ask]
    fn begun(&self) -> u32 {
        self.begun
    }
}

/// Answers nothing, and is free again when nobody waits.
#[derive(Actor)]
pub(crate) struct Silent;

#[handlers]
impl Silent {
    #[ask(cancel)]
    async fn never(&mut self) {
        std::future::pending::<()>().await;
    }
}

#[derive(Message)]
#[message(reply = u32)]
struct Stamp;

#[derive(Message)]
#[message(reply = u32)]
struct StampLater;

impl Handle<Stamp> for Clerk {
    fn handle(&mut self, _: Stamp, _cx: &mut Context<Self>) -> u32 {
        self.stamp()
    }
}

impl HandleAsync<StampLater> for Clerk {
    async fn handle(&mut self, _: StampLater, _cx: &mut Context<Self>) -> u32 {
        self.stamp_later().await
    }
}

// [G-DEADLINE-1]
#[test]
fn a_question_whose_asker_was_told_that_it_expired_does_not_begin() {
    everywhere(async |system| {
        let clerk = system.spawn::<Clerk>(Clerk::default()).await.unwrap();
        let mut letters = system.dead_letters();
        let (gate, closed) = oneshot::channel();
        let mut holding = clerk.hold(closed).within(LONG).into_future();
        assert!(poll_once(&mut holding).is_pending());
        assert_eq!(clerk.stamp().within(SHORT).await, Err(AskError::Expired));
        assert_eq!(clerk.stamp_later().within(SHORT).await, Err(AskError::Expired));
        assert_eq!(clerk.ask(Stamp).within(SHORT).await, Err(AskError::Expired));
        assert_eq!(clerk.ask(StampLater).within(SHORT).await, Err(AskError::Expired));
        let begun = clerk.begun().within(LONG).into_future();
        gate.send(()).unwrap();
        assert_eq!(soon(holding).await, Ok(()));
        assert_eq!(soon(begun).await, Ok(0));
        for kind in ["ClerkMessage", "ClerkMessage", "Stamp", "StampLater"] {
            let letter = soon(letters.next()).await.unwrap();
            assert_eq!((letter.actor, letter.reason), (clerk.id(), DeadLetterReason::Expired));
            assert!(letter.message.ends_with(kind), "{letter:?}");
        }
        let counts = system.counts();
        assert_eq!((counts.dead_expired, counts.late_replies), (4, 0));
        // They gave their room back.
        for number in 1..=10 {
            assert_eq!(clerk.stamp().await, Ok(number));
        }
    });
}

/// The worker's clock is as of before the wait, so that it finds no deadline near.
// [G-DEADLINE-1]
#[test]
fn what_expired_while_its_worker_was_held_does_not_begin_though_its_future_is_kept() {
    everywhere(async |system| {
        let clerk = system.spawn::<Clerk>(Clerk::default()).await.unwrap();
        let (entered, is_in) = oneshot::channel();
        let (release, released) = mpsc::channel();
        let mut holding = clerk.hold_worker(entered, released).within(LONG).into_future();
        assert!(poll_once(&mut holding).is_pending());
        soon(is_in).await.unwrap();
        let mut kept = clerk.stamp().within(SHORT).into_future();
        assert_eq!((&mut kept).await, Err(AskError::Expired));
        let mut begun = clerk.begun().within(LONG).into_future();
        assert!(poll_once(&mut begun).is_pending());
        release.send(()).unwrap();
        assert_eq!(soon(holding).await, Ok(()));
        assert_eq!(soon(begun).await, Ok(0));
        let counts = system.counts();
        assert_eq!((counts.dead_expired, counts.late_replies), (1, 0));
        drop(kept);
    });
}

// [G-DEADLINE-1]
#[test]
fn a_question_with_time_left_begins_though_its_asker_has_gone() {
    everywhere(async |system| {
        let clerk = system.spawn::<Clerk>(Clerk::default()).await.unwrap();
        let (gate, closed) = oneshot::channel();
        let mut holding = clerk.hold(closed).within(LONG).into_future();
        assert!(poll_once(&mut holding).is_pending());
        let mut gone = clerk.stamp().within(LONG).into_future();
        assert!(poll_once(&mut gone).is_pending());
        drop(gone);
        gate.send(()).unwrap();
        assert_eq!(soon(clerk.begun().into_future()).await, Ok(1));
        let counts = system.counts();
        assert_eq!((counts.dead_expired, counts.late_replies), (0, 1));
    });
}

// [G-ASK-1] [G-DEADLINE-1]
#[test]
fn whoever_sees_the_deadline_first_the_asker_is_told_that_it_expired() {
    Explore::new().seeds(200).run(|world| {
        let workers = 1 + world.pick(3);
        let node = world.node("one").settings(move |builder| builder.workers(workers));
        let system = node.start().system();
        // The clerk is free again just before, when, or just after the question expires.
        let step = Duration::from_micros(100);
        let after = SHORT - step + step * u32::try_from(world.pick(3)).unwrap();
        world.run(async {
            let silent = system.spawn::<Silent>(Silent).await.unwrap();
            let clerk = system.spawn::<Clerk>(Clerk::default()).await.unwrap();
            let mut sleeping = clerk.sleep(silent, after).within(LONG).into_future();
            assert!(poll_once(&mut sleeping).is_pending());
            let asked = clerk.stamp().within(SHORT).await;
            assert_eq!(sleeping.await, Ok(()));
            let begun = clerk.begun().await.unwrap();
            match asked {
                Ok(number) => assert_eq!((number, begun), (1, 1)),
                Err(error) => assert_eq!(error, AskError::Expired),
            }
            let counts = system.counts();
            assert_eq!(u64::from(begun) + counts.dead_expired, 1, "one end for each message");
        });
        let expired = system.counts().dead_expired;
        world.sometimes("a question is skipped", expired == 1);
        world.sometimes("a question begins in time", expired == 0);
    });
}

// [G-DEADLINE-1]
#[test]
fn a_question_of_a_thread_expires_alike() {
    everywhere(async |system| {
        let clerk = system.spawn::<Clerk>(Clerk::default()).await.unwrap();
        let (gate, closed) = oneshot::channel();
        let mut holding = clerk.hold(closed).within(LONG).into_future();
        assert!(poll_once(&mut holding).is_pending());
        let asker = clerk.clone();
        let asked = thread::spawn(move || asker.stamp().within(SHORT).wait());
        assert_eq!(asked.join().unwrap(), Err(AskError::Expired));
        gate.send(()).unwrap();
        assert_eq!(soon(clerk.begun().into_future()).await, Ok(0));
        assert_eq!(system.counts().dead_expired, 1);
    });
}
