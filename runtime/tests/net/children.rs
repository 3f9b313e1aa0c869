//! Mail for a supervised child on another node that has no room there when the child fails.

use greenroom::net::{
    Address, Identity, Incarnation, Loopback, Node, NodeId, Orphans, Placement, RemoteChild,
};
use greenroom::sim::World;
use greenroom::{Actor, Context, Ref, StartError, handlers};
use std::sync::{Mutex, OnceLock};
use std::time::Duration;
use tokio::sync::Semaphore;

/// What waits here for the child on its way to it: less than half of what finds room.
const WAITING: u64 = 60;
const SEEDS: u64 = if cfg!(sanitized) { 4 } else { 20 };

/// Not in the arguments of a child, which cross nodes.
static DESK: OnceLock<Desk> = OnceLock::new();

struct Desk {
    gate: Semaphore,
    filed: Mutex<Vec<u64>>,
}

/// Files numbers, one at a time.
#[derive(Actor)]
#[actor(mailbox = bounded(1))]
struct Clerk;

#[handlers(wire = "test.clerk/1")]
impl Clerk {
    #[start]
    fn start((): ()) -> Self {
        Self
    }
    #[tell]
    async fn fail_at_the_gate(&mut self, cx: &mut Context<Self>) {
        DESK.get().unwrap().gate.acquire().await.unwrap().forget();
        cx.fail("told to");
    }
    #[tell]
    fn file(&mut self, number: u64) {
        DESK.get().unwrap().filed.lock().unwrap().push(number);
    }
}

#[derive(Actor)]
#[actor(supervise = one_for_one(50 in "10s"))]
struct Boss;

#[handlers]
impl Boss {
    #[start]
    fn start(place: Placement<Clerk>, cx: &mut Context<Self>) -> Result<Self, StartError> {
        cx.supervise::<RemoteChild<Clerk>>(place).named("clerk").start()?;
        Ok(Self)
    }
}

/// Tells the clerk all that finds room, and then has it fail; how much that was.
async fn tell(clerk: &Ref<RemoteChild<Clerk>>, clock: &greenroom::sim::WorldClock) -> u64 {
    clerk.fail_at_the_gate().await.unwrap();
    let mut told = 0;
    for _ in 0..10 {
        while clerk.file(told).try_send().is_ok() {
            told += 1;
        }
        clock.sleep(Duration::from_millis(100)).await;
    }
    DESK.get().unwrap().gate.add_permits(1);
    clock.sleep(Duration::from_secs(10)).await;
    told
}

// [G-REMOTE-11]
#[test]
fn mail_that_waits_for_a_child_is_for_the_next_one() {
    let desk = DESK.get_or_init(|| Desk { gate: Semaphore::new(0), filed: Mutex::default() });
    for seed in 0..SEEDS {
        desk.filed.lock().unwrap().clear();
        let mut world = World::new(seed);
        let places = [world.node("here").start(), world.node("there").start()];
        let (clock, network) = (world.clock(), Loopback::new());
        let told = world.run(async {
            let mut nodes = Vec::new();
            for (place, name) in places.iter().zip(["here", "there"]) {
                let number = NodeId(nodes.len() as u64 + 1);
                let identity = Identity { node: number, incarnation: Incarnation(1) };
                nodes.push(Node::start(&place.system(), network.node(name, identity)).unwrap());
            }
            nodes[1].allow_spawn::<Clerk>("clerk", Orphans::Stop).unwrap();
            let there: Address = "loopback:there".parse().unwrap();
            let place = Placement::new(&nodes[0], &there, "clerk", ());
            let system = places[0].system();
            let _boss = system.spawn::<Boss>(place).await.unwrap();
            tell(&system.find::<RemoteChild<Clerk>>("clerk").unwrap(), &clock).await
        });
        let filed = desk.filed.lock().unwrap();
        assert!(told > 2 * WAITING, "seed {seed}: {told}");
        let waited: Vec<_> = (told - WAITING..told).collect();
        assert!(filed.ends_with(&waited), "seed {seed}: of {told} {filed:?}");
        assert!((filed.len() as u64) < told, "seed {seed}: what it had itself is gone with it");
    }
}
