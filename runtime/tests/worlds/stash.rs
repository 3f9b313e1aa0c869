//! The stash in simulated worlds: whoever sends, stashes, unstashes and crashes when, each sender's messages
//! are handled in order, and each has one end.
//!
//! `GREENROOM_SEEDS` says how many seeds each scheduler gets.
#![allow(clippy::unwrap_used, reason = "what goes wrong in a test may panic")]

use crate::support::{Ledger, Parcel, SCHEDULINGS, Scheduling, Violations, scheduled};
use greenroom::sim::{Explore, World};
use greenroom::{Actor, Context, Ref, handlers};
use std::sync::Arc;
use std::time::Duration;

const SENDERS: usize = 3;
const LETTERS: u64 = 12;

/// The next number from each sender, across incarnations.
type Due = Arc<parking_lot::Mutex<[u64; SENDERS]>>;

/// Takes letters while it is open.
#[derive(Actor)]
#[actor(stash = 100, restart = transient(1000 in "1h"))]
struct Office {
    is_open: bool,
    due: Due,
    violations: Violations,
}

#[handlers]
impl Office {
    #[start]
    fn start(due: Due, violations: Violations) -> Self {
        Self { is_open: false, due, violations }
    }
    #[tell]
    #[stash(while = !self.is_open)]
    async fn take(&mut self, from: usize, number: u64, parcel: Parcel, cx: &mut Context<Self>) {
        self.check_order(from, number);
        if number % 3 == 1 {
            tokio::task::yield_now().await;
        }
        parcel.handled();
        // Some letters are too much for a day.
        self.is_open = number % 5 != 4;
        if number % 4 == 3 {
            cx.unstash();
        }
    }
    #[tell]
    fn open(&mut self, cx: &mut Context<Self>) {
        self.is_open = true;
        cx.unstash();
    }
    #[tell]
    fn crash(&mut self, parcel: Parcel) {
        panic!("as told, with {parcel:?}");
    }
    fn check_order(&self, from: usize, number: u64) {
        let due = std::mem::replace(&mut self.due.lock()[from], number + 1);
        let wrong = format_args!("each sender's letters in order: {number} where {due} was due");
        self.violations.check(number == due, wrong);
    }
}

/// Sends its letters.
#[derive(Actor)]
struct Sender;

#[handlers]
impl Sender {
    #[tell]
    async fn send(&mut self, me: usize, office: Ref<Office>, parcels: Vec<Parcel>) {
        for (number, parcel) in (0..).zip(parcels) {
            office.take(me, number, parcel).await.unwrap();
            tokio::task::yield_now().await;
        }
    }
}

fn play(world: &mut World, scheduler: Scheduling) {
    let workers = 1 + world.pick(3);
    let node =
        world.node("one").settings(move |builder| scheduled(builder.workers(workers), scheduler));
    let system = node.start().system();
    let ledger = Ledger::new(1000);
    let picks: Vec<_> = (0..10).map(|_| world.pick(3)).collect();
    let (due, violations) = (Due::default(), Violations::default());
    world.run(async {
        let office = system.spawn::<Office>((Due::clone(&due), violations.clone())).await.unwrap();
        for me in 0..SENDERS {
            let sender = system.spawn::<Sender>(Sender).await.unwrap();
            let parcels = (0..LETTERS).map(|_| ledger.issue()).collect();
            sender.send(me, office.clone(), parcels).await.unwrap();
        }
        for pick in picks {
            match pick {
                0 => office.crash(ledger.issue()).await.unwrap(),
                _ => office.open().await.unwrap(),
            }
            tokio::task::yield_now().await;
        }
        while due.lock().iter().sum::<u64>() < LETTERS * SENDERS as u64 {
            office.open().await.unwrap();
            tokio::task::yield_now().await;
        }
        system.drain(Duration::from_secs(60)).await.unwrap();
    });
    violations.assert_none();
    let counts = system.counts();
    let tally = ledger.settle(&counts);
    assert_eq!((tally.handled, tally.dropped), (LETTERS * SENDERS as u64, counts.dead_crashed));
    world.sometimes("a crash meets a stash", counts.restarts > 0);
}

// [G-STASH-1] [G-STASH-4] [G-ORDER-2]
#[test]
fn each_senders_messages_stay_in_order() {
    for scheduler in SCHEDULINGS {
        Explore::new().seeds(20).allow_panics().run(|world| play(world, scheduler));
    }
}
