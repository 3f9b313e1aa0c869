//! What a world says of those who wait, when nobody can go on or time is over.
#![allow(clippy::unwrap_used, reason = "what goes wrong in a test may panic")]

use super::explore::failure_of;
use greenroom::sim::{Explore, Node, World};
use greenroom::{Actor, Builder, Ref, System, handlers};
use std::time::Duration;
#[cfg(feature = "test-util")]
use std::{cell::Cell, rc::Rc};

/// Answers nobody.
#[derive(Actor)]
struct Mute;

#[handlers]
impl Mute {
    #[ask]
    async fn speak(&mut self) {
        std::future::pending::<()>().await;
    }
}

/// Asks another, for ever.
#[derive(Actor)]
struct Asker(Ref<Mute>);

#[handlers]
impl Asker {
    #[tell]
    async fn go(&mut self) {
        let _ = self.0.speak().within(Duration::MAX).await;
    }
}

#[test]
fn a_world_that_is_late_says_who_waits_for_whose_answer() {
    let text = failure_of(&Explore::new().seeds(1), |world| {
        let node = world.node("late").start();
        let clock = world.clock();
        world.run_within(Duration::from_secs(3), async {
            let mute = node.system().spawn::<Mute>(Mute).await.unwrap();
            let asker = node.system().spawn::<Asker>(Asker(mute)).named("asker").await.unwrap();
            asker.go().await.unwrap();
            clock.sleep(Duration::from_secs(60)).await;
        });
    });
    let line = text.lines().find(|line| line.contains("asker (Asker#2) waits inside its handler"));
    assert!(line.is_some_and(|line| line.ends_with(", for the answer of Mute#1")), "{text}");
}

/// Does nothing.
#[derive(Actor)]
struct Idle;

#[handlers]
impl Idle {}

/// Has no room, and never makes any.
#[derive(Actor)]
#[actor(mailbox = bounded(1))]
struct Stuck;

#[handlers]
impl Stuck {
    #[tell]
    async fn take(&mut self) {
        std::future::pending::<()>().await;
    }
}

/// Tells another, for ever.
#[derive(Actor)]
struct Teller(Ref<Stuck>);

#[handlers]
impl Teller {
    #[tell]
    async fn go(&mut self) {
        while self.0.take().await.is_ok() {}
    }
}

#[test]
fn a_world_that_stands_still_says_who_waits_for_room() {
    let text = failure_of(&Explore::new().seeds(1), |world| {
        let node = world.node("still").start();
        world.run(async {
            let stuck = node.system().spawn::<Stuck>(Stuck).await.unwrap();
            let teller = node.system().spawn::<Teller>(Teller(stuck.clone())).await.unwrap();
            teller.go().await.unwrap();
            while stuck.take().await.is_ok() {}
        });
    });
    let ends = |start: &str, end: &str| {
        let mut lines = text.lines().map(str::trim);
        assert!(lines.any(|line| line.starts_with(start) && line.ends_with(end)), "{text}");
    };
    ends("Teller#2 waits inside its handler of ", ", for room of Stuck#1");
    ends("Stuck#1 waits inside its handler of ", "; 1 others wait for room of it");
}

/// Is overloaded as soon as something waits, and never gets to it.
#[derive(Actor)]
#[actor(mailbox = unbounded(overload = 1))]
struct Burdened;

#[handlers]
impl Burdened {
    #[tell]
    async fn take(&mut self) {
        std::future::pending::<()>().await;
    }
}

#[test]
fn a_world_that_stands_still_says_who_waits_for_the_end_of_an_overload() {
    let text = failure_of(&Explore::new().seeds(1), |world| {
        let node = world.node("still").start();
        world.run(async {
            let burdened = node.system().spawn::<Burdened>(Burdened).await.unwrap();
            while burdened.take().await.is_ok() {}
        });
    });
    assert!(text.contains("; 1 others wait for the end of the overload of it"), "{text}");
}

