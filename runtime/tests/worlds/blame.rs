//! A world says which actor has panicked.

use greenroom::sim::World;
use greenroom::{Actor, Keyed, handlers};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

/// Comes and goes.
#[derive(Actor)]
struct Guest;

#[handlers]
impl Guest {
    #[start]
    fn start() -> Self {
        Self
    }
    #[ask]
    fn greet(&self) {}
    #[tell]
    fn trip(&mut self) {
        panic!("tripped");
    }
}

/// What the world panics with.
pub(super) fn failure_of(scenario: impl FnOnce(&mut World)) -> String {
    let failed = catch_unwind(AssertUnwindSafe(|| scenario(&mut World::new(1))));
    *failed.expect_err("the world fails").downcast::<String>().expect("it fails with a text")
}

#[test]
fn who_has_panicked_is_blamed_and_not_who_ended_before() {
    let text = failure_of(|world| {
        let node = world.node("inn").start();
        world.run(async {
            let first = node.system().spawn::<Guest>(()).await.expect("it starts");
            first.stop();
            first.ended().await;
            let second = node.system().spawn::<Guest>(()).await.expect("it starts");
            second.trip().await.expect("it lives");
            second.ended().await;
        });
    });
    assert!(text.ends_with("panicked: tripped"), "{text}");
}

#[test]
fn a_virtual_actor_that_has_panicked_is_blamed() {
    let text = failure_of(|world| {
        let node = world.node("inn").start();
        let guests: Keyed<u64, Guest> = node.system().keyed(|_: &u64| ());
        world.run(async {
            let guest = guests.get(7).expect("the system is up");
            guest.greet().await.expect("it starts");
            guest.trip().await.expect("it lives");
        });
        world.settle();
    });
    assert!(text.ends_with("panicked: tripped"), "{text}");
}

/// Leaves badly.
#[derive(Actor)]
struct Rude;

#[handlers]
impl Rude {
    #[start]
    fn start() -> Self {
        Self
    }
    #[stop]
    fn stop(&mut self) {
        panic!("slammed the door");
    }
}

#[test]
fn a_stop_hook_that_panics_fails_the_world_though_its_node_is_down_since() {
    let text = failure_of(|world| {
        let node = world.node("inn").start();
        let _guest = world.run(async { node.system().spawn::<Rude>(()).await.expect("it starts") });
        node.stop(Duration::from_secs(1));
        world.run_for(Duration::from_secs(3));
    });
    assert!(text.contains("an actor panicked") && text.contains("inn: Rude#"), "{text}");
    assert!(text.ends_with("panicked: slammed the door"), "{text}");
}
