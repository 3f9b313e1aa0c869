//! Nodes that end leave nothing: no peer, no association, and nothing in their systems.

use greenroom::System;
use greenroom::net::Node;
use greenroom_transports::udp::Udp;
use std::time::Duration;

/// Longer than anything here takes.
const LONG: Duration = Duration::from_secs(100);

/// Closes all of them and ends their systems, of which nothing may be left. It takes as long as it takes.
pub(crate) async fn end(nodes: &[(&System, &Udp, &Node)]) {
    for (_, _, node) in nodes {
        node.close().await;
    }
    for (system, udp, node) in nodes {
        while !node.peers().is_empty() || associations(udp) > 0 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        system.shutdown(LONG).await.expect("every actor ends");
        assert_eq!(system.leftovers(), Vec::<String>::new());
    }
}

/// Those that began and have not ended.
fn associations(udp: &Udp) -> u64 {
    udp.audit(|audit| audit.associated() - audit.ended())
}