#[test]
fn a_world_that_stands_still_says_who_waits_for_the_budget() {
    let text = failure_of(&Explore::new().seeds(1), |world| {
        let limit = |builder: Builder| builder.budget_messages(1);
        let node = world.node("still").settings(limit).start();
        world.run(async {
            let stuck = node.system().spawn::<Stuck>(Stuck).await.unwrap();
            stuck.take().await.unwrap();
            let other = node.system().spawn::<Stuck>(Stuck).await.unwrap();
            stuck.take().await.unwrap();
            other.take().await.unwrap();
        });
    });
    assert!(text.contains("1 others wait for a part of the system's budget"), "{text}");
}

#[test]
fn a_world_that_stands_still_says_who_waits() {
    let text = failure_of(&Explore::new().seeds(1), |world| {
        let node = world.node("still").start();
        world.run(async {
            let _idle = node.system().spawn::<Idle>(Idle).named("it").await.unwrap();
            std::future::pending::<()>().await;
        });
    });
    assert!(text.contains("the world stands still"), "{text}");
    assert!(text.contains("node \"still\""), "{text}");
    assert!(text.contains("it (Idle#1) waits for a message"), "{text}");
}

/// Often waits for an answer, and seldom for room, for ever.
async fn wait(system: System, which: usize) {
    match which {
        8.. => {
            let mute = system.spawn::<Mute>(Mute).await.unwrap();
            mute.speak().within(Duration::MAX).await.unwrap();
        }
        4 => {
            let stuck = system.spawn::<Stuck>(Stuck).await.unwrap();
            while stuck.take().await.is_ok() {}
        }
        _ => {}
    }
}

