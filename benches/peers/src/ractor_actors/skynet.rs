//! A tree of actors, whose nodes add up what their children report.

use super::Done;
use crate::shape::{report, sum_below};
use crate::sizes::CHILDREN;
use ractor::{Actor, ActorProcessingErr, ActorRef, ActorRuntime};
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

struct Node;

/// What a child reports.
struct Sum(u64);

enum Parent {
    Node(ActorRef<Sum>),
    Outside(Option<oneshot::Sender<u64>>),
}

impl Parent {
    fn report(&mut self, sum: u64) -> Done {
        match self {
            Self::Node(parent) => parent.cast(Sum(sum))?,
            Self::Outside(done) => report(done, sum),
        }
        Ok(())
    }
}

struct Branch {
    parent: Parent,
    /// The number of its first leaf.
    first: u64,
    leaves: u64,
    sum: u64,
    missing: u64,
}

impl Branch {
    fn new(parent: Parent, first: u64, leaves: u64) -> Self {
        Self { parent, first, leaves, sum: 0, missing: CHILDREN }
    }
}

impl Actor for Node {
    type Msg = Sum;
    type State = Branch;
    type Arguments = Branch;

    async fn pre_start(
        &self,
        me: ActorRef<Sum>,
        mut branch: Branch,
    ) -> Result<Branch, ActorProcessingErr> {
        if branch.leaves == 1 {
            branch.parent.report(branch.first)?;
            me.stop(None);
            return Ok(branch);
        }
        let each = branch.leaves / CHILDREN;
        for child in 0..CHILDREN {
            let first = branch.first + child * each;
            let child = Branch::new(Parent::Node(me.clone()), first, each);
            ActorRuntime::spawn_instant(None, Self, child)?;
        }
        Ok(branch)
    }

    async fn handle(&self, me: ActorRef<Sum>, Sum(sum): Sum, branch: &mut Branch) -> Done {
        branch.sum += sum;
        branch.missing -= 1;
        if branch.missing == 0 {
            branch.parent.report(branch.sum)?;
            me.stop(None);
        }
        Ok(())
    }
}

pub(super) async fn run(n: u64) -> Duration {
    let (tell, done) = oneshot::channel();
    let clock = Instant::now();
    let root = Branch::new(Parent::Outside(Some(tell)), 0, n);
    ActorRuntime::spawn_instant(None, Node, root).expect("the root starts");
    let sum = done.await.expect("the root reports");
    let took = clock.elapsed();
    assert_eq!(sum, sum_below(n), "every leaf reported once");
    took
}
