//! A node that closes while connections begin, in simulated worlds.

use super::{connect, node};
use greenroom::net::{ConnectError, Loopback};
use greenroom::sim::World;
use std::time::Duration;

/// As long as everything takes that happens by itself.
const SOON: Duration = Duration::from_secs(1);

// [G-REMOTE-4]
#[test]
fn nothing_is_left_of_a_connection_that_begins_while_its_node_closes() {
    for seed in 0..100 {
        let mut world = World::new(seed);
        let (here, there) = (world.node("here").start(), world.node("there").start());
        let clock = world.clock();
        let network = Loopback::new();
        let (is_anew, by_far) = (world.chance(500), world.chance(500));
        world.run(async {
            let near = node(&here.system(), &network, "here", 1);
            let far = node(&there.system(), &network, "there", 2);
            if is_anew {
                connect(&near).await;
                network.cut("here", "there");
            }
            let (from, to) = if by_far { (&far, "here") } else { (&near, "there") };
            let (from, address) = (from.clone(), format!("loopback:{to}").parse().unwrap());
            let attempt = tokio::spawn(async move { from.connect(&address).await });
            let closing = near.clone();
            let before = clock.now();
            tokio::spawn(async move { closing.close().await }).await.unwrap();
            if !by_far {
                // It does not wait for what will not be.
                match attempt.await.unwrap() {
                    Ok(peer) => peer.ended().await,
                    Err(error) => assert_eq!(error, ConnectError::Closed, "seed {seed}"),
                }
            }
            let took = clock.now() - before;
            assert!(took < SOON, "seed {seed}: {took:?}");
            clock.sleep(SOON).await;
            for node in [near, far] {
                assert_eq!(node.peers(), [], "seed {seed}");
            }
        });
    }
}
