//! Threads that are none of the world's: what they do there cannot be repeated, so the run ends and says what to use.
#![allow(clippy::unwrap_used, reason = "what goes wrong in a test may panic")]

use crate::explore::failure_of;
use crate::support::{SCHEDULINGS, Scheduling, scheduled};
use greenroom::sim::{Explore, World};
use greenroom::{Actor, Context, Ref, handlers};
use std::thread;
use tokio::sync::oneshot;

#[derive(Actor)]
struct Clerk;

#[handlers]
impl Clerk {
    #[tell]
    fn take(&mut self) {}
    #[ask]
    async fn wait(&mut self, gate: oneshot::Receiver<()>) {
        let _ = gate.await;
    }
    #[ask]
    async fn block(&mut self) {
        tokio::task::spawn_blocking(|| ()).await.unwrap();
    }
    #[ask]
    fn hire(&mut self, cx: &mut Context<Self>) -> Ref<Self> {
        cx.spawn::<Self>(Self).start().unwrap()
    }
    /// Has a thread send to another actor, in the middle of its turn.
    #[ask]
    fn have_sent(&mut self, other: Ref<Self>) {
        let meddler = thread::Builder::new().name("meddler".into());
        let sends = move || drop(other.take().try_send());
        meddler.spawn(sends).unwrap().join().unwrap();
    }
    /// Has a thread of its own that touches nothing of the world, and a step for what blocks.
    #[ask]
    async fn add(&mut self, cx: &mut Context<Self>) -> u32 {
        let one = thread::spawn(|| 1).join().unwrap();
        one + cx.blocking(|| 2).await
    }
}

fn clerk(world: &mut World, scheduling: Scheduling) -> Ref<Clerk> {
    let node = world.node("office").settings(move |builder| scheduled(builder, scheduling));
    let system = node.start().system();
    world.run(system.spawn::<Clerk>(Clerk).into_future()).unwrap()
}

/// Lets another thread do something, and the world go on.
fn elsewhere(world: &mut World, deed: impl FnOnce() + Send + 'static) {
    world.settle();
    thread::Builder::new().name("meddler".into()).spawn(deed).unwrap().join().unwrap();
    world.settle();
}

/// What takes part in a world of a clerk, and must not.
type Case = fn(&mut World, Ref<Clerk>);

const CASES: [Case; 6] = [
    |world, clerk| elsewhere(world, move || clerk.take().try_send().unwrap()),
    |world, clerk| {
        let (open, gate) = oneshot::channel();
        world.spawn(async move { clerk.wait(gate).await.unwrap() });
        elsewhere(world, move || open.send(()).unwrap());
    },
    |world, _| {
        let (open, gate) = oneshot::channel();
        world.spawn(async move { gate.await.unwrap() });
        elsewhere(world, move || open.send(()).unwrap());
    },
    |world, clerk| {
        let idle = world.run(clerk.hire().into_future()).unwrap();
        world.settle();
        world.run(clerk.have_sent(idle).into_future()).unwrap();
    },
    |world, _| {
        let node = world.node("annex").start();
        elsewhere(world, move || node.kill());
    },
    |world, clerk| world.run(clerk.block().into_future()).unwrap(),
];

#[test]
fn another_thread_that_takes_part_ends_the_run() {
    for scheduling in SCHEDULINGS {
        for (number, case) in CASES.into_iter().enumerate() {
            let text = failure_of(&Explore::new().seeds(1), |world| {
                let clerk = clerk(world, scheduling);
                case(world, clerk);
            });
            let who = if number + 1 < CASES.len() {
                "thread \"meddler\""
            } else {
                "tokio::task::spawn_blocking"
            };
            for word in ["another thread takes part", who, "cx.blocking"] {
                assert!(text.contains(word), "case {number}: {text}");
            }
        }
    }
}

#[test]
fn what_blocks_is_a_step_and_a_thread_that_touches_nothing_is_nobodys() {
    Explore::new().seeds(20).twice().run(|world| {
        let clerk = clerk(world, None);
        assert_eq!(world.run(clerk.add().into_future()), Ok(3));
    });
}
