//! Panics in the hooks of an actor.

use crate::{fragile, is_contained, panicked, so_far};
use greenroom::{Actor, ActorId, Event, EventStream, ExitReason, SpawnError, handlers};

/// Panics in its hooks: `"start"` or `"stop"`, `later` after an await.
#[derive(Actor)]
struct Hooked {
    wanted: &'static str,
}

#[handlers]
impl Hooked {
    #[start]
    async fn start(wanted: &'static str) -> Self {
        assert_ne!(wanted, "start");
        tokio::task::yield_now().await;
        if wanted == "start later" {
            panic!("start later");
        }
        Self { wanted }
    }
    #[stop]
    async fn end(&mut self) {
        if self.wanted == "stop" {
            panic!("stop");
        }
        tokio::task::yield_now().await;
        if self.wanted == "stop later" {
            panic!("stop later");
        }
    }
}

/// Panics in hooks that have no await.
#[derive(Actor)]
struct HookedAtOnce;

#[handlers]
impl HookedAtOnce {
    #[start]
    fn start(fail: bool) -> Self {
        if fail {
            panic!("start");
        }
        Self
    }
    #[stop]
    fn end(&mut self) {
        panic!("stop");
    }
}

// [G-PANIC-1]
#[test]
fn in_a_start_hook() {
    is_contained(&panicked("start"), async |system| {
        let awaited = system.spawn::<HookedAtOnce>(true).await;
        assert_eq!(awaited, Err(SpawnError::StartFailed("panicked: start".to_owned())));
        let actor = system.spawn::<HookedAtOnce>(true).start().unwrap();
        actor.ended().await;
        actor.id()
    });
}

// [G-PANIC-1]
#[test]
fn in_a_start_hook_after_an_await() {
    is_contained(&panicked("start later"), async |system| {
        let awaited = system.spawn::<Hooked>("start later").await;
        assert_eq!(awaited, Err(SpawnError::StartFailed("panicked: start later".to_owned())));
        let actor = system.spawn::<Hooked>("start later").start().unwrap();
        actor.ended().await;
        actor.id()
    });
}

/// Who panicked so far when it was ending already, and how.
fn late_panics(events: &mut EventStream) -> Vec<(ActorId, String)> {
    let events = so_far(events).into_iter();
    let late = events.filter_map(|event| match event {
        Event::EndPanicked { actor, text } => Some((actor, text)),
        _ => None,
    });
    late.collect()
}

// [G-PANIC-1]
#[test]
fn in_a_stop_hook() {
    is_contained(&ExitReason::Stopped, async |system| {
        let (mut events, panics) = (system.events(), system.counts().panics);
        let actor = system.spawn::<HookedAtOnce>(false).await.unwrap();
        actor.stop();
        actor.ended().await;
        assert_eq!(system.counts().panics - panics, 1);
        assert_eq!(late_panics(&mut events), [(actor.id(), "stop".to_owned())]);
        actor.id()
    });
}

// [G-PANIC-1]
#[test]
fn in_a_stop_hook_that_may_await() {
    for when in ["stop", "stop later"] {
        is_contained(&ExitReason::Stopped, async |system| {
            let (mut events, panics) = (system.events(), system.counts().panics);
            let actor = system.spawn::<Hooked>(when).await.unwrap();
            actor.stop();
            actor.ended().await;
            assert_eq!(system.counts().panics - panics, 1);
            assert_eq!(late_panics(&mut events), [(actor.id(), when.to_owned())]);
            actor.id()
        });
    }
}

// [G-PANIC-1]
#[test]
fn in_a_handler_that_has_asked_for_the_end() {
    is_contained(&ExitReason::Stopped, async |system| {
        let (mut events, panics) = (system.events(), system.counts().panics);
        let actor = fragile(system).await;
        actor.leave_badly().await.unwrap();
        actor.ended().await;
        assert_eq!(system.counts().panics - panics, 1);
        assert_eq!(late_panics(&mut events), [(actor.id(), "left badly".to_owned())]);
        actor.id()
    });
}
