//! Actors of high priority come before normal ones, which do not starve.

#![allow(clippy::unwrap_used, reason = "what goes wrong in a test may panic")]

use crate::support::{LONG, SCHEDULERS, everywhere, hold_worker, on};
use greenroom::{Actor, Context, Priority, Ref, System, handlers};
use parking_lot::Mutex;
use std::sync::Arc;

/// The priorities of those who have entered, in order.
type Stage = Arc<Mutex<Vec<Priority>>>;

#[derive(Actor)]
struct Normal {
    priority: Priority,
    stage: Stage,
}

#[handlers]
impl Normal {
    #[tell]
    fn enter(&mut self) {
        self.stage.lock().push(self.priority);
    }
    #[ask]
    fn answer(&self) -> u32 {
        42
    }
}

#[derive(Actor)]
#[actor(priority = high)]
struct High {
    stage: Stage,
}

#[handlers]
impl High {
    #[tell]
    fn enter(&mut self) {
        self.stage.lock().push(Priority::High);
    }
    /// Is ready for ever after.
    #[tell]
    fn again(&mut self, cx: &mut Context<Self>) {
        cx.me().again().try_send().unwrap();
    }
}

async fn normal(system: &System, priority: Priority, stage: &Stage) -> Ref<Normal> {
    let actor = Normal { priority, stage: Arc::clone(stage) };
    system.spawn::<Normal>(actor).priority(priority).await.unwrap()
}

async fn high(system: &System, stage: &Stage) -> Ref<High> {
    system.spawn::<High>(High { stage: Arc::clone(stage) }).await.unwrap()
}

/// Asserts that of each five who entered while both kinds waited, one was normal.
fn assert_high_come_first(entered: &[Priority], each: usize) {
    let is_high = |priority: &Priority| *priority == Priority::High;
    let last_high = entered.iter().rposition(is_high).expect("half of them are high");
    assert_eq!(entered.len(), 2 * each);
    for five in entered[..last_high].windows(5) {
        let normal = five.iter().filter(|priority| !is_high(priority)).count();
        assert_eq!(normal, 1, "{entered:?}");
    }
    assert!(entered[last_high + 1..].len() > each / 2, "most normal ones come last: {entered:?}");
}

// [G-FAIR-1]
#[test]
fn of_five_that_wait_four_high_actors_run_before_a_normal_one() {
    const EACH: usize = 40;
    for scheduler in SCHEDULERS {
        on(1, scheduler(), async |system| {
            let stage = Stage::default();
            let (mut behind, mut before) = (Vec::new(), Vec::new());
            for _ in 0..EACH {
                behind.push(normal(system, Priority::Normal, &stage).await);
                before.push(high(system, &stage).await);
            }
            let held = hold_worker(system).await;
            for actor in &behind {
                actor.enter().try_send().unwrap();
            }
            for actor in &before {
                actor.enter().try_send().unwrap();
            }
            drop(held);
            system.await_idle(LONG).await.unwrap();
            assert_high_come_first(&stage.lock(), EACH);
        });
    }
}

#[test]
fn a_priority_given_at_the_spawn_is_the_one_that_counts() {
    const EACH: usize = 40;
    for scheduler in SCHEDULERS {
        on(1, scheduler(), async |system| {
            let stage = Stage::default();
            let mut actors = Vec::new();
            for priority in [Priority::Normal, Priority::High] {
                for _ in 0..EACH {
                    actors.push(normal(system, priority, &stage).await);
                }
            }
            let held = hold_worker(system).await;
            for actor in &actors {
                actor.enter().try_send().unwrap();
            }
            drop(held);
            system.await_idle(LONG).await.unwrap();
            assert_high_come_first(&stage.lock(), EACH);
        });
    }
}

// [G-FAIR-1]
#[test]
fn high_actors_that_are_always_ready_starve_no_normal_one() {
    everywhere(async |system| {
        let stage = Stage::default();
        let mut eager = Vec::new();
        for _ in 0..12 {
            let actor = high(system, &stage).await;
            actor.again().await.unwrap();
            eager.push(actor);
        }
        let mut others = Vec::new();
        for _ in 0..30 {
            others.push(normal(system, Priority::Normal, &stage).await);
        }
        for other in others {
            assert_eq!(other.answer().within(LONG).await, Ok(42));
        }
        for actor in eager {
            actor.kill();
        }
    });
}
