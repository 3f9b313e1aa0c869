//! A panic ends one incarnation of one actor; its worker and the others live on, however often.

#![allow(clippy::unwrap_used, reason = "what is not there fails the test")]
#![allow(clippy::needless_pass_by_value, reason = "handlers own what they are sent")]

#[path = "../support/mod.rs"]
mod support;

mod hooks;
mod wakers;

use greenroom::{
    Actor, ActorId, AskError, Context, Event, EventStream, ExitReason, Ref, System, handlers,
};
use std::future::IntoFuture;
use std::mem::ManuallyDrop;
use std::panic::panic_any;
use std::time::Duration;
use support::{LONG, SCHEDULERS, hold_worker, on, poll_once, soon, times};
use tokio::sync::oneshot;
use tokio::task::unconstrained;

const ROUNDS: usize = 25;

/// Panics when it is dropped, except while a panic is under way, where that would be the end.
#[derive(Clone, Debug)]
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        assert!(std::thread::panicking(), "a bomb");
    }
}

/// Panics wherever it is told to.
#[derive(Actor)]
struct Fragile {
    _state: Option<Bomb>,
}

#[handlers]
impl Fragile {
    #[start]
    fn start(armed: bool) -> Self {
        Self { _state: if armed { Some(Bomb) } else { None } }
    }
    #[tell]
    fn told(&mut self) {
        panic!("told")
    }
    #[tell]
    async fn told_later(&mut self) {
        tokio::task::yield_now().await;
        panic!("told later")
    }
    #[tell]
    fn leave_badly(&mut self, cx: &mut Context<Self>) {
        cx.stop();
        panic!("left badly")
    }
    #[ask]
    fn asked(&mut self) -> u32 {
        panic!("asked")
    }
    #[ask]
    async fn asked_later(&mut self) -> u32 {
        tokio::task::yield_now().await;
        panic!("asked later")
    }
    #[tell]
    fn drop_it(&mut self, bomb: Bomb) {
        drop(bomb);
    }
    #[tell]
    async fn keep_it(&mut self, bomb: Bomb, entered: oneshot::Sender<()>) {
        entered.send(()).unwrap();
        std::future::pending::<()>().await;
        drop(bomb);
    }
    #[ask]
    fn bomb(&mut self) -> Bomb {
        Bomb
    }
    #[tell]
    fn throw(&mut self) {
        panic_any(Bomb)
    }
    #[tell]
    fn tick_soon(&mut self, cx: &mut Context<Self>) {
        cx.after(Duration::ZERO, Self::told);
    }
    #[tell]
    fn tick_often(&mut self, cx: &mut Context<Self>) {
        cx.every(Duration::from_millis(1), Self::told_later);
    }
    #[tell]
    fn pipe(&mut self, cx: &mut Context<Self>) {
        cx.pipe(async { panic!("piped") }, Self::piped);
    }
    #[tell]
    fn pipe_well(&mut self, cx: &mut Context<Self>) {
        cx.pipe(async { 7 }, Self::piped);
    }
    #[local]
    fn piped(&mut self, number: u32) {
        panic!("piped {number}");
    }
}

/// Goes on counting while others fall.
#[derive(Actor, Default)]
struct Bystander {
    count: u32,
}

#[handlers]
impl Bystander {
    #[ask]
    fn count(&mut self) -> u32 {
        self.count += 1;
        self.count
    }
}

/// What has happened so far, without waiting.
fn so_far(events: &mut EventStream) -> Vec<Event> {
    std::iter::from_fn(|| match poll_once(&mut Box::pin(unconstrained(events.next()))) {
        std::task::Poll::Ready(event) => event,
        std::task::Poll::Pending => None,
    })
    .collect()
}

