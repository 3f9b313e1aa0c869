//! The checks of a world that nobody explores: they fail it all the same.
#![allow(clippy::unwrap_used, reason = "what goes wrong in a test may panic")]

use super::blame::failure_of;
use greenroom::sim::World;
use greenroom::{Actor, Message, handlers};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

/// What nobody sends.
#[derive(Message)]
struct Nothing;

const SECOND: Duration = Duration::from_secs(1);

#[test]
fn checks_are_looked_at_when_a_world_is_dropped() {
    let text = failure_of(|world| {
        world.at_end("tidy", || Err("a mess".to_owned()));
        world.run_for(SECOND);
    });
    assert!(text.contains("at the end \"tidy\" is broken"), "{text}");
    let text = failure_of(|world| {
        world.eventually("rain", 2 * SECOND, || false);
        world.run_for(SECOND);
    });
    assert!(text.contains("eventually \"rain\" did not come"), "{text}");
    // Who has looked need not do so again, and one failure is enough.
    let mut world = World::new(1);
    let mut looks = 0;
    world.at_end("once", move || {
        looks += 1;
        if looks == 1 { Ok(()) } else { Err("twice".to_owned()) }
    });
    world.finish();
    drop(world);
    let text = failure_of(|world| {
        world.at_end("tidy", || Err("a mess".to_owned()));
        let what = "else".to_owned();
        panic!("something {what}");
    });
    assert_eq!(text, "something else");
    let mut world = World::new(1);
    world.eventually("rain", SECOND, || false);
    let late = catch_unwind(AssertUnwindSafe(|| world.run_for(2 * SECOND)));
    assert!(late.is_err());
    drop(world);
}

/// Tells when it is dropped.
#[derive(Actor)]
struct Frail(#[expect(dead_code, reason = "it is there to be counted")] Arc<()>);

#[handlers]
impl Frail {}

#[test]
fn a_check_that_panics_as_a_world_is_dropped_leaves_nothing_of_it() {
    let checks: [fn(&mut World); 2] = [
        |world| world.at_end("tidy", || panic!("a mess")),
        |world| world.eventually("rain", SECOND, || panic!("a mess")),
    ];
    for check in checks {
        let mut world = World::new(1);
        let system = world.node("one").start().system();
        let alive = Arc::new(());
        let frail = Frail(Arc::clone(&alive));
        let frail = world.run(async { system.spawn::<Frail>(frail).await.unwrap() });
        check(&mut world);
        let panicked = catch_unwind(AssertUnwindSafe(|| drop(world))).unwrap_err();
        assert_eq!(panicked.downcast_ref(), Some(&"a mess"));
        assert!(frail.is_closed(), "it outlives its world");
        assert_eq!(Arc::strong_count(&alive), 1, "it outlives its world");
    }
}

#[test]
fn what_broke_as_time_passed_fails_the_run_and_not_a_later_one() {
    type Case = fn(&mut World);
    let cases: [Case; 2] = [
        |world| world.run_for(SECOND),
        |world| {
            assert!(!world.allow::<Nothing>().within(SECOND));
        },
    ];
    for case in cases {
        let mut world = World::new(1);
        let clock = world.clock();
        // Nothing happens then.
        world.always("early", move || match clock.now() {
            now if now < SECOND => Ok(()),
            _ => Err("late".to_owned()),
        });
        let text = catch_unwind(AssertUnwindSafe(|| case(&mut world))).unwrap_err();
        let text = *text.downcast::<String>().unwrap();
        assert!(text.contains("always \"early\" is broken"), "{text}");
    }
    let mut world = World::new(1);
    world.always("never", || Err("at once".to_owned()));
    assert!(catch_unwind(AssertUnwindSafe(|| world.settle())).is_err());
}
