//! Actors that one node starts on another.

mod limits;

use crate::hostile::{attack, receive, say};
use crate::stage::{Place, between, identity, once};
use crate::support::{Builds, run, soon, until, until_async};
use greenroom::net::{
    Address, Export, ExportError, Frame, Identity, Incarnation, LookupError, Loopback, Node,
    NodeId, Order, Orphans, Placement, RemoteChild, RemoteSpawnError, TEXT_BYTES_MAX,
};
use greenroom::sim::World;
use greenroom::{Actor, Context, Ref, Scheduler, StartError, System, handlers};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{self, Wake, Waker};
use std::time::Duration;
use tokio::sync::Semaphore;

/// Knows the workers of its node.
#[derive(Actor)]
struct Registry {
    workers: Vec<Ref<Worker>>,
}

#[handlers(wire = "test.registry/1")]
impl Registry {
    /// An ask: what a worker tells it may come later than what others ask who know that the worker runs.
    #[ask]
    fn add(&mut self, worker: Ref<Worker>) {
        self.workers.push(worker);
    }
    #[ask]
    fn live(&self) -> u64 {
        self.workers.iter().filter(|worker| !worker.is_closed()).count() as u64
    }
    #[ask]
    fn newest(&self) -> Option<Ref<Worker>> {
        self.workers.last().cloned()
    }
}

/// What a worker starts from, which crosses nodes.
#[derive(Clone, Serialize, Deserialize)]
struct Plan {
    number: u64,
    how: How,
    registry: Ref<Registry>,
}

#[derive(Clone, Copy, Serialize, Deserialize)]
enum How {
    Well,
    Fails,
    Panics,
    AtTheGate,
}

static GATE: Semaphore = Semaphore::const_new(0);

#[derive(Actor)]
struct Worker {
    number: u64,
}

#[handlers(wire = "test.worker/1")]
impl Worker {
    #[start]
    async fn start(plan: Plan, cx: &mut Context<Self>) -> Result<Self, StartError> {
        plan.registry.add(cx.me()).await?;
        match plan.how {
            How::Well => {}
            How::Fails => return Err(StartError::new("no tools")),
            How::Panics => panic!("as planned"),
            How::AtTheGate => GATE.acquire().await?.forget(),
        }
        Ok(Self { number: plan.number })
    }
    #[ask]
    fn next(&mut self) -> u64 {
        self.number += 1;
        self.number
    }
    #[tell]
    fn fail(&mut self, cx: &mut Context<Self>) {
        cx.fail("told to");
    }
    #[tell]
    fn close(&mut self, cx: &mut Context<Self>) {
        cx.stop();
    }
}

/// Starts workers there from something else.
mod other {
    use greenroom::{Actor, handlers};

    #[derive(Actor)]
    pub(super) struct Worker;

    #[handlers(wire = "test.worker/1")]
    impl Worker {
        #[start]
        fn start(text: String) -> Self {
            let _ = text;
            Self
        }
    }

    #[derive(Actor)]
    pub(super) struct Stranger;

    #[handlers(wire = "test.stranger/1")]
    impl Stranger {
        #[start]
        fn start((): ()) -> Self {
            Self
        }
    }
}

/// A registry at `there`, which allows workers; the references to it from there and from `here`.
async fn allowed(here: &Place, there: &Place, orphans: Orphans) -> (Ref<Registry>, Ref<Registry>) {
    let near = there.system.spawn::<Registry>(Registry { workers: Vec::new() }).await.unwrap();
    there.node.export("registry", Export::of(&near)).unwrap();
    there.node.allow_spawn::<Worker>("worker", orphans).unwrap();
    let far = here.reach(there).await.find::<Registry>("registry").await.unwrap();
    (near, far)
}

