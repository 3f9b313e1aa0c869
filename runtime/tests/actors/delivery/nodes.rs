//! Parcels that actors pass on to each other, while some of these end.

use crate::support::{LONG, Ledger, Parcel, everywhere, soon};
use greenroom::{Actor, Context, Ref, System, handlers};
use std::sync::Arc;

/// A parcel that is passed on: it is handled when it has made all its hops.
#[derive(Actor, Default)]
struct Node {
    peers: Vec<Ref<Self>>,
    at: usize,
}

#[handlers]
impl Node {
    #[tell]
    fn meet(&mut self, peers: Vec<Ref<Self>>) {
        self.peers = peers;
    }
    #[tell]
    fn pass(&mut self, parcel: Parcel, hops: usize) {
        if hops == 0 {
            return parcel.handled();
        }
        self.at = (self.at + 1) % self.peers.len();
        if let Err(error) = self.peers[self.at].pass(parcel, hops - 1).try_send() {
            error.into_message().returned();
        }
    }
    /// Sends `count` parcels to each peer.
    #[tell]
    fn broadcast(&mut self, ledger: Arc<Ledger>, count: usize) {
        for _ in 0..count {
            for peer in &self.peers {
                peer.pass(ledger.issue(), 0).try_send().unwrap();
            }
        }
    }
    /// Starts a child that gets `count` parcels and is stopped in the middle of them.
    #[tell]
    fn churn(&mut self, ledger: Arc<Ledger>, count: usize, cx: &mut Context<Self>) {
        let child = cx.spawn::<Self>(Self::default()).start().unwrap();
        for number in 0..count {
            if let Err(error) = child.pass(ledger.issue(), 0).try_send() {
                error.into_message().returned();
            }
            if number == count / 2 {
                child.stop();
            }
        }
    }
    #[ask]
    fn is_idle(&self) -> bool {
        true
    }
}

impl NodeMessage {
    fn returned(self) {
        if let Self::Pass { parcel, .. } = self {
            parcel.returned();
        }
    }
}

async fn nodes(system: &System, count: usize) -> Vec<Ref<Node>> {
    let mut nodes = Vec::new();
    for _ in 0..count {
        nodes.push(system.spawn::<Node>(Node::default()).await.expect("it starts"));
    }
    nodes
}

// [G-DELIVERY-1]
#[test]
fn a_mesh_handles_every_message() {
    everywhere(async |system| {
        let ledger = Ledger::new(8 * 8 * 50);
        let nodes = nodes(system, 8).await;
        for node in &nodes {
            node.meet(nodes.clone()).await.unwrap();
            node.broadcast(Arc::clone(&ledger), 50).await.unwrap();
        }
        system.await_idle(LONG).await.unwrap();
        assert_eq!(ledger.settle(&system.counts()).handled, 8 * 8 * 50);
    });
}

// [G-DELIVERY-1]
#[test]
fn a_ring_passes_every_message_on() {
    everywhere(async |system| {
        let ledger = Ledger::new(10);
        let nodes = nodes(system, 16).await;
        for (number, node) in nodes.iter().enumerate() {
            node.meet(vec![nodes[(number + 1) % nodes.len()].clone()]).await.unwrap();
        }
        for node in nodes.iter().take(10) {
            node.pass(ledger.issue(), 1000).await.unwrap();
        }
        system.await_idle(LONG).await.unwrap();
        ledger.settle(&system.counts());
    });
}

// [G-DELIVERY-1]
#[test]
fn a_ring_that_loses_nodes_reports_what_they_held() {
    everywhere(async |system| {
        let ledger = Ledger::new(64);
        let nodes = nodes(system, 16).await;
        for (number, node) in nodes.iter().enumerate() {
            node.meet(vec![nodes[(number + 1) % nodes.len()].clone()]).await.unwrap();
        }
        for node in &nodes {
            assert!(node.is_idle().await.unwrap());
        }
        for number in 0..64 {
            nodes[number % 16].pass(ledger.issue(), 1_000_000).await.unwrap();
        }
        nodes[3].stop();
        nodes[9].kill();
        soon(nodes[3].ended()).await;
        soon(nodes[9].ended()).await;
        system.await_idle(LONG).await.unwrap();
        system.shutdown(LONG).await.unwrap();
        let tally = ledger.settle(&system.counts());
        assert_eq!(tally.handled, 0, "no parcel can pass where a node is gone");
    });
}

// [G-DELIVERY-1]
#[test]
fn children_that_come_and_go_lose_nothing() {
    everywhere(async |system| {
        let ledger = Ledger::new(4 * 100 * 10);
        let nodes = nodes(system, 4).await;
        for _ in 0..100 {
            for node in &nodes {
                node.churn(Arc::clone(&ledger), 10).await.unwrap();
            }
        }
        for node in nodes {
            assert!(node.is_idle().within(LONG).await.unwrap());
        }
        system.shutdown(LONG).await.unwrap();
        let tally = ledger.settle(&system.counts());
        assert_eq!(tally.issued, 4 * 100 * 10);
        // Each child refused what was sent after its stop.
        assert!(tally.returned >= 4 * 100 * 4, "{tally:?}");
    });
}
