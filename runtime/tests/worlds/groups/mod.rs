//! A group and a topic in simulated worlds: singers join, leave, crash and end while others tell all who are in. Who is in
//! at that moment hears it once and in order, unless it has no room or ends first, and nobody else does.
//!
//! `GREENROOM_SEEDS` says how many seeds each scheduler gets.
#![allow(clippy::unwrap_used, reason = "what goes wrong in a test may panic")]

mod choir;
mod others;

use crate::support::{SCHEDULINGS, Scheduling, Violations, scheduled};
use choir::Choir;
use greenroom::sim::{Explore, World};
use others::Other;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;

const SEEDS: u64 = 40;
/// Singers that are dealt with at a time.
const SINGERS: usize = 5;
const MANAGERS: usize = 2;
/// What each manager does.
const DEEDS: usize = 24;
/// Two publish on the topic, and the last one tells the group.
const PUBLISHERS: usize = 3;
/// Of each publisher.
const NOTES: u64 = 12;
const LONG: Duration = Duration::from_secs(60);

fn play(world: &mut World, scheduler: Scheduling) {
    let count = 1 + world.pick(3);
    let node =
        world.node("one").settings(move |builder| scheduled(builder.workers(count), scheduler));
    let system = node.start().system();
    let violations = Violations::default();
    let choir = Arc::new(Choir::new(violations.clone()));
    let own = Arc::clone(&choir);
    world.always("those are in who came, and did not leave or end", move || own.check_members());
    let (is_there, mut all_done) = mpsc::channel::<()>(1);
    let other = Other { system: system.clone(), choir: Arc::clone(&choir), _is_there: is_there };
    let slots = world.run(other.slots());
    other.send_all(world, &slots);
    drop(other);
    let survivors = world.run(async {
        all_done.recv().await;
        system.await_idle(LONG).await.unwrap();
        let survivors = choir.survivors();
        system.drain(LONG).await.unwrap();
        survivors
    });
    violations.assert_none();
    let counts = system.counts();
    let seen = choir.settle(&survivors);
    assert_eq!(seen.missing, counts.dead_stopped + counts.dead_crashed, "{counts:?}");
    world.sometimes("a note finds no room", seen.full > 0);
    world.sometimes("a note is lost with its singer", seen.missing > counts.panics);
    world.sometimes("who left and came again hears both", seen.returns > 0);
    world.sometimes("a member is started again", counts.restarts > 0);
    world.sometimes("somebody is there to the end", !survivors.is_empty());
}

// [G-GROUP-1] [G-GROUP-2] [G-TOPIC-1] [G-DELIVERY-1]
#[test]
fn who_is_in_hears_each_note_once_and_in_order() {
    for scheduler in SCHEDULINGS {
        Explore::new().seeds(SEEDS).allow_panics().run(|world| play(world, scheduler));
    }
}
