//! A tree of actors, whose nodes add up what their children report.

use crate::shape::{report, sum_below};
use crate::sizes::CHILDREN;
use kameo::Actor;
use kameo::actor::{ActorRef, Spawn};
use kameo::mailbox;
use kameo::message::{Context, Message};
use std::convert::Infallible;
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

/// What a child reports.
struct Sum(u64);

enum Parent {
    Node(ActorRef<Node>),
    Outside(Option<oneshot::Sender<u64>>),
}

struct Node {
    parent: Parent,
    /// The number of its first leaf.
    first: u64,
    leaves: u64,
    sum: u64,
    missing: u64,
}

impl Node {
    fn start(parent: Parent, first: u64, leaves: u64) {
        let node = Self { parent, first, leaves, sum: 0, missing: CHILDREN };
        // It lives as long as a child refers to it.
        let _ = Self::spawn_with_mailbox(node, mailbox::unbounded());
    }

    fn report(&mut self, sum: u64) {
        match &mut self.parent {
            Parent::Node(parent) => parent.tell(Sum(sum)).try_send().expect("the parent waits"),
            Parent::Outside(done) => report(done, sum),
        }
    }
}

impl Actor for Node {
    type Args = Self;
    type Error = Infallible;

    async fn on_start(mut node: Self, me: ActorRef<Self>) -> Result<Self, Infallible> {
        if node.leaves == 1 {
            node.report(node.first);
            return Ok(node);
        }
        let each = node.leaves / CHILDREN;
        for child in 0..CHILDREN {
            Self::start(Parent::Node(me.clone()), node.first + child * each, each);
        }
        Ok(node)
    }
}

impl Message<Sum> for Node {
    type Reply = ();

    async fn handle(&mut self, Sum(sum): Sum, cx: &mut Context<Self, ()>) {
        self.sum += sum;
        self.missing -= 1;
        if self.missing == 0 {
            self.report(self.sum);
            cx.stop();
        }
    }
}

pub(super) async fn run(n: u64) -> Duration {
    let (tell, done) = oneshot::channel();
    let clock = Instant::now();
    Node::start(Parent::Outside(Some(tell)), 0, n);
    let sum = done.await.expect("the root reports");
    let took = clock.elapsed();
    assert_eq!(sum, sum_below(n), "every leaf reported once");
    took
}
