//! Systems that end under a deadline, by the world's time, in the middle of work: what was accepted is handled or
//! reported with its reason, the end comes by the deadline, and what was still running then is named.
//!
//! `GREENROOM_SEEDS` says how many seeds there are.
#![allow(clippy::unwrap_used, reason = "what goes wrong in a test may panic")]

use crate::support::{Ledger, Parcel, SCHEDULINGS, scheduled};
use greenroom::sim::{Explore, World, WorldClock};
use greenroom::{Actor, Context, Event, Ref, StartError, System, handlers};
use std::sync::Arc;
use std::time::Duration;

const SEEDS: u64 = 60;
const MS: Duration = Duration::from_millis(1);
/// Desks at the top, each with one below.
const DESKS: usize = 3;
const SENDERS: usize = 2;
/// Of each sender.
const PARCELS: usize = 40;
/// How late a timer of a world may be, and all that then is to be done: the finest difference that timers make, and
/// turns that take a thousand times as long.
const SLACK: Duration = Duration::from_millis(5);

/// Handles some at once and some slowly, hands others down, and stops slowly if it is to.
#[derive(Actor)]
struct Desk {
    clock: WorldClock,
    below: Option<Ref<Self>>,
    lingers: Duration,
}

#[handlers]
impl Desk {
    #[start]
    async fn start(
        clock: WorldClock,
        depth: u32,
        lingers: Duration,
        cx: &mut Context<Self>,
    ) -> Result<Self, StartError> {
        cx.every(MS, Self::tick);
        let below = match depth {
            0 => None,
            _ => Some(cx.spawn::<Self>((clock.clone(), depth - 1, lingers)).await?),
        };
        Ok(Self { clock, below, lingers })
    }
    #[stop]
    async fn stop(&mut self) {
        self.clock.sleep(self.lingers).await;
    }
    #[tell]
    fn take(&mut self, parcel: Parcel) {
        parcel.handled();
    }
    #[tell]
    async fn take_slowly(&mut self, span: Duration, parcel: Parcel) {
        self.clock.sleep(span).await;
        parcel.handled();
    }
    #[tell]
    async fn hand_down(&mut self, parcel: Parcel) {
        match &self.below {
            Some(below) => {
                hand_in(below.take(parcel).await.map_err(|error| error.into_message()));
            }
            None => parcel.handled(),
        }
    }
    #[local]
    fn tick(&mut self) {}
}

/// Whether it was accepted; what came back has a fate, too.
fn hand_in(sent: Result<(), DeskMessage>) -> bool {
    let Err(
        DeskMessage::Take { parcel }
        | DeskMessage::TakeSlowly { parcel, .. }
        | DeskMessage::HandDown { parcel },
    ) = sent
    else {
        return true;
    };
    parcel.returned();
    false
}

/// How a parcel is sent: to whom, how, and how long the sender rests before it.
type Plan = Vec<(usize, usize, Duration)>;

async fn send(plan: Plan, desks: Vec<Ref<Desk>>, ledger: Arc<Ledger>, clock: WorldClock) {
    for (desk, how, rest) in plan {
        if !rest.is_zero() {
            clock.sleep(rest).await;
        }
        let (desk, parcel) = (&desks[desk], ledger.issue());
        let sent = match how {
            0..6 => desk.take(parcel).await,
            6 => desk.take_slowly(MS / 5, parcel).await,
            7 => desk.take_slowly(3 * MS, parcel).await,
            _ => desk.hand_down(parcel).await,
        };
        if !hand_in(sent.map_err(|error| error.into_message())) {
            return;
        }
    }
}

fn draw_plan(world: &World) -> Plan {
    let rests = [Duration::ZERO, Duration::ZERO, Duration::ZERO, MS / 10];
    (0..PARCELS).map(|_| (world.pick(DESKS), world.pick(10), rests[world.pick(4)])).collect()
}