#[test]
fn a_world_that_waits_in_vain_is_not_made_small_to_one_in_which_others_do() {
    type Case = (&'static str, fn(&mut World, &Node, usize));
    let cases: [Case; 3] = [
        ("the world stands still", |world, node, which| world.run(wait(node.system(), which))),
        ("not done in time", |world, node, which| {
            world.run_within(Duration::from_secs(1), wait(node.system(), which));
        }),
        ("too many steps", |world, node, which| {
            // It always has something to do.
            let _storm = world.storm(std::slice::from_ref(node), &[]);
            world.run(wait(node.system(), which));
        }),
    ];
    for (what, case) in cases {
        let text = failure_of(&Explore::new().seeds(50).steps_max(2_000), |world| {
            let which = world.pick(16);
            let node = world.node("still").start();
            case(world, &node, which);
        });
        assert!(text.starts_with(what), "{text}");
        assert!(text.contains("Mute") && !text.contains("Stuck"), "{text}");
    }
}

#[test]
fn a_world_that_stands_still_says_whose_clock_does() {
    let text = failure_of(&Explore::new().seeds(1), |world| {
        let node = world.node("still").start();
        node.freeze_clock();
        world.run(async {
            let mute = node.system().spawn::<Mute>(Mute).await.unwrap();
            let _ = mute.speak().within(Duration::from_secs(1)).await;
        });
    });
    assert!(text.contains("node \"still\", whose clock stands still:\n"), "{text}");
}

#[test]
fn a_world_that_goes_on_in_vain_says_who_waits() {
    // A storm always has something to do.
    let text = failure_of(&Explore::new().seeds(1).steps_max(2_000), |world| {
        let node = world.node("still").start();
        let _storm = world.storm(std::slice::from_ref(&node), &[]);
        world.run(async {
            let mute = node.system().spawn::<Mute>(Mute).await.unwrap();
            let asker = node.system().spawn::<Asker>(Asker(mute)).await.unwrap();
            asker.go().await.unwrap();
            std::future::pending::<()>().await;
        });
    });
    assert!(text.starts_with("too many steps"), "{text}");
    assert!(text.contains(", for the answer of Mute#1"), "{text}");
}

#[test]
fn what_does_not_come_says_who_waits() {
    type Case = fn(&mut World);
    let ends: [Case; 2] = [|world| world.run_for(Duration::from_secs(2)), World::settle];
    for end in ends {
        let text = failure_of(&Explore::new().seeds(1), |world| {
            let node = world.node("still").start();
            node.spawn(std::future::pending());
            world.eventually("rain", Duration::from_secs(1), || false);
            world.run(async {
                let _idle = node.system().spawn::<Idle>(Idle).named("it").await.unwrap();
            });
            end(world);
        });
        assert!(text.contains("eventually \"rain\" did not come"), "{text}");
        assert!(text.contains("it (Idle#1) waits for a message"), "{text}");
        assert!(text.contains(" of node \"still\" waits\n"), "{text}");
    }
}

#[test]
fn a_world_that_waits_without_end_stands_still() {
    let text = failure_of(&Explore::new().seeds(1), |world| {
        world.node("still").start();
        let clock = world.clock();
        world.run(async move { clock.sleep(Duration::MAX).await });
    });
    assert!(text.starts_with("the world stands still after "), "{text}");
    assert!(text.contains("ns, "), "at once: {text}");
}

/// When a world of one idle actor stands still, in which `begin` has begun something.
#[cfg(feature = "test-util")]
fn stalled_at(begin: impl Fn()) -> (String, u64) {
    let looks = Rc::new(Cell::new(0));
    let text = failure_of(&Explore::new().seeds(1), |world| {
        let looked = Rc::clone(&looks);
        looks.set(0);
        world.always("somebody looks", move || {
            looked.set(looked.get() + 1);
            Ok(())
        });
        let node = world.node("still").start();
        world.run(async {
            let _idle = node.system().spawn::<Idle>(Idle).await.unwrap();
            begin();
            std::future::pending::<()>().await;
        });
    });
    let after = text.strip_prefix("the world stands still after ");
    let at = after.and_then(|rest| rest.split(',').next()).unwrap_or_else(|| panic!("{text}"));
    (at.to_owned(), looks.get())
}

#[cfg(feature = "test-util")]
#[test]
fn a_world_that_stands_still_does_so_when_the_last_has_run() {
    let nothing: fn() = || {};
    let waits: fn() = || drop(tokio::spawn(std::future::pending::<()>()));
    for begin in [nothing, waits] {
        let (at, looks) = stalled_at(begin);
        assert!(["ns", "\u{b5}s", "ms"].iter().any(|unit| at.ends_with(unit)), "after {at}");
        assert!(looks < 60, "{looks} looks");
    }
}

#[cfg(feature = "test-util")]
#[test]
fn a_world_that_waits_for_a_far_timer_alone_stands_still_some_day() {
    let (_, looks) = stalled_at(|| drop(tokio::spawn(tokio::time::sleep(Duration::MAX))));
    assert!(looks < 1000, "{looks} looks");
}

#[cfg(feature = "test-util")]
#[test]
fn tasks_of_tokio_that_are_ready_when_a_node_goes_on_run_before_time_does() {
    const SECOND: Duration = Duration::from_secs(1);
    Explore::new().seeds(20).run(|world| {
        let node = world.node("paused").start();
        let clock = world.clock();
        world.spawn(async move { clock.sleep(10 * SECOND).await });
        world.settle();
        world.run(async {
            node.pause();
            node.resume();
            tokio::spawn(async { tokio::task::yield_now().await }).await.unwrap();
        });
        assert!(world.now() < SECOND, "{:?}", world.now());
    });
}

#[cfg(feature = "test-util")]
#[test]
fn a_timer_of_tokio_that_is_far_off_goes_off_in_time() {
    const DAY: Duration = Duration::from_secs(24 * 3600);
    Explore::new().seeds(3).run(|world| {
        for days in [1, 17, 100, 364] {
            let began = world.now();
            world.run(async { tokio::time::sleep(days * DAY).await });
            let between = world.now();
            world.run(async { tokio::spawn(tokio::time::sleep(days * DAY)).await.unwrap() });
            for took in [between - began, world.now() - between] {
                let late = took.checked_sub(days * DAY);
                assert!(late.is_some_and(|late| late < Duration::from_millis(3)), "{took:?}");
            }
        }
    });
}
