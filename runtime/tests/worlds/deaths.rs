//! Of a node that is down nothing goes on, and who waits for something of it is told.
#![allow(clippy::unwrap_used, reason = "what goes wrong in a test may panic")]

use greenroom::sim::{Node, SocketError, World};
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);

#[test]
fn who_waits_for_a_packet_is_told_that_the_node_is_down() {
    for ends in [Node::kill, |node: &Node| node.stop(SECOND), Node::restart] {
        let mut world = World::new(1);
        let node = world.node("one").start();
        let socket = node.bind(1).unwrap();
        let clock = world.clock();
        world.spawn(async move {
            clock.sleep(SECOND).await;
            ends(&node);
        });
        let received = world.run_within(10 * SECOND, async { socket.receive().await });
        assert_eq!(received, Err(SocketError::Down));
    }
}
