//! Actors that share their fate.

use crate::support::{LONG, SCHEDULERS, everywhere, exit_of, on, poll_once, soon, until};
use greenroom::sim::World;
use greenroom::{Actor, Context, Down, ExitReason, Ref, System, handlers};
use parking_lot::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::Duration;
use tokio::sync::mpsc;

/// Links itself as it is told to.
#[derive(Actor)]
struct Node {
    trapped: mpsc::UnboundedSender<Down>,
}

#[handlers]
impl Node {
    #[start]
    fn start(trapped: mpsc::UnboundedSender<Down>) -> Self {
        Self { trapped }
    }
    #[ask]
    fn link(&mut self, other: Ref<Self>, cx: &mut Context<Self>) {
        cx.link(&other);
    }
    /// Links itself at the same time as others that meet there do.
    #[ask]
    fn link_at(&mut self, other: Ref<Self>, meet: Arc<Barrier>, cx: &mut Context<Self>) {
        meet.wait();
        cx.link(&other);
        meet.wait();
    }
    #[tell]
    fn keep(&mut self, _load: Load) {}
    /// Takes no mail meanwhile.
    #[tell]
    async fn wait(&mut self) {
        std::future::pending::<()>().await;
    }
    #[ask]
    fn unlink(&mut self, other: Ref<Self>, cx: &mut Context<Self>) {
        cx.unlink(&other);
    }
    #[ask]
    fn trap(&mut self, cx: &mut Context<Self>) {
        cx.trap(Self::trapped);
    }
    #[ask]
    fn link_to_own_child(&mut self, cx: &mut Context<Self>) -> Ref<Self> {
        let child = cx.spawn::<Self>(self.trapped.clone()).start().expect("it lives");
        cx.link(&child);
        child
    }
    #[ask]
    fn is_there(&self) -> bool {
        true
    }
    #[tell]
    fn panic(&mut self) {
        panic!("as told")
    }
    #[down]
    fn trapped(&mut self, down: Down) {
        let _ = self.trapped.send(down);
    }
}

type Trapped = Arc<Mutex<mpsc::UnboundedReceiver<Down>>>;

/// For how long a load is dropped: others have their turn so often meanwhile.
const YIELDS: usize = if cfg!(sanitized) { 100 } else { 2_000 };

/// Takes a while to drop, and notes if somebody is told of an end meanwhile.
struct Load {
    trapped: Trapped,
    is_early: Arc<AtomicBool>,
}

impl Drop for Load {
    fn drop(&mut self) {
        for _ in 0..YIELDS {
            thread::yield_now();
        }
        self.is_early.store(!self.trapped.lock().is_empty(), Ordering::SeqCst);
    }
}

/// Waits for an hour before its only restart.
#[derive(Actor)]
#[actor(restart = transient(1 in "2h", backoff = "1h..1h"))]
struct Slow;

#[handlers]
impl Slow {
    #[start]
    fn start() -> Self {
        Self
    }
    #[tell]
    fn fall(&mut self, cx: &mut Context<Self>) {
        cx.fail("as told");
    }
}

/// Links itself to it.
#[derive(Actor)]
struct Mate;

#[handlers]
impl Mate {
    #[ask]
    fn link(&mut self, other: Ref<Slow>, cx: &mut Context<Self>) {
        cx.link(&other);
    }
}

// [G-LINK-1] [G-RESTART-4]
#[test]
fn a_link_fails_nobody_between_two_incarnations() {
    let mut world = World::new(1);
    let node = world.node("home").start();
    let system = node.system();
    let slow = world.run(system.spawn::<Slow>(()).into_future()).unwrap();
    world.run(async { slow.fall().await.unwrap() });
    world.run_for(Duration::from_secs(1));
    let mate = world.run(system.spawn::<Mate>(Mate).into_future()).unwrap();
    world.run(async { mate.link(slow.clone()).await.unwrap() });
    assert!(mate.kill());
    world.run_for(Duration::from_secs(1));
    assert!(!slow.is_closed(), "its one restart is still to come");
}

struct Pair {
    one: Ref<Node>,
    other: Ref<Node>,
    trapped: mpsc::UnboundedReceiver<Down>,
}

async fn pair(system: &System) -> Pair {
    let (sender, trapped) = mpsc::unbounded_channel();
    // On one worker: from one to another word of a link may come after what others send.
    let one = system.spawn::<Node>(sender.clone()).on(0).await.expect("it starts");
    let other = system.spawn::<Node>(sender).on(0).await.expect("it starts");
    one.link(other.clone()).await.expect("it lives");
    Pair { one, other, trapped }
}

fn panicked() -> ExitReason {
    ExitReason::Panicked("as told".to_owned())
}

