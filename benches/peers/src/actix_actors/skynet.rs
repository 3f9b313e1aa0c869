//! A tree of actors, whose nodes add up what their children report.

use super::{Stage, messages};
use crate::shape::{report, sum_below};
use crate::sizes::CHILDREN;
use actix::{Actor, ActorContext, Addr, AsyncContext, Context, Handler};
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

struct Sum(u64);
messages!(Sum);

/// Whom a node tells its sum.
enum Above {
    Node(Addr<Node>),
    Nobody(Option<oneshot::Sender<u64>>),
}

impl Above {
    fn report(&mut self, sum: u64) {
        match self {
            Self::Node(parent) => parent.do_send(Sum(sum)),
            Self::Nobody(done) => report(done, sum),
        }
    }
}

struct Node {
    above: Above,
    first: u64,
    leaves: u64,
    waiting: u64,
    sum: u64,
    /// Where the children of the root go; others have theirs beside them.
    stage: Option<Stage>,
}

impl Node {
    fn new(above: Above, first: u64, leaves: u64) -> Self {
        Self { above, first, leaves, waiting: CHILDREN, sum: 0, stage: None }
    }
}

impl Actor for Node {
    type Context = Context<Self>;

    fn started(&mut self, cx: &mut Self::Context) {
        if self.leaves == 1 {
            self.above.report(self.first);
            return cx.stop();
        }
        let each = self.leaves / CHILDREN;
        for index in 0..CHILDREN {
            let child = Self::new(Above::Node(cx.address()), self.first + index * each, each);
            match &self.stage {
                Some(stage) => stage.start(index, child),
                None => child.start(),
            };
        }
    }
}

impl Handler<Sum> for Node {
    type Result = ();

    fn handle(&mut self, Sum(sum): Sum, cx: &mut Self::Context) {
        self.sum += sum;
        self.waiting -= 1;
        if self.waiting == 0 {
            self.above.report(self.sum);
            cx.stop();
        }
    }
}

pub(super) async fn run(stage: Stage, n: u64) -> Duration {
    let (tell, done) = oneshot::channel();
    let clock = Instant::now();
    let root = Node::new(Above::Nobody(Some(tell)), 0, n);
    Node { stage: Some(stage), ..root }.start();
    let sum = done.await;
    let took = clock.elapsed();
    assert_eq!(sum, Ok(sum_below(n)), "every leaf was counted once");
    took
}