fn start(world: &mut World) -> System {
    let scheduling = SCHEDULINGS[world.pick(SCHEDULINGS.len())];
    let workers = 1 + world.pick(3);
    let node = world.node("office");
    node.settings(move |builder| scheduled(builder.workers(workers), scheduling)).start().system()
}

fn play(world: &mut World) {
    let (system, clock) = (start(world), world.clock());
    let ledger = Ledger::new(SENDERS * PARCELS);
    let lingers = [Duration::ZERO, MS, Duration::MAX];
    // One hangs in its stop hook, in one world of four.
    let lingers: [_; DESKS] = std::array::from_fn(|_| lingers[[0, 0, 1, 1, 2][world.pick(5)]]);
    let mut desks = Vec::new();
    for lingers in lingers {
        let desk = system.spawn::<Desk>((clock.clone(), 1, lingers));
        desks.push(world.run(desk.into_future()).unwrap());
    }
    for _ in 0..SENDERS {
        let plan = draw_plan(world);
        world.spawn(send(plan, desks.clone(), Arc::clone(&ledger), clock.clone()));
    }
    let before = [Duration::ZERO, MS / 100, MS, 4 * MS][world.pick(4)];
    let drains = world.pick(2) == 0;
    let limit = [Duration::ZERO, MS, 10 * MS, 200 * MS][world.pick(4)];
    world.run_for(before);
    let began = world.now();
    let ended = world.run(async {
        if drains { system.drain(limit).await } else { system.shutdown(limit).await }
    });
    let took = world.now() - began;
    assert!(took <= limit + SLACK, "{took:?}, of {limit:?}");
    let running: Vec<_> = desks.iter().filter(|desk| !is_over(desk)).collect();
    match &ended {
        Ok(()) => assert!(running.is_empty(), "{running:?}"),
        Err(error) => {
            for desk in &running {
                assert!(error.hanging.contains(&desk.id().to_string()), "{desk:?}: {error}");
            }
            assert!(!error.hanging.is_empty(), "{error}");
        }
    }
    // Those that were killed end at once, and the senders learn of it.
    world.run_for(2 * MS + SLACK);
    assert!(desks.iter().all(is_over), "a kill ends what waits");
    let counts = system.counts();
    let tally = ledger.settle(&counts);
    assert_eq!((counts.started, counts.ended), (2 * DESKS as u64, 2 * DESKS as u64));
    assert!(ended.is_err() || tally.dropped == counts.dead_stopped, "{counts:?}");
    assert!(ended.is_err() || !drains || tally.dropped == 0, "{counts:?}");
    let hangs = lingers.contains(&Duration::MAX);
    assert!(ended.is_err() || !hangs, "it hangs");
    for (kind, is_kind) in [("drain", drains), ("shutdown", !drains)] {
        world.sometimes(format!("a {kind} is over in time"), is_kind && ended.is_ok());
        world.sometimes(format!("a {kind} of what hangs is not"), is_kind && hangs);
        world.sometimes(format!("a {kind} is late by itself"), is_kind && ended.is_err() && !hangs);
        world.sometimes(format!("a {kind} meets senders"), is_kind && tally.returned > 0);
    }
    world.sometimes("mail is reported", tally.dropped > 0);
    world.sometimes("a handler is cut off", counts.dead_crashed > 0);
}

fn is_over(desk: &Ref<Desk>) -> bool {
    !desk.stop()
}

// [G-SHUTDOWN-1] [G-DELIVERY-1] [G-STOP-1] [G-STOP-2] [G-STOP-3]
#[test]
fn systems_that_end_drain_or_report_within_their_deadline() {
    Explore::new().seeds(SEEDS).run(play);
}

/// Starts once, and never again.
#[derive(Actor)]
#[actor(restart = permanent(10_000 in "1h", backoff = "10ms..10ms"))]
struct Broken;