fn linked(to: &Ref<Node>, reason: ExitReason) -> ExitReason {
    ExitReason::Linked { actor: to.id(), reason: Box::new(reason) }
}

// [G-LINK-1]
#[test]
fn both_fail_whichever_made_the_link() {
    everywhere(async |system| {
        for first in [true, false] {
            for (end, reason) in [
                ((|it| it.panic().try_send().unwrap()) as fn(&Ref<Node>), panicked()),
                (|it| assert!(it.kill()), ExitReason::Killed),
            ] {
                let mut events = system.events();
                let Pair { one, other, .. } = pair(system).await;
                let (victim, mate) = if first { (one, other) } else { (other, one) };
                end(&victim);
                assert_eq!(exit_of(&mate, &mut events).await, linked(&victim, reason));
            }
        }
    });
}

// [G-LINK-1]
#[test]
fn a_fate_is_shared_along_a_chain() {
    everywhere(async |system| {
        let mut events = system.events();
        let Pair { one, other, trapped: _trapped } = pair(system).await;
        let (sender, _more) = mpsc::unbounded_channel();
        let last = system.spawn::<Node>(sender).on(0).await.unwrap();
        last.link(other.clone()).await.unwrap();
        one.panic().await.unwrap();
        let expected = linked(&other, linked(&one, panicked()));
        assert_eq!(exit_of(&last, &mut events).await, expected);
    });
}

// [G-LINK-2]
#[test]
fn an_end_that_is_normal_only_ends_the_link() {
    everywhere(async |system| {
        for end in [Ref::stop as fn(&Ref<Node>) -> bool, Ref::drain] {
            let Pair { one, other, mut trapped } = pair(system).await;
            end(&one);
            soon(one.ended()).await;
            assert_eq!(other.is_there().within(LONG).await, Ok(true));
            other.stop();
            soon(other.ended()).await;
            assert!(trapped.try_recv().is_err());
        }
    });
}

// [G-LINK-2]
#[test]
fn whoever_traps_is_told_once_instead() {
    everywhere(async |system| {
        for (end, reason) in [
            ((|it| it.panic().try_send().unwrap()) as fn(&Ref<Node>), panicked()),
            (|it| assert!(it.stop()), ExitReason::Stopped),
            (|it| assert!(it.kill()), ExitReason::Killed),
        ] {
            let Pair { one, other, mut trapped } = pair(system).await;
            other.trap().await.unwrap();
            end(&one);
            let down = soon(trapped.recv()).await.unwrap();
            assert_eq!((down.actor, down.reason), (one.id(), reason));
            assert_eq!(other.is_there().within(LONG).await, Ok(true));
            other.drain();
            soon(other.ended()).await;
            assert!(trapped.try_recv().is_err(), "once");
        }
    });
}

/// One that traps, and another one, on workers of their own where actors live on one.
async fn apart(system: &System, trapped: mpsc::UnboundedSender<Down>) -> [Ref<Node>; 2] {
    let one = system.spawn::<Node>(trapped.clone()).on(0).await.expect("it starts");
    let other = system.spawn::<Node>(trapped).on(1).await.expect("it starts");
    one.trap().await.expect("it lives");
    [one, other]
}

// [G-LINK-2]
#[test]
fn whoever_traps_is_told_once_where_both_made_the_link() {
    for scheduler in SCHEDULERS {
        on(2, scheduler(), async |system| {
            let (sender, mut trapped) = mpsc::unbounded_channel();
            let [one, other] = apart(system, sender).await;
            let meet = Arc::new(Barrier::new(2));
            let mut first =
                one.link_at(other.clone(), Arc::clone(&meet)).within(LONG).into_future();
            assert!(poll_once(&mut first).is_pending());
            soon(other.link_at(one.clone(), meet).within(LONG).into_future())
                .await
                .expect("it lives");
            soon(first).await.expect("it lives");
            other.panic().await.expect("it lives");
            assert_eq!(soon(trapped.recv()).await.map(|down| down.actor), Some(other.id()));
            soon(other.ended()).await;
            one.drain();
            soon(one.ended()).await;
            assert!(trapped.try_recv().is_err(), "it was told twice");
        });
    }
}

// [G-LINK-2] [G-WATCH-1]
#[test]
fn whoever_traps_is_told_when_the_end_is_over() {
    for scheduler in SCHEDULERS {
        on(2, scheduler(), async |system| {
            let (sender, trapped) = mpsc::unbounded_channel();
            let trapped: Trapped = Arc::new(Mutex::new(trapped));
            let [one, other] = apart(system, sender).await;
            one.link(other.clone()).await.expect("it lives");
            other.wait().await.expect("it lives");
            let is_early = Arc::new(AtomicBool::new(false));
            let load = Load { trapped: Arc::clone(&trapped), is_early: Arc::clone(&is_early) };
            other.keep(load).await.expect("it lives");
            other.kill();
            until(|| !trapped.lock().is_empty()).await;
            assert!(!is_early.load(Ordering::SeqCst), "its mail was not dropped yet");
            assert!(!other.stop(), "every order is refused by now");
        });
    }
}

