//! Interleaved handlers in simulated worlds: they begin in each sender's order, one thing at a time has the
//! state, no more wait than may, and every message has one end.
//!
//! `GREENROOM_SEEDS` says how many seeds each scheduler gets.
#![allow(clippy::unwrap_used, reason = "what goes wrong in a test may panic")]

use crate::support::{Ledger, Parcel, SCHEDULINGS, Scheduling, Violations, scheduled};
use greenroom::sim::{Explore, World};
use greenroom::{Actor, Context, Interleaved, Ref, handlers};
use std::sync::Arc;
use std::time::Duration;

const SENDERS: usize = 3;
const LETTERS: u64 = 8;
const IN_FLIGHT: usize = 4;

/// What came from each sender last, across incarnations.
type Due = Arc<parking_lot::Mutex<[u64; SENDERS]>>;

/// Whom the desk waits for.
#[derive(Actor)]
struct Clerk;

#[handlers]
impl Clerk {
    #[ask]
    fn stamp(&self) {}
}

/// Passes letters on slowly, many at a time.
#[derive(Actor)]
#[actor(interleave = IN_FLIGHT, restart = transient(1000 in "1h"))]
struct Desk {
    due: Due,
    violations: Violations,
    clerk: Ref<Clerk>,
    in_flight: usize,
    is_held: bool,
}

#[handlers]
impl Desk {
    #[start]
    fn start(due: Due, violations: Violations, clerk: Ref<Clerk>) -> Self {
        Self { due, violations, clerk, in_flight: 0, is_held: false }
    }
    #[tell]
    #[interleave]
    async fn pass(cx: &mut Interleaved<Self>, from: usize, number: u64, parcel: Parcel) {
        let clerk = cx.with(|me, _| {
            me.check_alone();
            let due = std::mem::replace(&mut me.due.lock()[from], number);
            let wrong = format_args!("each sender's letters begin in order: {number} after {due}");
            me.violations.check(number > due, wrong);
            me.in_flight += 1;
            me.violations.check(me.in_flight <= IN_FLIGHT, "no more wait than may");
            me.clerk.clone()
        });
        for _ in 0..number % 4 {
            clerk.stamp().await.unwrap();
            cx.with(|me, _| me.check_alone());
        }
        cx.with(|me, _| me.in_flight -= 1);
        parcel.handled();
    }
    #[tell]
    async fn hold(&mut self, parcel: Parcel) {
        self.is_held = true;
        tokio::task::yield_now().await;
        self.is_held = false;
        parcel.handled();
    }
    #[tell]
    fn crash(&mut self, parcel: Parcel) {
        panic!("as told, with {parcel:?}");
    }
    #[tell]
    fn fail(&mut self, parcel: Parcel, cx: &mut Context<Self>) {
        parcel.handled();
        cx.fail("as told");
    }
    fn check_alone(&self) {
        self.violations.check(!self.is_held, "one thing at a time has the state");
    }
}

/// Sends its letters.
#[derive(Actor)]
struct Sender;

#[handlers]
impl Sender {
    #[tell]
    async fn send(&mut self, me: usize, desk: Ref<Desk>, parcels: Vec<Parcel>) {
        for (number, parcel) in (1..).zip(parcels) {
            desk.pass(me, number, parcel).await.unwrap();
        }
    }
}

fn play(world: &mut World, scheduler: Scheduling) {
    let workers = 1 + world.pick(3);
    let node =
        world.node("one").settings(move |builder| scheduled(builder.workers(workers), scheduler));
    let system = node.start().system();
    let ledger = Ledger::new(1000);
    let picks: Vec<_> = (0..10).map(|_| world.pick(5)).collect();
    let (due, violations) = (Due::default(), Violations::default());
    world.run(async {
        let clerk = system.spawn::<Clerk>(Clerk).await.unwrap();
        let desk =
            system.spawn::<Desk>((Arc::clone(&due), violations.clone(), clerk)).await.unwrap();
        let mut senders = Vec::new();
        for me in 0..SENDERS {
            let sender = system.spawn::<Sender>(Sender).await.unwrap();
            let parcels = (0..LETTERS).map(|_| ledger.issue()).collect();
            sender.send(me, desk.clone(), parcels).await.unwrap();
            senders.push(sender);
        }
        for pick in picks {
            match pick {
                0 => desk.crash(ledger.issue()).await.unwrap(),
                1 => desk.fail(ledger.issue()).await.unwrap(),
                _ => desk.hold(ledger.issue()).await.unwrap(),
            }
            tokio::task::yield_now().await;
        }
        // Only when they have sent everything.
        for sender in senders {
            sender.drain();
            sender.ended().await;
        }
        desk.drain();
        desk.ended().await;
        system.drain(Duration::from_secs(60)).await.unwrap();
    });
    violations.assert_none();
    let counts = system.counts();
    let tally = ledger.settle(&counts);
    assert_eq!(*due.lock(), [LETTERS; SENDERS], "every letter was begun");
    assert_eq!(tally.dropped, counts.dead_crashed);
    world.sometimes("a handler is cut off", counts.dead_crashed > counts.panics);
}

// [G-INTERLEAVE-1] [G-INTERLEAVE-2] [G-INTERLEAVE-3] [G-INTERLEAVE-4]
#[test]
fn each_message_has_its_turn_and_its_end() {
    for scheduler in SCHEDULINGS {
        Explore::new().seeds(60).allow_panics().run(|world| play(world, scheduler));
    }
}