#[handlers]
impl Broken {
    #[start]
    async fn start(cx: &mut Context<Self>) -> Result<Self, StartError> {
        tokio::task::yield_now().await;
        if cx.incarnation() == 0 { Ok(Self) } else { Err(StartError::new("never again")) }
    }
    #[tell]
    fn take(&mut self, parcel: Parcel) {
        parcel.handled();
    }
    #[tell]
    fn collapse(&mut self, cx: &mut Context<Self>) {
        cx.fail("as told");
    }
}

#[derive(Actor)]
#[actor(supervise = one_for_one(3 in "1h"))]
struct Owner(Ref<Broken>);

#[handlers]
impl Owner {
    #[start]
    async fn start(cx: &mut Context<Self>) -> Result<Self, StartError> {
        Ok(Self(cx.supervise::<Broken>(()).await?))
    }
    #[ask]
    fn broken(&self) -> Ref<Broken> {
        self.0.clone()
    }
}

// [G-STOP-2]
#[test]
fn a_drain_does_not_wait_for_what_cannot_start() {
    Explore::new().seeds(SEEDS).run(|world| {
        let system = start(world);
        let ledger = Ledger::new(3);
        let (is_top, waits) = (world.pick(2) == 0, world.pick(2) == 0);
        world.run(async {
            let broken = if is_top {
                system.spawn::<Broken>(()).await.unwrap()
            } else {
                let owner = system.spawn::<Owner>(()).await.unwrap();
                owner.broken().await.unwrap()
            };
            broken.collapse().await.unwrap();
            for _ in 0..3 {
                broken.take(ledger.issue()).await.unwrap();
            }
        });
        if waits {
            world.run_for(MS * u32::try_from(world.pick(30)).unwrap());
        }
        let mut events = system.events();
        world.run(system.drain(Duration::from_secs(10))).unwrap();
        let told = std::iter::from_fn(|| events.try_next());
        let tries = told.filter(|event| matches!(event, Event::Restarting { .. })).count();
        assert!(tries <= 2, "one more, and one before the order comes, but {tries}");
        assert_eq!(ledger.settle(&system.counts()).dropped, 3, "each is reported");
        world.sometimes("it has tried for a while", waits);
    });
}

/// Takes its time to stop.
#[derive(Actor)]
struct Half(WorldClock);

#[handlers]
impl Half {
    #[start]
    fn start(clock: WorldClock) -> Self {
        Self(clock)
    }
    #[stop]
    async fn stop(&mut self) {
        self.0.sleep(10 * MS).await;
    }
    #[tell]
    fn collapse(&mut self, cx: &mut Context<Self>) {
        cx.fail("as told");
    }
}

#[derive(Actor)]
#[actor(supervise = one_for_all(3 in "1h"))]
struct Pair([Ref<Half>; 2]);

#[handlers]
impl Pair {
    #[start]
    async fn start(clock: WorldClock, cx: &mut Context<Self>) -> Result<Self, StartError> {
        let first = cx.supervise::<Half>(clock.clone()).await?;
        Ok(Self([first, cx.supervise::<Half>(clock).await?]))
    }
    #[ask]
    fn halves(&self) -> [Ref<Half>; 2] {
        self.0.clone()
    }
}

// [G-SUPERVISE-4]
#[test]
fn who_drains_and_is_stopped_in_a_round_ends_the_last_child_first() {
    Explore::new().seeds(SEEDS).run(|world| {
        let system = start(world);
        let pair = world.run(system.spawn::<Pair>(world.clock()).into_future()).unwrap();
        let halves = world.run(pair.halves().into_future()).unwrap();
        let mut events = system.events();
        // The last one has failed and waits, while the first one is being stopped for its sake.
        world.run(async { halves[1].collapse().await.unwrap() });
        world.run_for(15 * MS);
        pair.drain();
        world.run_for(MS);
        pair.stop();
        world.run(pair.ended());
        let ended = std::iter::from_fn(|| events.try_next()).filter_map(|event| match event {
            Event::Ended { actor, .. } => Some(actor),
            _ => None,
        });
        assert_eq!(ended.collect::<Vec<_>>(), [halves[1].id(), halves[0].id(), pair.id()]);
    });
}
