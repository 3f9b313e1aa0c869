//! Names in simulated worlds: many want the actors of a few names at once, while these crash and, in half of the worlds, end
//! or cannot start. A name has one actor at a time, from its spawn to its end; who finds or spawns it gets the one there is;
//! and of those who come at once one starts it.
//!
//! `GREENROOM_SEEDS` says how many seeds each scheduler gets.
#![allow(clippy::unwrap_used, reason = "what goes wrong in a test may panic")]

mod holder;
mod seeker;

use crate::support::{SCHEDULINGS, Scheduling, Violations, scheduled};
use greenroom::sim::{Explore, World};
use greenroom::{FindError, System};
use holder::{Holder, Office};
use seeker::Seeker;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;

const SEEDS: u64 = 40;
const NAMES: [&str; 2] = ["oak", "elm"];
const SEEKERS: usize = 4;
/// What each of them does.
const DEEDS: usize = 20;
const LONG: Duration = Duration::from_secs(60);

/// A name that an incarnation has leads to it.
fn check_names(system: &System, office: &Office) -> Result<(), String> {
    for (name, text) in NAMES.iter().enumerate() {
        let found = system.find::<Holder>(text).map(|holder| holder.id());
        if let Some(there) = office.there(name)
            && found != Ok(there)
        {
            return Err(format!("{text} leads to {found:?}, and {there:?} is there"));
        }
    }
    Ok(())
}

fn play(world: &mut World, scheduler: Scheduling) {
    let count = 1 + world.pick(3);
    let node =
        world.node("one").settings(move |builder| scheduled(builder.workers(count), scheduler));
    let system = node.start().system();
    let (is_gentle, violations) = (world.pick(2) == 0, Violations::default());
    let office = Arc::new(Office::new(violations.clone()));
    let (own, looked_at) = (Arc::clone(&office), system.clone());
    world.always("a name leads to who has it", move || check_names(&looked_at, &own));
    let (is_there, mut all_done) = mpsc::channel::<()>(1);
    for _ in 0..SEEKERS {
        let seeker = Seeker { system: system.clone(), office: Arc::clone(&office), is_gentle };
        let deeds = (0..DEEDS).map(|_| seeker::draw(world)).collect();
        let is_there = is_there.clone();
        world.spawn(async move {
            seeker.seek(deeds).await;
            drop(is_there);
        });
    }
    drop(is_there);
    world.run(async {
        all_done.recv().await;
        system.await_idle(LONG).await.unwrap();
        system.drain(LONG).await.unwrap();
    });
    violations.assert_none();
    for name in NAMES {
        let found = system.find::<Holder>(name);
        assert_eq!(found, Err(FindError::NoSuchName(name.to_owned())));
    }
    let seen = office.settle();
    assert!(seen.actors <= NAMES.len() || !is_gentle, "nobody ends, so nobody comes after");
    world.sometimes("one is found that has not started", seen.early > 0);
    world.sometimes("a name has one actor after the other", seen.actors > 2 * NAMES.len());
    world.sometimes("some wait for the end of one", seen.waits > 0);
    world.sometimes("a start fails", seen.failures > 0);
    world.sometimes("one with a name is started again", system.counts().restarts > 0);
}

// [G-NAME-1] [G-NAME-2] [G-RESTART-3]
#[test]
fn a_name_has_one_actor_at_a_time_and_all_get_that_one() {
    for scheduler in SCHEDULINGS {
        Explore::new().seeds(SEEDS).allow_panics().run(|world| play(world, scheduler));
    }
}