// [G-REMOTE-10] [ENV-14]
#[test]
fn an_actor_is_started_where_its_node_allows_it() {
    between(Loopback::new, async |_, here, there| {
        let (near, registry) = allowed(here, there, Orphans::Stop).await;
        let peer = here.reach(there).await;
        let plan = |how| Plan { number: 7, how, registry: registry.clone() };
        let worker = soon(peer.spawn::<Worker>("worker", plan(How::Well))).await.unwrap();
        assert_eq!(worker.next().await, Ok(8));
        let own = near.newest().await.unwrap().unwrap();
        assert_eq!(own.next().await, Ok(9), "it lives there");
        // Whom one has started one stops; others do not.
        assert!(!worker.stop() && !peer.stop(&registry) && !peer.stop(&own));
        let back = there.reach(here).await;
        assert!(!back.stop(&own));
        assert!(peer.stop(&worker));
        soon(worker.ended()).await;
        assert!(own.is_closed() && !peer.stop(&worker));

        let failed = peer.spawn::<Worker>("worker", plan(How::Fails)).await;
        assert_eq!(failed, Err(RemoteSpawnError::StartFailed("start failed: no tools".to_owned())));
        let failed = peer.spawn::<Worker>("worker", plan(How::Panics)).await;
        assert!(matches!(failed, Err(RemoteSpawnError::StartFailed(_))), "{failed:?}");
        let unknown = peer.spawn::<Worker>("unknown", plan(How::Well)).await;
        assert_eq!(unknown, Err(RemoteSpawnError::NotAllowed));
        let stranger = peer.spawn::<other::Stranger>("worker", ()).await;
        assert_eq!(stranger, Err(RemoteSpawnError::NotAllowed));
        let bad = peer.spawn::<other::Worker>("worker", "x".repeat(20)).await;
        assert_eq!(bad, Err(RemoteSpawnError::BadArguments));
        let large = peer.spawn::<other::Worker>("worker", "x".repeat(70_000)).await;
        assert!(matches!(large, Err(RemoteSpawnError::NotEncoded(_))), "{large:?}");
        let taken = there.node.allow_spawn::<other::Worker>("worker", Orphans::Keep);
        assert_eq!(taken, Err(ExportError::NameTaken("worker".to_owned())));
        there.node.forbid_spawn("worker");
        let forbidden = peer.spawn::<Worker>("worker", plan(How::Well)).await;
        assert_eq!(forbidden, Err(RemoteSpawnError::NotAllowed));
        assert_eq!(near.live().await, Ok(0));
    });
}

// [G-REMOTE-10]
#[test]
fn what_is_started_for_nobody_is_stopped() {
    let network = Loopback::new();
    let system = System::builder().workers(2).ask_timeout(Duration::from_secs(10));
    let system = system.own_as_set();
    let node = Node::start(&system, network.node("hasty", identity("hasty"))).unwrap();
    let there = Place::new(&network, "there", Scheduler::stealing());
    run(async {
        let near = there.system.spawn::<Registry>(Registry { workers: Vec::new() }).await.unwrap();
        there.node.export("registry", Export::of(&near)).unwrap();
        there.node.allow_spawn::<Worker>("worker", Orphans::Keep).unwrap();
        let peer = node.connect(&"loopback:there".parse().unwrap()).await.unwrap();
        let registry = peer.find::<Registry>("registry").await.unwrap();
        let plan = Plan { number: 1, how: How::AtTheGate, registry };
        let late = peer.spawn::<Worker>("worker", plan.clone()).await;
        assert_eq!(late, Err(RemoteSpawnError::Expired));
        GATE.add_permits(1);
        until_async(async || near.live().await == Ok(0)).await;
        // And by a break in the middle.
        let asking = {
            let peer = peer.clone();
            tokio::spawn(async move { peer.spawn::<Worker>("worker", plan).await })
        };
        until_async(async || near.live().await == Ok(1)).await;
        network.cut("hasty", "there");
        let outcome = soon(asking).await.unwrap();
        assert!(
            matches!(outcome, Err(RemoteSpawnError::NodeDown | RemoteSpawnError::Expired)),
            "{outcome:?}"
        );
        GATE.add_permits(1);
        // It was declared to stay, but nobody was told that it is there.
        until_async(async || near.live().await == Ok(0)).await;
        there.shut().await;
        system.shutdown(crate::support::LONG).await.unwrap();
    });
}

/// Notes that it was woken.
#[derive(Default)]
struct Woken(AtomicBool);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Release);
    }
}

// [G-REMOTE-10]
#[test]
fn what_is_started_for_somebody_who_goes_before_he_takes_it_is_stopped() {
    between(Loopback::new, async |_, here, there| {
        let (near, registry) = allowed(here, there, Orphans::Keep).await;
        let peer = here.reach(there).await;
        let plan = Plan { number: 7, how: How::Well, registry };
        let woken = Arc::new(Woken::default());
        let mut spawning = Box::pin(peer.spawn::<Worker>("worker", plan));
        let waker = Waker::from(Arc::clone(&woken));
        assert!(spawning.as_mut().poll(&mut task::Context::from_waker(&waker)).is_pending());
        // The answer has come, and lies there.
        until(|| woken.0.load(Ordering::Acquire)).await;
        assert_eq!(near.live().await, Ok(1));
        drop(spawning);
        until_async(async || near.live().await == Ok(0)).await;
    });
}

/// How many keepers there are, and how many there were.
static KEEPERS: AtomicU64 = AtomicU64::new(0);
static KEEPERS_SO_FAR: AtomicU64 = AtomicU64::new(0);

/// Is counted.
#[derive(Actor)]
struct Keeper;

#[handlers(wire = "test.keeper/1")]
impl Keeper {
    #[start]
    fn start((): ()) -> Self {
        KEEPERS.fetch_add(1, Ordering::Relaxed);
        KEEPERS_SO_FAR.fetch_add(1, Ordering::Relaxed);
        Self
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        KEEPERS.fetch_sub(1, Ordering::Relaxed);
    }
}

