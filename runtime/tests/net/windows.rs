//! How much a node may have under way to one actor, in simulated worlds.

use greenroom::net::{Export, Identity, Incarnation, Loopback, Node, NodeId};
use greenroom::sim::World;
use greenroom::{Actor, Ref, System, TellError, handlers};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Semaphore;

const MS: Duration = Duration::from_millis(1);

/// Handles a message for each permit.
#[derive(Actor)]
#[actor(mailbox = bounded(4))]
struct Slow {
    gate: Arc<Semaphore>,
}

#[handlers(wire = "test.slow/1")]
impl Slow {
    #[start]
    fn start(gate: Arc<Semaphore>) -> Self {
        Self { gate }
    }
    #[tell]
    async fn take(&mut self) {
        self.gate.acquire().await.unwrap().forget();
    }
}

fn node(system: &System, network: &Loopback, name: &str, number: u64) -> Node {
    let identity = Identity { node: NodeId(number), incarnation: Incarnation(1) };
    Node::start(system, network.node(name, identity)).unwrap()
}

/// Sends until there is no room; returns how many found some.
fn fill(far: &Ref<Slow>) -> usize {
    let mut accepted = 0;
    loop {
        match far.take().try_send() {
            Ok(()) => accepted += 1,
            Err(TellError::Full(_)) => return accepted,
            Err(error) => panic!("{error}"),
        }
    }
}

// [G-REMOTE-6] [ENV-11]
#[test]
fn a_slow_actor_has_no_more_under_way_than_at_first() {
    const ROUNDS: usize = 1000;
    for seed in 0..4 {
        let mut world = World::new(seed);
        let (here, there) = (world.node("here").start(), world.node("there").start());
        let clock = world.clock();
        let network = Loopback::new().frames_max(1024);
        let waiting = world.run(async {
            let near = node(&here.system(), &network, "here", 1);
            let far = node(&there.system(), &network, "there", 2);
            let gate = Arc::new(Semaphore::new(0));
            let slow = there.system().spawn::<Slow>(Arc::clone(&gate)).await.unwrap();
            far.export("slow", Export::of(&slow)).unwrap();
            let peer = near.connect(&"loopback:there".parse().unwrap()).await.unwrap();
            let slow = peer.find::<Slow>("slow").await.unwrap();
            // Credit for half a window comes many times over, and always while messages wait for the actor.
            let mut accepted = 0;
            for _ in 0..ROUNDS {
                gate.add_permits(1);
                accepted += fill(&slow);
                clock.sleep(MS).await;
            }
            clock.sleep(1000 * MS).await;
            accepted + fill(&slow) - ROUNDS
        });
        // One in the handler, 4 in the mailbox, 128 under way, 64 in the proxy's hands, 256 behind them.
        assert!(
            (256..=1 + 4 + 128 + 64 + 256 + 1).contains(&waiting),
            "seed {seed}: {waiting} wait"
        );
    }
}
