//! Virtual actors with restart policies, links and stashes.

use crate::support::{LONG, everywhere, soon};
use greenroom::sim::World;
use greenroom::{Actor, Context, Event, ExitReason, Keyed, Ref, handlers};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Has a restart policy of its own, and may be linked.
#[derive(Actor)]
#[actor(restart = transient(9 in "1h"))]
struct Resilient;

#[handlers]
impl Resilient {
    #[start]
    fn start() -> Self {
        Self
    }
    #[ask]
    fn incarnation(&self, cx: &mut Context<Self>) -> u32 {
        cx.incarnation()
    }
    #[tell]
    fn fall(&mut self) {
        panic!("as told")
    }
    #[ask]
    fn link(&mut self, other: Ref<Self>, cx: &mut Context<Self>) {
        cx.link(&other);
    }
}

// [G-VIRTUAL-2]
#[test]
fn after_a_restart_it_sleeps_when_idle_all_the_same() {
    everywhere(async |system| {
        let actors: Keyed<usize, Resilient> = system.keyed(|_: &usize| ());
        let actor = actors.idle(Duration::from_millis(1)).get(0).unwrap();
        let mut events = system.events();
        actor.fall().await.unwrap();
        let mut restarts = 0;
        soon(async {
            loop {
                match events.next().await.unwrap() {
                    Event::Restarting { .. } => restarts += 1,
                    Event::Asleep { .. } => break,
                    _ => {}
                }
            }
        })
        .await;
        assert_eq!(restarts, 1);
        assert_eq!(actor.incarnation().await, Ok(2));
    });
}

// [G-VIRTUAL-3]
#[test]
fn a_link_fails_no_incarnation_of_one_that_sleeps() {
    everywhere(async |system| {
        let actors: Keyed<usize, Resilient> = system.keyed(|_: &usize| ());
        let actor = actors.get(0).unwrap();
        let other = system.spawn::<Resilient>(()).await.unwrap();
        other.link(actor.clone()).await.unwrap();
        other.fall().await.unwrap();
        assert_eq!(other.incarnation().await, Ok(1));
        system.await_idle(LONG).await.unwrap();
        assert_eq!(actor.incarnation().await, Ok(0));
        assert_eq!(actors.get(0).unwrap(), actor);
    });
}

/// Puts questions aside until it is opened.
#[derive(Actor)]
#[actor(stash = 4)]
struct Shop {
    is_open: bool,
    starts: Arc<AtomicU64>,
}

#[handlers]
impl Shop {
    #[start]
    fn start(starts: Arc<AtomicU64>) -> Self {
        starts.fetch_add(1, Ordering::SeqCst);
        Self { is_open: false, starts }
    }
    #[ask]
    #[stash(while = !self.is_open)]
    fn buy(&mut self) -> u64 {
        self.starts.load(Ordering::SeqCst)
    }
    #[tell]
    fn open(&mut self, cx: &mut Context<Self>) {
        self.is_open = true;
        cx.unstash();
    }
}

// [G-VIRTUAL-2]
#[test]
fn one_that_has_put_something_aside_stays_awake() {
    let mut world = World::new(1);
    let node = world.node("mall").start();
    let system = node.system();
    let starts = Arc::new(AtomicU64::new(0));
    let own = Arc::clone(&starts);
    let shops: Keyed<usize, Shop> = system.keyed(move |_: &usize| Arc::clone(&own));
    let shop = shops.idle(Duration::from_millis(1)).get(0).unwrap();
    let asker = shop.clone();
    let asked = Arc::new(AtomicU64::new(0));
    let answer = Arc::clone(&asked);
    world.spawn(async move {
        let answered = asker.buy().within(LONG).await.unwrap();
        answer.store(answered, Ordering::SeqCst);
    });
    world.run_for(Duration::from_secs(1));
    assert_eq!(starts.load(Ordering::SeqCst), 1, "it has kept its state");
    world.run(async { shop.open().await.unwrap() });
    world.run_for(Duration::from_secs(1));
    assert_eq!(asked.load(Ordering::SeqCst), 1, "by the incarnation that put it aside");
    world.run(async { shop.open().await.unwrap() });
    world.run_for(Duration::from_secs(1));
    assert_eq!(starts.load(Ordering::SeqCst), 2, "it had slept meanwhile");
}

/// Would be restarted for ever, were it not virtual.
#[derive(Actor)]
#[actor(restart = permanent(9 in "1h"))]
struct Permanent;

#[handlers]
impl Permanent {
    #[start]
    fn start() -> Self {
        Self
    }
    #[ask]
    fn incarnation(&self, cx: &mut Context<Self>) -> u32 {
        cx.incarnation()
    }
    #[tell]
    fn rest(&mut self, cx: &mut Context<Self>) {
        cx.stop();
    }
}

// [G-VIRTUAL-2]
#[test]
fn no_restart_policy_keeps_one_awake_that_stops_itself() {
    everywhere(async |system| {
        let actors: Keyed<usize, Permanent> = system.keyed(|_: &usize| ());
        let resting = actors.get(0).unwrap();
        resting.rest().await.unwrap();
        let idle = actors.idle(Duration::from_millis(1)).get(1).unwrap();
        let mut events = system.events();
        assert_eq!(idle.incarnation().await, Ok(0));
        let reason = soon(async {
            loop {
                match events.next().await.unwrap() {
                    Event::Asleep { actor, reason } if actor == idle.id() => break reason,
                    Event::Restarting { .. } => panic!("it was to sleep"),
                    _ => {}
                }
            }
        });
        assert_eq!(reason.await, ExitReason::Stopped);
        assert_eq!(resting.incarnation().await, Ok(1));
    });
}
