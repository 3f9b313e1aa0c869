//! The children of a supervisor are restarted one after another while others send to them: what was accepted is
//! handled, in the order of its sender, and all but one of them are up at any moment.
//!
//! `GREENROOM_SEEDS` says how many seeds there are.
#![allow(clippy::unwrap_used, reason = "what goes wrong in a test may panic")]

use crate::support::{LONG, Ledger, Parcel, SCHEDULINGS, scheduled};
use greenroom::sim::{Explore, World};
use greenroom::{Actor, Context, Ref, StartError, handlers};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

const SEEDS: u64 = 20;
const HANDS: usize = 4;
const SENDERS: usize = 3;
/// Of each sender.
const PARCELS: usize = 60;
/// Times that all are restarted.
const ROUNDS: u32 = 3;

/// What outlives incarnations.
#[derive(Default)]
struct Shift {
    up: AtomicU64,
    /// The last number of each sender that each of them saw.
    seen: [[AtomicU64; SENDERS]; HANDS],
    handled_by_later: AtomicU64,
}

#[derive(Actor)]
struct Hand {
    number: usize,
    incarnation: u32,
    shift: Arc<Shift>,
}

#[handlers]
impl Hand {
    #[start]
    async fn start(number: usize, shift: Arc<Shift>, cx: &mut Context<Self>) -> Self {
        tokio::task::yield_now().await;
        shift.up.fetch_add(1, Ordering::Relaxed);
        Self { number, incarnation: cx.incarnation(), shift }
    }
    #[stop]
    async fn stop(&mut self) {
        self.shift.up.fetch_sub(1, Ordering::Relaxed);
        tokio::task::yield_now().await;
    }
    #[tell]
    fn take(&mut self, sender: usize, number: u64, parcel: Parcel) {
        self.see(sender, number);
        parcel.handled();
    }
    #[tell]
    async fn take_slowly(&mut self, sender: usize, number: u64, parcel: Parcel) {
        self.see(sender, number);
        tokio::task::yield_now().await;
        parcel.handled();
    }
    #[ask]
    fn incarnation(&self) -> u32 {
        self.incarnation
    }
    fn see(&self, sender: usize, number: u64) {
        let before = self.shift.seen[self.number][sender].swap(number, Ordering::Relaxed);
        assert!(before < number, "{number} after {before}");
        let later = u64::from(self.incarnation > 0);
        self.shift.handled_by_later.fetch_add(later, Ordering::Relaxed);
    }
}

#[derive(Actor)]
#[actor(supervise = one_for_all(1 in "1h"))]
struct Foreman {
    hands: Vec<Ref<Hand>>,
}

#[handlers]
impl Foreman {
    #[start]
    async fn start(shift: Arc<Shift>, cx: &mut Context<Self>) -> Result<Self, StartError> {
        let mut hands = Vec::new();
        for number in 0..HANDS {
            hands.push(cx.supervise::<Hand>((number, Arc::clone(&shift))).await?);
        }
        Ok(Self { hands })
    }
    #[ask]
    fn hands(&self) -> Vec<Ref<Hand>> {
        self.hands.clone()
    }
    #[ask]
    fn restart(&mut self, number: usize, cx: &mut Context<Self>) -> bool {
        cx.restart(&self.hands[number])
    }
}

fn play(world: &mut World) {
    let scheduling = SCHEDULINGS[world.pick(SCHEDULINGS.len())];
    let workers = 1 + world.pick(3);
    let node = world
        .node("yard")
        .settings(move |builder| scheduled(builder.workers(workers), scheduling))
        .start();
    let system = node.system();
    let (shift, ledger) = (Arc::new(Shift::default()), Ledger::new(SENDERS * PARCELS));
    let foreman =
        world.run(system.spawn::<Foreman>(Arc::clone(&shift)).into_future()).expect("it starts");
    let hands = world.run(foreman.hands().into_future()).unwrap();
    let watched = Arc::clone(&shift);
    world.always("all but one are up", move || match watched.up.load(Ordering::Relaxed) {
        up if up + 1 >= HANDS as u64 => Ok(()),
        up => Err(format!("{up} are up")),
    });
    // When each sender sends which parcel to whom, and how.
    let plans: Vec<Vec<_>> = (0..SENDERS)
        .map(|_| (0..PARCELS).map(|_| (world.pick(HANDS), world.pick(4))).collect())
        .collect();
    let clock = world.clock();
    for (sender, plan) in plans.into_iter().enumerate() {
        let (hands, ledger, clock) = (hands.clone(), Arc::clone(&ledger), clock.clone());
        world.spawn(async move {
            for (number, (hand, how)) in (1..).zip(plan) {
                let sent = match how {
                    0 => hands[hand].take_slowly(sender, number, ledger.issue()).await,
                    _ => hands[hand].take(sender, number, ledger.issue()).await,
                };
                sent.expect("a restart refuses nothing");
                if how == 1 {
                    clock.sleep(std::time::Duration::from_micros(1)).await;
                }
            }
        });
    }
    world.run(async {
        for round in 1..=ROUNDS {
            for (number, hand) in hands.iter().enumerate() {
                assert!(foreman.restart(number).await.unwrap());
                // Its answer comes from the incarnation before, or, once that has ended, from the next.
                while hand.incarnation().within(LONG).await.unwrap() < round {}
            }
        }
        while ledger.issued() < SENDERS * PARCELS {
            clock.sleep(std::time::Duration::from_micros(1)).await;
        }
        system.await_idle(LONG).await.unwrap();
    });
    let counts = system.counts();
    assert_eq!(ledger.settle(&counts).handled, (SENDERS * PARCELS) as u64, "{counts:?}");
    assert_eq!(counts.restarts, u64::from(ROUNDS) * HANDS as u64);
    let later = shift.handled_by_later.load(Ordering::Relaxed);
    world.sometimes("mail is handled by a later incarnation", later > 0);
    world.sometimes("mail is handled by a first incarnation", later < (SENDERS * PARCELS) as u64);
}

// [G-RESTART-2] [G-RESTART-3] [G-SUPERVISE-6] [G-ORDER-2] [G-DELIVERY-1]
#[test]
fn a_rolling_restart_loses_nothing() {
    Explore::new().seeds(SEEDS).run(play);
}
