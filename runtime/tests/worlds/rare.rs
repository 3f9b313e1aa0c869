//! The rare paths of the runtime, which worlds make common: every one is taken, and nothing is lost, doubled
//! or out of order for it.
//!
//! `GREENROOM_SEEDS` says how many seeds there are.
#![allow(clippy::unwrap_used, reason = "what goes wrong in a test may panic")]

use crate::support::{SCHEDULINGS, Violations, scheduled};
use greenroom::sim::{Explore, World};
use greenroom::{Actor, Context, Ref, StartError, handlers};
use std::time::Duration;

const SEEDS: u64 = 300;
const MS: Duration = Duration::from_millis(1);
/// Orders that each clerk gets, and passes on to the till.
const ORDERS: u64 = 12;
const CLERKS: usize = 4;

/// Takes what the clerks send, into a small mailbox.
#[derive(Actor)]
#[actor(mailbox = bounded(2))]
struct Till {
    /// The next number from each clerk.
    due: [u64; CLERKS],
}

#[handlers]
impl Till {
    #[tell]
    fn pay(&mut self, clerk: usize, number: u64) {
        assert_eq!(number, self.due[clerk], "each clerk's payments in order, and once");
        self.due[clerk] += 1;
    }
    #[ask]
    async fn paid(&self) -> u64 {
        tokio::task::yield_now().await;
        self.due.iter().sum()
    }
}

/// Passes orders on; crashes once, at half time, and starts again after a while.
#[derive(Actor)]
#[actor(restart = permanent(3 in "10s", backoff = "2ms..8ms", jitter = "50%"))]
struct Clerk {
    me: usize,
    till: Ref<Till>,
    /// Whether a handler is in the middle of something.
    busy: bool,
    ticks: u64,
    violations: Violations,
}

#[handlers]
impl Clerk {
    #[start]
    fn start(me: usize, till: Ref<Till>, violations: Violations, cx: &mut Context<Self>) -> Self {
        cx.every(MS, Self::tick);
        Self { me, till, busy: false, ticks: 0, violations }
    }
    #[local]
    fn tick(&mut self) {
        self.check_alone();
        self.ticks += 1;
    }
    #[tell]
    async fn order(&mut self, number: u64) {
        self.check_alone();
        self.busy = true;
        self.till.pay(self.me, number).await.unwrap();
        let is_paid = self.till.paid().await.unwrap() > number;
        self.violations.check(is_paid, "what was sent before is handled before");
        self.busy = false;
        assert_ne!(number, ORDERS / 2, "this clerk crashes");
    }
    #[ask]
    fn ticks(&self) -> u64 {
        self.ticks
    }
    fn check_alone(&self) {
        self.violations.check(!self.busy, "one handler at a time");
    }
}

fn play(world: &mut World) {
    let scheduler = SCHEDULINGS[world.pick(SCHEDULINGS.len())];
    let workers = 1 + world.pick(3);
    let node =
        world.node("shop").settings(move |builder| scheduled(builder.workers(workers), scheduler));
    let system = node.start().system();
    let (clock, violations) = (world.clock(), Violations::default());
    world.run(async {
        let till = system.spawn::<Till>(Till { due: [0; CLERKS] }).await.unwrap();
        let mut clerks = Vec::new();
        for me in 0..CLERKS {
            let clerk =
                system.spawn::<Clerk>((me, till.clone(), violations.clone())).await.unwrap();
            for number in 0..ORDERS {
                clerk.order(number).await.unwrap();
            }
            clerks.push(clerk);
        }
        while till.paid().await.unwrap() < ORDERS * CLERKS as u64 {
            clock.sleep(MS).await;
        }
        clock.sleep(20 * MS).await;
        for clerk in &clerks {
            assert!(clerk.ticks().await.unwrap() > 0, "timers go off, be it late");
        }
        system.drain(Duration::from_secs(10)).await.unwrap();
    });
    violations.assert_none();
    assert_eq!(system.counts().restarts, CLERKS as u64);
    let taken: Vec<_> = world.rare_paths().map(|(name, count)| (name, count > 0)).collect();
    for (name, taken) in taken {
        world.sometimes(name, taken);
    }
}

#[test]
fn every_rare_path_is_taken_and_breaks_nothing() {
    Explore::new().seeds(SEEDS).allow_panics().run(play);
}

/// Crashes as it is told to.
#[derive(Actor)]
struct Apprentice;

#[handlers]
impl Apprentice {
    #[start]
    fn start() -> Self {
        Self
    }
    #[tell]
    fn crash(&mut self) {
        panic!("as told")
    }
    #[ask]
    fn incarnation(&self, cx: &mut Context<Self>) -> u32 {
        cx.incarnation()
    }
}

#[derive(Actor)]
#[actor(supervise = one_for_one(3 in "10s", backoff = "2ms..8ms", jitter = "50%"))]
struct Master {
    apprentice: Ref<Apprentice>,
}

#[handlers]
impl Master {
    #[start]
    async fn start(cx: &mut Context<Self>) -> Result<Self, StartError> {
        Ok(Self { apprentice: cx.supervise::<Apprentice>(()).await? })
    }
    #[ask]
    fn apprentice(&self) -> Ref<Apprentice> {
        self.apprentice.clone()
    }
}

#[test]
fn a_supervised_child_may_be_back_as_early_as_jitter_allows() {
    Explore::new().seeds(SEEDS).allow_panics().run(|world| {
        let system = world.node("shop").start().system();
        world.run(async {
            let master = system.spawn::<Master>(()).await.unwrap();
            let apprentice = master.apprentice().await.unwrap();
            for incarnation in 1..=3 {
                apprentice.crash().await.unwrap();
                assert_eq!(apprentice.incarnation().await, Ok(incarnation));
            }
            system.shutdown(Duration::from_secs(10)).await.unwrap();
        });
        let is_taken = world.rare_paths().any(|path| path.0 == "back-off early" && path.1 > 0);
        world.sometimes("a supervised child is back early", is_taken);
    });
}

#[test]
fn outside_of_worlds_and_where_every_choice_is_tried_they_are_not_taken() {
    let explore = Explore::new().every_choice(20).allow_incomplete().allow_panics();
    let text = std::panic::catch_unwind(|| explore.run(play)).unwrap_err();
    let text = *text.downcast::<String>().unwrap();
    for name in ["spill early", "short turn", "step late"] {
        assert!(text.contains(name), "in no world, so this is named: {text}");
    }
}
