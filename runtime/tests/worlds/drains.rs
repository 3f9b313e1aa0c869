//! Actors that are to drain and fail, before that or after it, at drawn moments: what they have accepted is handled, and
//! nobody else is the worse for it.
//!
//! `GREENROOM_SEEDS` says how many seeds there are.
#![allow(clippy::unwrap_used, reason = "what goes wrong in a test may panic")]

use crate::support::{LONG, Ledger, Parcel, SCHEDULINGS, policies, scheduled};
use greenroom::sim::{Explore, World, WorldClock};
use greenroom::{
    Actor, Behavior, Context, Event, EventStream, ExitReason, Options, Ref, Restart, Shutdown,
    StartError, Supervision, Supervisor, System, handlers,
};
use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::Duration;

const SEEDS: u64 = 60;
const MS: Duration = Duration::from_millis(1);
const HOUR: Duration = Duration::from_secs(3600);
/// Far more than a drain takes that waits for nothing, and far less than a back-off.
const LIMIT: Duration = Duration::from_secs(1);
/// Failures that a policy allows.
const ALLOWED: u32 = 3;
/// How long a mate takes to stop.
const LINGERS: Duration = Duration::from_millis(10);

policies! {
    /// Whether a hand picks itself up.
    Own { RESTART: Restart }
    Lone = Restart::permanent(ALLOWED, HOUR.saturating_mul(9)).backoff(HOUR, HOUR);
    Supervised = Restart::never();
}

policies! {
    /// Who is restarted with a hand.
    Rule { SUPERVISION: Supervision }
    OneForOne = Supervision::one_for_one(ALLOWED, HOUR.saturating_mul(9)).backoff(HOUR, HOUR);
    OneForAll = Supervision::one_for_all(ALLOWED, HOUR.saturating_mul(9)).backoff(HOUR, HOUR);
}

/// How those of one world start and stop.
#[derive(Clone)]
struct Plan {
    clock: WorldClock,
    /// How often a hand may start.
    starts_max: u32,
    /// How often it has tried to.
    starts: Arc<AtomicU32>,
}

impl Plan {
    fn new(world: &World, starts_max: u32) -> Self {
        Self { clock: world.clock(), starts_max, starts: Arc::default() }
    }
}

/// Fails where it is told to.
struct Hand<P>(PhantomData<P>);

impl<P: Own> Actor for Hand<P> {
    const OPTIONS: Options = Options::new().restart(P::RESTART);

    fn keep_args(plan: &<Self as Behavior>::Args) -> Option<<Self as Behavior>::Args> {
        Some(plan.clone())
    }
}

#[handlers]
impl<P: Own> Hand<P> {
    #[start]
    async fn start(plan: Plan) -> Result<Self, StartError> {
        tokio::task::yield_now().await;
        if plan.starts.fetch_add(1, Relaxed) < plan.starts_max {
            Ok(Self(PhantomData))
        } else {
            Err(StartError::new("never again"))
        }
    }
    #[tell]
    fn take(&mut self, parcel: Parcel) {
        parcel.handled();
    }
    #[tell]
    async fn dawdle(&mut self, clock: WorldClock) {
        clock.sleep(MS).await;
    }
    #[tell]
    fn collapse(&mut self, cx: &mut Context<Self>) {
        cx.fail("as told");
    }
}

/// Takes its time to stop.
#[derive(Actor)]
struct Mate(WorldClock);

#[handlers]
impl Mate {
    #[start]
    fn start(clock: WorldClock) -> Self {
        Self(clock)
    }
    #[stop]
    async fn stop(&mut self) {
        self.0.sleep(LINGERS).await;
    }
}

/// Supervises a hand between two mates.
struct Crew<P> {
    hand: Ref<Hand<Supervised>>,
    mates: [Ref<Mate>; 2],
    rule: PhantomData<P>,
}

impl<P: Rule> Actor for Crew<P> {
    const OPTIONS: Options = Options::new();
}

impl<P: Rule> Supervisor for Crew<P> {
    const SUPERVISION: Supervision = P::SUPERVISION;
}

