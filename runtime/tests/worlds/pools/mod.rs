//! Pools in simulated worlds, under every routing: clients send while the size changes, workers crash and, in half of the
//! worlds, go home, and all of them are told at once. Each letter has one end; those of one client come to each worker in
//! order; and a key stays with its worker.
//!
//! `GREENROOM_SEEDS` says how many seeds each scheduler gets.
#![allow(clippy::unwrap_used, reason = "what goes wrong in a test may panic")]

mod again;
mod clerk;
mod visitors;

use crate::support::{Ledger, Parcel, SCHEDULINGS, Scheduling, Tally, Violations, scheduled};
use clerk::{Clerk, ClerkMessage, Office};
use greenroom::sim::{Explore, World};
use greenroom::{ActorId, Counts, Group, Pool, Ref, Resize, Routing, Workers};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;
use visitors::Visit;

const SEEDS: u64 = 30;
const CLIENTS: usize = 3;
/// Letters of each client.
const LETTERS: usize = 25;
const KEYS: u64 = 8;
const RESIZES: usize = 8;
/// Workers at most.
const SIZE: usize = 5;
const BROADCASTS: usize = 4;
const LONG: Duration = Duration::from_secs(60);

/// The routings there are.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Way {
    Turns,
    Random,
    Load,
    Key,
}

const WAYS: [Way; 4] = [Way::Turns, Way::Random, Way::Load, Way::Key];

impl Way {
    fn routing(self, seed: u64) -> Routing<Clerk> {
        match self {
            Self::Turns => Routing::round_robin(),
            Self::Random => Routing::random(seed),
            Self::Load => Routing::least_loaded(),
            Self::Key => Routing::consistent_hash(|message: &ClerkMessage| match message {
                ClerkMessage::File { number, .. }
                | ClerkMessage::FileSlowly { number, .. }
                | ClerkMessage::Crash { number, .. }
                | ClerkMessage::GoHome { number, .. } => key(*number),
                ClerkMessage::Hear { .. } | ClerkMessage::Who { .. } => 0,
            }),
        }
    }
}

/// The key of a letter, whoever sends it.
const fn key(number: u64) -> u64 {
    number % KEYS
}

fn play(world: &mut World, scheduler: Scheduling) {
    let count = 1 + world.pick(3);
    let node =
        world.node("one").settings(move |builder| scheduled(builder.workers(count), scheduler));
    let system = node.start().system();
    let (way, is_gentle) = (WAYS[world.pick(4)], world.pick(2) == 0);
    let (size, group) = (1 + world.pick(SIZE), Group::new());
    let violations = Violations::default();
    let office = Arc::new(Office::new(world.clock(), violations.clone()));
    let own = Arc::clone(&office);
    let workers: Workers<Clerk> = Pool::of(size, move || Arc::clone(&own));
    let workers = workers.routing(way.routing(world.pick(100) as u64)).group(&group);
    let pool = world.run(system.spawn::<Pool<Clerk>>(workers).into_future()).unwrap();
    let ledger = Ledger::new(CLIENTS * LETTERS + BROADCASTS * (SIZE + 1));
    let (is_there, mut all_done) = mpsc::channel::<()>(1);
    let visit = Visit { pool: pool.clone(), group, office, ledger, is_gentle, is_there };
    visit.send_all(world, size);
    let Visit { group, office, ledger, is_there, .. } = visit;
    drop(is_there);
    world.run(async {
        all_done.recv().await;
        // What it has accepted it handles all the same.
        pool.drain();
        pool.ended().await;
        system.drain(LONG).await.unwrap();
    });
    violations.assert_none();
    assert!(group.members().is_empty(), "who has ended is in no group");
    let counts = system.counts();
    let tally = settle(&ledger, &office, &counts, is_gentle);
    let moves = if way == Way::Key { office.check_keys() } else { 0 };
    world.sometimes("a key moves", moves > 0);
    world.sometimes("a broadcast meets a full mailbox", office.untold() > 0);
    world.sometimes("a worker crashes", counts.restarts > 0);
    world.sometimes("a worker that goes home takes mail with it", counts.dead_stopped > 0);
    world.sometimes("a pool ends with its last worker", tally.returned > 0);
}

/// Checks that each letter has come to its end, and to a good one where no worker ended before its time.
fn settle(ledger: &Ledger, office: &Office, counts: &Counts, is_gentle: bool) -> Tally {
    let (tally, untold) = (ledger.tally(), office.untold());
    assert_eq!(tally.lost, 0, "{tally:?}, {counts:?}");
    let dropped = tally.dropped + office.unanswered();
    let dead = counts.dead_stopped + counts.dead_crashed;
    assert_eq!(dropped, dead + untold, "{tally:?}, {counts:?}");
    let refused = counts.rejected_full + counts.rejected_closed;
    // A worker that has gone gives a letter back to the pool, which hands it to another, and refuses a question.
    assert!(tally.returned + untold <= refused, "{tally:?}, {counts:?}");
    if is_gentle {
        assert_eq!((tally.returned, counts.dead_stopped), (0, 0), "{counts:?}");
        assert_eq!(counts.dead_crashed, counts.panics, "{counts:?}");
        office.check_broadcasts();
    }
    tally
}

// [G-POOL-1] [G-POOL-2] [G-POOL-3] [G-GROUP-2] [G-DELIVERY-1]
#[test]
fn what_is_sent_to_a_pool_is_handled_once_while_its_size_changes() {
    for scheduler in SCHEDULINGS {
        Explore::new().seeds(SEEDS).allow_panics().run(|world| play(world, scheduler));
    }
}