// [G-LINK-2]
#[test]
fn either_end_unlinks() {
    everywhere(async |system| {
        for first in [true, false] {
            let Pair { one, other, trapped: _trapped } = pair(system).await;
            let (victim, mate) = if first { (one, other) } else { (other, one) };
            mate.unlink(victim.clone()).await.unwrap();
            victim.panic().await.unwrap();
            soon(victim.ended()).await;
            assert_eq!(mate.is_there().within(LONG).await, Ok(true));
        }
    });
}

// [G-LINK-1]
#[test]
fn whoever_links_to_the_dead_fails() {
    everywhere(async |system| {
        let mut events = system.events();
        let Pair { one, other, trapped: _trapped } = pair(system).await;
        let (sender, _more) = mpsc::unbounded_channel();
        let dead = system.spawn::<Node>(sender).await.unwrap();
        dead.stop();
        soon(dead.ended()).await;
        one.link(dead.clone()).await.unwrap();
        let chain = linked(&one, linked(&dead, ExitReason::NoActor));
        assert_eq!(exit_of(&other, &mut events).await, chain);
        soon(one.ended()).await;
    });
}

// [G-LINK-1]
#[test]
fn links_that_meet_the_end_have_one_outcome() {
    everywhere(async |system| {
        let (sender, mut trapped) = mpsc::unbounded_channel();
        let hub = system.spawn::<Node>(sender.clone()).await.unwrap();
        hub.trap().await.unwrap();
        for _ in 0..100 {
            let brief = system.spawn::<Node>(sender.clone()).await.unwrap();
            brief.kill();
            hub.link(brief.clone()).await.unwrap();
            let down = soon(trapped.recv()).await.unwrap();
            assert_eq!(down.actor, brief.id());
            assert!(matches!(down.reason, ExitReason::Killed | ExitReason::NoActor));
        }
        hub.drain();
        soon(hub.ended()).await;
        assert!(trapped.try_recv().is_err());
    });
}

#[test]
fn a_link_to_oneself_or_twice_changes_nothing() {
    everywhere(async |system| {
        let Pair { one, other, mut trapped } = pair(system).await;
        one.link(one.clone()).await.unwrap();
        one.link(other.clone()).await.unwrap();
        other.link(one.clone()).await.unwrap();
        other.trap().await.unwrap();
        one.panic().await.unwrap();
        soon(trapped.recv()).await.unwrap();
        other.drain();
        soon(other.ended()).await;
        assert!(trapped.try_recv().is_err());
        soon(one.ended()).await;
        assert_eq!(system.counts().ended, 2);
    });
}

// [G-LINK-1]
#[test]
fn a_parent_may_share_its_childs_fate() {
    everywhere(async |system| {
        let mut events = system.events();
        let (sender, _trapped) = mpsc::unbounded_channel();
        let parent = system.spawn::<Node>(sender).await.unwrap();
        let child = parent.link_to_own_child().await.unwrap();
        child.panic().await.unwrap();
        assert_eq!(exit_of(&parent, &mut events).await, linked(&child, panicked()));
    });
}

/// Comes back after failures.
#[derive(Actor)]
#[actor(restart = transient(9 in "1h"))]
struct Tough;

#[handlers]
impl Tough {
    #[start]
    fn start() -> Self {
        Self
    }
    #[tell]
    fn panic(&mut self) {
        panic!("as told")
    }
    #[ask]
    fn link(&mut self, other: Ref<Self>, cx: &mut Context<Self>) {
        cx.link(&other);
    }
    #[ask]
    fn incarnation(&self, cx: &mut Context<Self>) -> u32 {
        cx.incarnation()
    }
}

// [G-LINK-1] [G-LINK-2]
#[test]
fn a_link_ends_with_the_incarnation() {
    everywhere(async |system| {
        let one = system.spawn::<Tough>(()).on(0).await.unwrap();
        let other = system.spawn::<Tough>(()).on(0).await.unwrap();
        one.link(other.clone()).await.unwrap();
        other.panic().await.unwrap();
        let incarnation = async |it: &Ref<Tough>| it.incarnation().within(LONG).await.unwrap();
        crate::support::until_async(async || incarnation(&one).await == 1).await;
        assert_eq!(incarnation(&other).await, 1);
        // Both are new, and have nothing to do with one another.
        other.panic().await.unwrap();
        assert_eq!(incarnation(&other).await, 2);
        assert_eq!(incarnation(&one).await, 1);
    });
}