#[handlers]
impl<P: Rule> Crew<P> {
    #[start]
    async fn start(plan: Plan, cx: &mut Context<Self>) -> Result<Self, StartError> {
        let first = cx.supervise::<Mate>(plan.clock.clone()).shutdown(Shutdown::Forever).await?;
        let hand = cx.supervise::<Hand<Supervised>>(plan.clone()).await?;
        let last = cx.supervise::<Mate>(plan.clock).shutdown(Shutdown::Forever).await?;
        Ok(Self { hand, mates: [first, last], rule: PhantomData })
    }
    #[ask]
    fn hand(&self) -> Ref<Hand<Supervised>> {
        self.hand.clone()
    }
    #[ask]
    fn mates(&self) -> [Ref<Mate>; 2] {
        self.mates.clone()
    }
}

fn start(world: &mut World) -> System {
    let scheduling = SCHEDULINGS[world.pick(SCHEDULINGS.len())];
    let workers = 1 + world.pick(3);
    let node = world.node("yard");
    node.settings(move |builder| scheduled(builder.workers(workers), scheduling)).start().system()
}

fn crew<P: Rule>(world: &mut World, system: &System, plan: Plan) -> Ref<Crew<P>> {
    world.run(system.spawn::<Crew<P>>(plan).into_future()).unwrap()
}

/// Has a hand fail so often, each time after a parcel and before another one.
fn burden<P: Own>(hand: &Ref<Hand<P>>, ledger: &Arc<Ledger>, failures: u32) {
    hand.take(ledger.issue()).try_send().unwrap();
    for _ in 0..failures {
        hand.collapse().try_send().unwrap();
        hand.take(ledger.issue()).try_send().unwrap();
    }
}

/// Lets the world go on for a drawn while: none at all, into a round of restarts, or into the wait behind it.
fn wait(world: &mut World) -> Duration {
    let pause = [Duration::ZERO, MS / 100, MS / 10, MS, LINGERS, 5 * LINGERS][world.pick(6)];
    world.run_for(pause);
    pause
}

/// Why actors ended, and how often somebody began another incarnation.
fn told(events: &mut EventStream) -> (Vec<(greenroom::ActorId, ExitReason)>, usize) {
    let (mut ends, mut restarts) = (Vec::new(), 0);
    while let Some(event) = events.try_next() {
        match event {
            Event::Ended { actor, reason } => ends.push((actor, reason)),
            Event::Restarting { .. } => restarts += 1,
            _ => {}
        }
    }
    (ends, restarts)
}

fn drain_lone(world: &mut World, system: &System) -> Arc<Ledger> {
    let plan = Plan::new(world, u32::MAX);
    let hand = world.run(system.spawn::<Hand<Lone>>(plan).into_future()).unwrap();
    let ledger = Ledger::new(3);
    burden(&hand, &ledger, 2);
    wait(world);
    hand.drain();
    world.run_within(LIMIT, hand.ended());
    ledger
}

fn drain_one_of<P: Rule>(world: &mut World, system: &System) -> Arc<Ledger> {
    let plan = Plan::new(world, u32::MAX);
    let crew = crew::<P>(world, system, plan);
    let hand = world.run(crew.hand().into_future()).unwrap();
    let ledger = Ledger::new(3);
    burden(&hand, &ledger, 2);
    wait(world);
    let is_alone = world.pick(2) == 0;
    world.sometimes("the whole crew drains", !is_alone);
    if is_alone {
        hand.drain()
    } else {
        crew.drain()
    };
    world.run_within(LIMIT, hand.ended());
    ledger
}

// [G-STOP-2] [G-STOP-4]
#[test]
fn who_drains_waits_for_no_back_off() {
    Explore::new().seeds(SEEDS).run(|world| {
        let system = start(world);
        let mut events = system.events();
        let ledger = match world.pick(3) {
            0 => drain_lone(world, &system),
            1 => drain_one_of::<OneForOne>(world, &system),
            _ => drain_one_of::<OneForAll>(world, &system),
        };
        let (ends, _) = told(&mut events);
        assert!(ends.iter().all(|(_, reason)| *reason == ExitReason::Drained), "{ends:?}");
        world.run(system.drain(LIMIT)).unwrap();
        assert_eq!(ledger.settle(&system.counts()).handled, 3);
    });
}

