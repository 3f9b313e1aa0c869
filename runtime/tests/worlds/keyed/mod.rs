//! Virtual actors in simulated worlds: several clients send to several keys, whose actors fall asleep, crash, start again
//! and, in half of the worlds, are ended from outside. One incarnation of a key is there at a time and has what the one
//! before it left; each client's letters to a key come in order; and each letter has one end.
//!
//! `GREENROOM_SEEDS` says how many seeds each scheduler gets.
#![allow(clippy::unwrap_used, reason = "what goes wrong in a test may panic")]

mod account;
mod client;
mod record;

use crate::support::{Ledger, SCHEDULINGS, Scheduling, Violations, scheduled};
use account::{Account, Store};
use client::{Client, LETTERS};
use greenroom::Keyed;
use greenroom::sim::{Explore, World};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;

const SEEDS: u64 = 40;
const KEYS: usize = 3;
const CLIENTS: usize = 3;
const MS: Duration = Duration::from_millis(1);
/// The silence after which an actor falls asleep.
const IDLE: Duration = Duration::from_millis(2);
const LONG: Duration = Duration::from_secs(60);

fn play(world: &mut World, scheduler: Scheduling) {
    let workers = 1 + world.pick(3);
    let node =
        world.node("one").settings(move |builder| scheduled(builder.workers(workers), scheduler));
    let system = node.start().system();
    let is_gentle = world.pick(2) == 0;
    let violations = Violations::default();
    let fails_at = if is_gentle { 0 } else { world.pick(30) as u64 };
    // In some worlds actors are drained, and end in no other way.
    let only_drains = !is_gentle && fails_at.is_multiple_of(3);
    let fails_at = if only_drains { 0 } else { fails_at };
    let store = Arc::new(Store::new(world.clock(), violations.clone(), is_gentle, fails_at));
    let ledger = Ledger::new(CLIENTS * LETTERS);
    let own = Arc::clone(&store);
    let accounts: Keyed<usize, Account> = system.keyed(move |key: &usize| (*key, Arc::clone(&own)));
    let accounts = accounts.idle(IDLE);
    let mut events = system.events();
    let (is_there, mut all_done) = mpsc::channel::<()>(1);
    for me in 0..CLIENTS {
        let client = Client::new(world, me, only_drains, &accounts, &store, &ledger);
        let is_there = is_there.clone();
        world.spawn(async move {
            client.run().await;
            drop(is_there);
        });
    }
    drop(is_there);
    world.run(async {
        all_done.recv().await;
        system.await_idle(LONG).await.unwrap();
        store.close();
        system.drain(LONG).await.unwrap();
    });
    violations.assert_none();
    assert_eq!(accounts.in_use(), 0, "no key leads to one that has ended");
    let counts = system.counts();
    let tally = ledger.settle(&counts);
    let seen = record::check(&mut events, is_gentle);
    assert_eq!((seen.starts, seen.ends), (store.starts(), counts.ended));
    if is_gentle {
        assert_eq!((tally.returned, tally.dropped), (0, counts.dead_crashed), "{counts:?}");
        assert_eq!((counts.dead_crashed, counts.panics), (store.crashes(), store.crashes()));
    }
    if only_drains {
        assert_eq!(tally.dropped, 0, "what was accepted before the drain is handled: {counts:?}");
    }
    world.sometimes("an actor sleeps for want of letters", is_gentle && store.dozed() > 0);
    world.sometimes("a failure is followed by sleep", seen.sleeps_after_failures > 0);
    world.sometimes("a failure is followed by a restart", seen.restarts > 0);
    world.sometimes("a letter is lost with an end from outside", counts.dead_stopped > 0);
    world.sometimes("a letter comes back", tally.returned > 0);
    world.sometimes("actors drain, and lose nothing", only_drains && tally.returned > 0);
    world.sometimes("a key has more than one actor", seen.actors > KEYS as u64);
}

// [G-VIRTUAL-1] [G-VIRTUAL-2] [G-VIRTUAL-3] [G-DELIVERY-1] [G-ORDER-2] [G-STOP-2]
#[test]
fn a_key_has_one_incarnation_at_a_time_and_loses_nothing() {
    for scheduler in SCHEDULINGS {
        Explore::new().seeds(SEEDS).allow_panics().run(|world| play(world, scheduler));
    }
}
