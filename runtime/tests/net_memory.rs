//! What a node keeps of connections, and of actors of other nodes, that are no more: nothing.
//!
//! The count is of the whole process, so this binary has one test, which measures one thing after the other. The
//! sanitizers keep blocks for themselves.

#![cfg(not(sanitized))]
#![allow(clippy::unwrap_used, reason = "what goes wrong in a test may panic")]

#[path = "support/counting.rs"]
mod counting;
mod support;

use counting::BYTES;
use greenroom::net::{Export, Identity, Incarnation, Loopback, Node, NodeId, Orphans, Peer};
use greenroom::{Actor, Ref, System, handlers};
use std::sync::atomic::Ordering;
use support::{Builds, LONG, OwnSystem, run, until};

#[derive(Actor)]
struct Echo;

#[handlers(wire = "test.echo/1")]
impl Echo {
    #[start]
    fn start((): ()) -> Self {
        Self
    }
    #[ask]
    fn echo(&self, number: u64) -> u64 {
        number
    }
}

/// A node of a system with one worker.
fn place(network: &Loopback, name: &str, number: u64) -> (OwnSystem, Node) {
    let system = System::builder().workers(1).own();
    let identity = Identity { node: NodeId(number), incarnation: Incarnation(1) };
    let node = Node::start(&system, network.node(name, identity)).unwrap();
    (system, node)
}

/// How many bytes more each call leaves in use: the median of five rounds of 200, after as many calls that fill what is
/// kept for use. A table that grows does so in one round, whichever that is; a leak is in all of them.
async fn kept_by_each(mut call: impl AsyncFnMut()) -> isize {
    const CALLS: isize = 200;
    let mut kept = Vec::new();
    for _ in 0..6 {
        let before = BYTES.load(Ordering::Relaxed);
        for _ in 0..CALLS {
            call().await;
        }
        kept.push(BYTES.load(Ordering::Relaxed).wrapping_sub(before).cast_signed() / CALLS);
    }
    kept.remove(0);
    kept.sort_unstable();
    kept[kept.len() / 2]
}

async fn connected(from: &Node) -> Peer {
    from.connect(&"loopback:there".parse().unwrap()).await.unwrap()
}

/// The actor that is found lives on, and is told of no end.
async fn a_connection_leaves_nothing_behind(here: &Node, there: &Node) {
    let each = kept_by_each(async || {
        let peer = connected(here).await;
        let far: Ref<Echo> = peer.find("echo").await.unwrap();
        assert_eq!(far.echo(7).await, Ok(7));
        peer.close().await;
        until(|| there.peers().is_empty()).await;
    });
    // One watcher is 64 bytes and its closure, a connection some thousand.
    let kept = each.await;
    assert!(kept < 32, "{kept} bytes of each connection");
}

async fn an_actor_that_was_started_and_ended_leaves_nothing_behind(here: &Node, there: &Node) {
    there.allow_spawn::<Echo>("echo", Orphans::Stop).unwrap();
    let peer = connected(here).await;
    let each = kept_by_each(async || {
        let far = peer.spawn::<Echo>("echo", ()).await.unwrap();
        assert_eq!(far.echo(7).await, Ok(7));
        peer.stop(&far);
        far.ended().await;
    });
    let kept = each.await;
    assert!(kept < 32, "{kept} bytes of each actor");
}

#[test]
fn what_is_over_takes_no_memory() {
    let network = Loopback::new();
    let (here, near) = place(&network, "here", 1);
    let (there, far) = place(&network, "there", 2);
    run(async {
        let echo = there.spawn::<Echo>(()).await.unwrap();
        far.export("echo", Export::of(&echo)).unwrap();
        a_connection_leaves_nothing_behind(&near, &far).await;
        an_actor_that_was_started_and_ended_leaves_nothing_behind(&near, &far).await;
        here.shutdown(LONG).await.unwrap();
        there.shutdown(LONG).await.unwrap();
    });
}