/// Drains a hand before it fails so often.
fn fail_in_a_drain<P: Rule>(world: &mut World, failures: u32) {
    let system = start(world);
    let plan = Plan::new(world, u32::MAX);
    let crew = crew::<P>(world, &system, plan.clone());
    let hand = world.run(crew.hand().into_future()).unwrap();
    let ledger = Ledger::new(1 + failures as usize);
    let mut events = system.events();
    // It hears of the drain before it comes to what follows, under every scheduling.
    hand.dawdle(world.clock()).try_send().unwrap();
    burden(&hand, &ledger, failures);
    hand.drain();
    world.run_within(LIMIT, hand.ended());
    world.run_for(LIMIT);
    let (ends, restarts) = told(&mut events);
    let handled = ledger.tally().handled;
    let met = failures.min(ALLOWED);
    assert_eq!((handled, restarts), (u64::from(met) + 1, met as usize));
    let [(ended, reason)] = ends.try_into().expect("nobody else ends");
    assert_eq!(ended, hand.id());
    if failures > ALLOWED {
        assert!(matches!(reason, ExitReason::TooManyRestarts { .. }), "{reason}");
    } else {
        assert_eq!(reason, ExitReason::Drained);
    }
    world.sometimes("it fails as often as it may", failures == ALLOWED);
    world.sometimes("it fails too often", failures > ALLOWED);
    // Its failures count for nobody else: the crew has as many as ever before it gives up.
    world.run(async { crew.mates().await.unwrap() });
    world.run(system.drain(LONG)).unwrap();
    ledger.settle(&system.counts());
}

// [G-SUPERVISE-1] [G-SUPERVISE-3] [G-STOP-4]
#[test]
fn what_fails_in_its_drain_goes_on_alone() {
    Explore::new().seeds(SEEDS).run(|world| {
        let failures = u32::try_from(world.pick(ALLOWED as usize + 2)).unwrap();
        if world.pick(2) == 0 {
            fail_in_a_drain::<OneForOne>(world, failures);
        } else {
            fail_in_a_drain::<OneForAll>(world, failures);
        }
    });
}

/// Drains a hand that starts once, and never again.
fn drain_the_broken<P: Rule>(world: &mut World) {
    let system = start(world);
    let plan = Plan::new(world, 1);
    let crew = crew::<P>(world, &system, plan.clone());
    let hand = world.run(crew.hand().into_future()).unwrap();
    let ledger = Ledger::new(3);
    let mut events = system.events();
    burden(&hand, &ledger, 1);
    hand.take(ledger.issue()).try_send().unwrap();
    let pause = wait(world);
    hand.drain();
    world.run_within(LIMIT, hand.ended());
    let (ends, _) = told(&mut events);
    let [(ended, ExitReason::StartFailed(_))] = &ends[..] else { panic!("{ends:?}") };
    assert_eq!(*ended, hand.id());
    assert_eq!(plan.starts.load(Relaxed), 2, "it tries once more");
    world.sometimes("it waits for its restart when it is to drain", !pause.is_zero());
    world.run(async { crew.mates().await.unwrap() });
    world.run(system.drain(LONG)).unwrap();
    assert_eq!(ledger.settle(&system.counts()).dropped, 2, "each is reported");
}

// [G-SUPERVISE-1] [G-SUPERVISE-3] [G-STOP-2]
#[test]
fn who_drains_and_cannot_start_ends_alone() {
    Explore::new().seeds(SEEDS).run(|world| {
        if world.pick(2) == 0 {
            drain_the_broken::<OneForOne>(world);
        } else {
            drain_the_broken::<OneForAll>(world);
        }
    });
}
