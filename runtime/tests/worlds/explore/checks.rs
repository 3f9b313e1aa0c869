//! What a test says must hold, and what it says at the end.

use super::{Box_, failure_of};
use greenroom::sim::{Explore, World};
use greenroom::{Actor, Context, handlers};
use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

/// Goes on for ever.
#[derive(Actor)]
struct Restless;

#[handlers]
impl Restless {
    #[tell]
    fn go_on(&mut self, cx: &mut Context<Self>) {
        let _ = cx.me().go_on().tell();
    }
}

#[test]
fn a_world_that_never_ends_is_ended() {
    let text = failure_of(&Explore::new().seeds(1).steps_max(1_000), |world| {
        let system = world.node("treadmill").start().system();
        world.run(async {
            system.spawn::<Restless>(Restless).await.unwrap().go_on().await.unwrap();
        });
        world.settle();
    });
    assert!(text.contains("too many steps"), "{text}");
    assert!(text.contains("more than 1000; `Explore::steps_max` allows more"), "{text}");
}

#[test]
fn a_mark_that_no_world_passes_fails_the_test() {
    let text = failure_of(&Explore::new().seeds(3), |world| world.sometimes("never", false));
    assert!(text.contains("never"), "{text}");
    let seldom = |world: &mut World| {
        let hit = world.pick(4) == 3;
        world.sometimes("seldom", hit);
    };
    assert_eq!(Explore::new().seeds(50).run(seldom).worlds, 50);
}

#[test]
fn checks_name_themselves() {
    type Case = (&'static str, fn(&mut World));
    let cases: [Case; 4] = [
        ("always \"small\" is broken", |world| {
            let mut steps = 0;
            world.always("small", move || {
                steps += 1;
                if steps < 5 { Ok(()) } else { Err("too large".to_owned()) }
            });
        }),
        ("at the end \"tidy\" is broken", |world| {
            world.at_end("tidy", || Err("a mess".to_owned()));
        }),
        ("eventually \"rain\" did not come", |world| {
            world.eventually("rain", Duration::from_millis(2), || false);
        }),
        ("too bad", |world| world.fail_with("too bad", "indeed")),
    ];
    for (name, case) in cases {
        let text = failure_of(&Explore::new().seeds(1), |world| {
            let node = world.node("one").start();
            let clock = world.clock();
            case(world);
            world.run(async {
                let _ticket = node.system().spawn::<Box_>(Box_ { left: 1 }).await.unwrap();
                clock.sleep(Duration::from_millis(1)).await;
            });
            world.run_for(Duration::from_millis(10));
        });
        assert!(text.contains(name), "{name}: {text}");
    }
}

#[test]
fn what_comes_in_time_is_well() {
    let mut world = World::new(3);
    let clock = world.clock();
    world.eventually("late", Duration::from_secs(5), move || clock.now() > Duration::from_secs(4));
    world.run_for(Duration::from_secs(2));
    let clock = world.clock();
    world.run(async { clock.sleep(Duration::from_secs(4)).await });
    world.finish();
}

#[test]
fn what_comes_too_late_is_not_well() {
    type Case = fn(&mut World);
    let cases: [Case; 4] = [
        |world| world.run_for(Duration::from_secs(10)),
        |world| {
            let clock = world.clock();
            world.run(async { clock.sleep(Duration::from_secs(10)).await });
        },
        // Nobody looks between the due time and the end.
        |world| world.run_for(Duration::from_secs(2)),
        World::settle,
    ];
    for case in cases {
        let text = failure_of(&Explore::new().seeds(3), |world| {
            let (clock, flag) = (world.clock(), Rc::new(Cell::new(false)));
            let raised = Rc::clone(&flag);
            world.spawn(async move {
                clock.sleep(Duration::from_secs(5)).await;
                flag.set(true);
            });
            world.eventually("flag", Duration::from_secs(1), move || raised.get());
            case(world);
            world.finish();
        });
        assert!(text.contains("eventually \"flag\" did not come"), "{text}");
    }
}

#[test]
fn what_comes_by_itself_in_time_is_seen_after_a_long_pause() {
    let mut world = World::new(3);
    let clock = world.clock();
    // True for half a second, in which nobody runs.
    let is_time = move || (4_500..5_001).contains(&clock.now().as_millis());
    world.eventually("late", Duration::from_secs(5), is_time);
    world.run_for(Duration::from_secs(60));
    world.finish();
}

#[test]
fn what_comes_between_two_runs_is_in_time() {
    let mut world = World::new(3);
    let flag = Rc::new(Cell::new(false));
    let raised = Rc::clone(&flag);
    // The first step takes longer than that.
    world.eventually("flag", Duration::from_nanos(1), move || raised.get());
    flag.set(true);
    world.run(tokio::task::yield_now());
    world.finish();
}