// [G-REMOTE-10] [ENV-14]
#[test]
fn one_whose_word_has_not_left_when_the_connection_ends_is_stopped() {
    // There is room for one frame each way.
    let network = Loopback::new().frames_max(1);
    let there = Place::new(&network, "there", Scheduler::stealing());
    run(async {
        there.node.allow_spawn::<Keeper>("keeper", Orphans::Keep).unwrap();
        let link = attack(&network).await;
        for correlation in 1..=2 {
            let (protocol, name) = ("test.keeper", "keeper");
            let spawn = Frame::Spawn { correlation, protocol, name, arguments: &[] };
            until(|| link.submit(Order::Free, &spawn.to_bytes()).is_ok()).await;
            until(|| KEEPERS_SO_FAR.load(Ordering::Relaxed) == correlation).await;
        }
        // The word of the second one waits behind that of the first, which nobody reads. What is answered comes behind it.
        for correlation in 3..=4 {
            let find = Frame::Find { correlation, protocol: "test.keeper", name: "nobody" };
            until(|| link.submit(Order::Free, &find.to_bytes()).is_ok()).await;
        }
        link.close();
        until(|| there.node.peers().is_empty()).await;
        until(|| KEEPERS.load(Ordering::Relaxed) == 1).await;
        there.shut().await;
    });
}

// [G-REMOTE-10]
#[test]
fn orphans_are_stopped_or_kept_as_declared() {
    for (orphans, left) in [(Orphans::Stop, 0), (Orphans::Keep, 1)] {
        once(Loopback::new(), async |network, here, there| {
            let (near, registry) = allowed(here, there, orphans).await;
            let peer = here.reach(there).await;
            let plan = Plan { number: 7, how: How::Well, registry };
            let worker = peer.spawn::<Worker>("worker", plan).await.unwrap();
            network.cut("here", "there");
            soon(worker.ended()).await;
            until_async(async || there.node.peers().is_empty()).await;
            until_async(async || near.live().await == Ok(left)).await;
            assert!(!peer.stop(&worker));
        });
    }
}

// [G-REMOTE-10] [ENV-14]
#[test]
fn nothing_is_started_from_too_long_arguments() {
    let network = Loopback::new();
    let there = Place::new(&network, "there", Scheduler::stealing());
    run(async {
        there.node.allow_spawn::<other::Worker>("worker", Orphans::Stop).unwrap();
        let link = attack(&network).await;
        // Around 64 KiB, with the three bytes of the length.
        for (length, why) in [((64 << 10) - 3, None), ((64 << 10) - 2, Some(2))] {
            let arguments = postcard::to_allocvec(&"x".repeat(length)).unwrap();
            let (correlation, protocol, name) = (1, "test.worker", "worker");
            say(&*link, &Frame::Spawn { correlation, protocol, name, arguments: &arguments });
            let answer = receive(&*link).await.unwrap();
            let refused = match Frame::parse(&answer) {
                Ok(Frame::Found { .. }) => None,
                Ok(Frame::NotSpawned { why, .. }) => Some(why),
                other => panic!("{other:?}"),
            };
            assert_eq!(refused, why);
        }
        there.shut().await;
    });
}

// [G-REMOTE-10] [ENV-3]
#[test]
fn too_long_a_name_is_not_that_of_its_beginning() {
    once(Loopback::new(), async |_, here, there| {
        let (longest, longer) = ("x".repeat(TEXT_BYTES_MAX), "x".repeat(TEXT_BYTES_MAX + 1));
        let near = there.system.spawn::<other::Stranger>(()).await.unwrap();
        there.node.export(&longest, Export::of(&near)).unwrap();
        there.node.allow_spawn::<other::Stranger>(&longest, Orphans::Stop).unwrap();
        let peer = here.reach(there).await;
        assert!(peer.find::<other::Stranger>(&longest).await.is_ok());
        let none = Some(LookupError::NoSuchName(longer.clone()));
        assert_eq!(peer.find::<other::Stranger>(&longer).await.err(), none);
        assert_eq!(here.node.find::<other::Stranger>(&longer).await.err(), none);
        assert!(peer.spawn::<other::Stranger>(&longest, ()).await.is_ok());
        let refused = peer.spawn::<other::Stranger>(&longer, ()).await.err();
        assert_eq!(refused, Some(RemoteSpawnError::NotAllowed));
    });
}

/// Supervises a worker on another node.
#[derive(Actor)]
#[actor(supervise = one_for_one(50 in "10s"))]
struct Boss;

