//! A tree of actors, whose nodes add up what their children report.

use crate::shape::{report, sum_below};
use crate::sizes::CHILDREN;
use async_trait::async_trait;
use coerce::actor::context::ActorContext;
use coerce::actor::message::Handler;
use coerce::actor::scheduler::ActorType;
use coerce::actor::system::ActorSystem;
use coerce::actor::{Actor, LocalActorRef};
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

/// What a child reports.
struct Sum(u64);
message!(Sum);

enum Parent {
    Node(LocalActorRef<Node>),
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
    async fn start(system: &ActorSystem, parent: Parent, first: u64, leaves: u64) {
        let node = Self { parent, first, leaves, sum: 0, missing: CHILDREN };
        system.new_actor_deferred("node", node, ActorType::Anonymous).await;
    }

    fn report(&mut self, sum: u64) {
        match &mut self.parent {
            Parent::Node(parent) => parent.notify(Sum(sum)).expect("the parent waits"),
            Parent::Outside(done) => report(done, sum),
        }
    }
}

#[async_trait]
impl Actor for Node {
    async fn started(&mut self, cx: &mut ActorContext) {
        if self.leaves == 1 {
            self.report(self.first);
            cx.stop(None);
            return;
        }
        let (me, each) = (self.actor_ref(cx), self.leaves / CHILDREN);
        for child in 0..CHILDREN {
            let first = self.first + child * each;
            Self::start(cx.system(), Parent::Node(me.clone()), first, each).await;
        }
    }
}

#[async_trait]
impl Handler<Sum> for Node {
    async fn handle(&mut self, Sum(sum): Sum, cx: &mut ActorContext) {
        self.sum += sum;
        self.missing -= 1;
        if self.missing == 0 {
            self.report(self.sum);
            cx.stop(None);
        }
    }
}

pub(super) async fn run(n: u64) -> Duration {
    let (tell, done) = oneshot::channel();
    let system = ActorSystem::new();
    let clock = Instant::now();
    Node::start(&system, Parent::Outside(Some(tell)), 0, n).await;
    let sum = done.await.expect("the root reports");
    let took = clock.elapsed();
    assert_eq!(sum, sum_below(n), "every leaf reported once");
    took
}