/// Lets one actor after the other fall on a single worker, which all share with a bystander. Each
/// must end once, for `reason`.
fn is_contained(reason: &ExitReason, fall: impl AsyncFn(&System) -> ActorId) {
    for scheduler in SCHEDULERS {
        on(1, scheduler(), async |system| {
            let mut events = system.events();
            let bystander = system.spawn::<Bystander>(Bystander::default()).await.unwrap();
            let (mut fallen, mut seen) = (Vec::new(), Vec::new());
            for round in 1..=times(ROUNDS) {
                fallen.push(soon(fall(system)).await);
                seen.append(&mut so_far(&mut events));
                let count = bystander.count().within(LONG).await;
                assert_eq!(count, Ok(u32::try_from(round).unwrap()), "it lives on");
            }
            system.shutdown(LONG).await.unwrap();
            seen.append(&mut so_far(&mut events));
            let mut ended: Vec<_> = seen
                .into_iter()
                .filter_map(|event| match event {
                    Event::Ended { actor, reason: why } if fallen.contains(&actor) => {
                        assert_eq!(why, *reason);
                        Some(actor)
                    }
                    _ => None,
                })
                .collect();
            ended.sort();
            fallen.sort();
            assert_eq!(ended, fallen, "each has one end");
        });
    }
}

fn panicked(text: &str) -> ExitReason {
    ExitReason::Panicked(text.to_owned())
}

async fn fragile(system: &System) -> Ref<Fragile> {
    system.spawn::<Fragile>(false).await.unwrap()
}

async fn end_of(actor: Ref<Fragile>) -> ActorId {
    actor.ended().await;
    assert!(actor.told().try_send().is_err(), "it takes no more");
    actor.id()
}

// [G-PANIC-1]
#[test]
fn in_a_told_handler() {
    is_contained(&panicked("told"), async |system| {
        let actor = fragile(system).await;
        actor.told().await.unwrap();
        end_of(actor).await
    });
}

// [G-PANIC-1]
#[test]
fn in_a_told_handler_after_an_await() {
    is_contained(&panicked("told later"), async |system| {
        let actor = fragile(system).await;
        actor.told_later().await.unwrap();
        end_of(actor).await
    });
}

// [G-PANIC-1] [G-PANIC-2]
#[test]
fn in_an_asked_handler() {
    is_contained(&panicked("asked"), async |system| {
        let actor = fragile(system).await;
        assert_eq!(actor.asked().within(LONG).await, Err(AskError::NoReply));
        end_of(actor).await
    });
}

// [G-PANIC-1] [G-PANIC-2]
#[test]
fn in_an_asked_handler_after_an_await() {
    is_contained(&panicked("asked later"), async |system| {
        let actor = fragile(system).await;
        assert_eq!(actor.asked_later().within(LONG).await, Err(AskError::NoReply));
        end_of(actor).await
    });
}

// [G-PANIC-1]
#[test]
fn in_the_drop_of_a_message_by_its_handler() {
    is_contained(&panicked("a bomb"), async |system| {
        let actor = fragile(system).await;
        actor.drop_it(Bomb).await.unwrap();
        end_of(actor).await
    });
}

// [G-PANIC-1]
#[test]
fn in_the_drop_of_messages_that_nobody_handled() {
    is_contained(&ExitReason::Stopped, async |system| {
        let before = system.counts().dead_stopped;
        let actor = fragile(system).await;
        let hold = hold_worker(system).await;
        for _ in 0..3 {
            actor.drop_it(Bomb).try_send().unwrap();
        }
        actor.stop();
        drop(hold);
        let actor = end_of(actor).await;
        assert_eq!(system.counts().dead_stopped - before, 3);
        actor
    });
}

// [G-PANIC-1]
#[test]
fn in_the_drop_of_a_message_by_a_kill() {
    is_contained(&ExitReason::Killed, async |system| {
        let mut events = system.events();
        let actor = fragile(system).await;
        let (entered, is_in) = oneshot::channel();
        actor.keep_it(Bomb, entered).await.unwrap();
        is_in.await.unwrap();
        actor.kill();
        let actor = end_of(actor).await;
        assert_eq!(bad_drops(&mut events), [actor]);
        actor
    });
}