#[handlers]
impl Boss {
    #[start]
    fn start(place: Placement<Worker>, cx: &mut Context<Self>) -> Result<Self, StartError> {
        cx.supervise::<RemoteChild<Worker>>(place).named("worker").start()?;
        Ok(Self)
    }
}

async fn boss(system: &System, node: &Node, plan: Plan) -> (Ref<Boss>, Ref<RemoteChild<Worker>>) {
    let there: Address = "loopback:there".parse().unwrap();
    let boss = system.spawn::<Boss>(Placement::new(node, &there, "worker", plan)).await.unwrap();
    (boss, system.find::<RemoteChild<Worker>>("worker").unwrap())
}

// [G-REMOTE-11]
#[test]
fn a_supervisor_restarts_and_stops_a_child_on_another_node() {
    between(Loopback::new, async |network, here, there| {
        let (near, registry) = allowed(here, there, Orphans::Stop).await;
        let plan = Plan { number: 7, how: How::Well, registry: registry.clone() };
        let (boss, worker) = boss(&here.system, &here.node, plan).await;
        assert_eq!(soon(worker.next().into_future()).await, Ok(8));
        let first = near.newest().await.unwrap().unwrap();
        // It fails there, and is started there anew; the reference here stays.
        worker.fail().await.unwrap();
        until_async(async || near.newest().await.unwrap() != Some(first.clone())).await;
        until_async(async || worker.next().await.is_ok_and(|number| number < 20)).await;
        let second = near.newest().await.unwrap().unwrap();
        assert!(first.is_closed() && !second.is_closed());
        // By its end here the one there ends first.
        boss.stop();
        soon(worker.ended()).await;
        assert!(second.is_closed());
        assert_eq!(near.live().await, Ok(0));
        // One that is killed runs no stop hook.
        let plan = Plan { number: 7, how: How::Well, registry };
        let place = Placement::new(&here.node, &"loopback:there".parse().unwrap(), "worker", plan);
        let alone = here.system.spawn::<RemoteChild<Worker>>(place).await.unwrap();
        assert_eq!(alone.next().await, Ok(8));
        alone.kill();
        until_async(async || near.live().await == Ok(0)).await;
        let _ = network;
    });
}

/// A child is supervised while the connection to its node breaks again and again; its answers, and how many
/// workers are left.
fn history(seed: u64) -> (Vec<u64>, u64, u64) {
    let mut world = World::new(seed);
    let (here, there) = (world.node("here").start(), world.node("there").start());
    let clock = world.clock();
    let network = Loopback::new().frames_max(1 + world.pick(6));
    let breaks: Vec<_> = (0..4).map(|_| world.pick(12) as u64).collect();
    let outcome = world.run(async {
        let [near, far] =
            [(&here, "here", 1), (&there, "there", 2)].map(|(place, name, number)| {
                let identity = Identity { node: NodeId(number), incarnation: Incarnation(1) };
                Node::start(&place.system(), network.node(name, identity)).unwrap()
            });
        let own = there.system().spawn::<Registry>(Registry { workers: Vec::new() });
        let own = own.await.unwrap();
        far.export("registry", Export::of(&own)).unwrap();
        far.allow_spawn::<Worker>("worker", Orphans::Stop).unwrap();
        // Arguments are kept for restarts, so what they refer to lives at home.
        let mine = here.system().spawn::<Registry>(Registry { workers: Vec::new() }).await.unwrap();
        let plan = Plan { number: 0, how: How::Well, registry: mine.clone() };
        let (_boss, worker) = boss(&here.system(), &near, plan).await;
        let mut answers = Vec::new();
        for frames in breaks {
            network.cut_after("here", "there", 1 + frames);
            for _ in 0..6 {
                answers.extend(worker.next().await);
            }
            clock.sleep(Duration::from_secs(1)).await;
        }
        network.cut("here", "there");
        clock.sleep(Duration::from_secs(1)).await;
        answers.push(0);
        answers.push(worker.next().await.unwrap());
        clock.sleep(Duration::from_secs(1)).await;
        (answers, mine.live().await.unwrap())
    });
    (outcome.0, outcome.1, world.trace_hash())
}

// [G-REMOTE-11]
#[test]
fn a_child_is_started_anew_after_every_break() {
    let seeds = std::env::var("GREENROOM_NET_SEEDS").ok().and_then(|seeds| seeds.parse().ok());
    for seed in 0..seeds.unwrap_or(if cfg!(sanitized) { 4 } else { 60 }) {
        let (answers, live, _) = history(seed);
        // Each incarnation counts from the beginning, without holes that a reply would fill.
        for pair in answers.windows(2) {
            assert!(pair[1] > pair[0] || pair[1] <= 1 || pair[0] == 0, "seed {seed}: {answers:?}");
        }
        assert_eq!(live, 1, "seed {seed}: one lives, all others were stopped");
    }
    assert_eq!(history(3), history(3));
}