// [G-PANIC-1]
#[test]
fn in_the_drop_of_an_answer_that_comes_too_late() {
    is_contained(&panicked("a bomb"), async |system| {
        let actor = fragile(system).await;
        let hold = hold_worker(system).await;
        let mut asking = actor.bomb().into_future();
        assert!(poll_once(&mut asking).is_pending());
        drop(asking);
        drop(hold);
        end_of(actor).await
    });
}

// [G-PANIC-1]
#[test]
fn in_the_drop_of_a_state() {
    is_contained(&ExitReason::Stopped, async |system| {
        let mut events = system.events();
        let actor = system.spawn::<Fragile>(true).await.unwrap();
        actor.stop();
        let actor = end_of(actor).await;
        assert_eq!(bad_drops(&mut events), [actor]);
        actor
    });
}

/// Whose drops panicked so far.
fn bad_drops(events: &mut EventStream) -> Vec<ActorId> {
    let events = so_far(events).into_iter();
    let bad = events.filter_map(|event| match event {
        Event::DropPanicked { actor } => Some(actor),
        _ => None,
    });
    bad.collect()
}

// [G-PANIC-1]
#[test]
fn in_a_handler_and_then_in_the_drop_of_the_state() {
    is_contained(&panicked("told"), async |system| {
        let actor = system.spawn::<Fragile>(true).await.unwrap();
        actor.told().await.unwrap();
        end_of(actor).await
    });
}

// [G-PANIC-1]
#[test]
fn with_a_payload_that_panics_in_its_own_drop() {
    is_contained(&panicked("a panic without text"), async |system| {
        let actor = fragile(system).await;
        actor.throw().await.unwrap();
        end_of(actor).await
    });
}

// [G-PANIC-1]
#[test]
fn in_a_timers_method() {
    is_contained(&panicked("told"), async |system| {
        let actor = fragile(system).await;
        actor.tick_soon().await.unwrap();
        end_of(actor).await
    });
}

// [G-PANIC-1]
#[test]
fn in_a_timers_method_after_an_await() {
    is_contained(&panicked("told later"), async |system| {
        let actor = fragile(system).await;
        actor.tick_often().await.unwrap();
        end_of(actor).await
    });
}

// [G-PANIC-1]
#[test]
fn in_a_piped_future() {
    is_contained(&panicked("piped"), async |system| {
        let actor = fragile(system).await;
        actor.pipe().await.unwrap();
        end_of(actor).await
    });
}

// [G-PANIC-1]
#[test]
fn in_the_method_that_takes_a_piped_result() {
    is_contained(&panicked("piped 7"), async |system| {
        let actor = fragile(system).await;
        actor.pipe_well().await.unwrap();
        end_of(actor).await
    });
}

/// Keeps its arguments, which panic in their drop, for a restart.
#[derive(Actor)]
#[actor(restart = transient(9 in "1h"))]
struct Keeper {
    _bomb: ManuallyDrop<Bomb>,
}

#[handlers]
impl Keeper {
    #[start]
    fn start(bomb: Bomb) -> Self {
        Self { _bomb: ManuallyDrop::new(bomb) }
    }
    #[tell]
    fn told(&mut self) {
        panic!("told");
    }
    #[ask]
    fn is_there(&self) -> bool {
        true
    }
}

/// Has keepers for children.
#[derive(Actor)]
struct Parent;

#[handlers]
impl Parent {
    #[ask]
    fn keeper(&mut self, cx: &mut Context<Self>) -> Ref<Keeper> {
        cx.spawn::<Keeper>(Bomb).start().unwrap()
    }
}

// [G-PANIC-1]
#[test]
fn in_the_drop_of_arguments_that_were_kept() {
    is_contained(&ExitReason::Stopped, async |system| {
        let parent = system.spawn::<Parent>(Parent).await.unwrap();
        let keeper = parent.keeper().within(LONG).await.unwrap();
        keeper.told().await.unwrap();
        assert_eq!(keeper.is_there().within(LONG).await, Ok(true), "it is there again");
        keeper.stop();
        keeper.ended().await;
        parent.stop();
        parent.ended().await;
        keeper.id()
    });
}
