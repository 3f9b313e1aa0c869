//! A tree of actors, whose nodes add up what their children report.

use super::{spawn_with, tell};
use crate::shape::{report, sum_below};
use crate::sizes::CHILDREN;
use std::time::{Duration, Instant};
use tokio::sync::oneshot;
use xtra::{Actor, Address, Context, Handler, Mailbox};

/// What a child reports.
struct Sum(u64);

enum Parent {
    Node(Address<Node>),
    Outside(Option<oneshot::Sender<u64>>),
}

struct Node {
    parent: Parent,
    /// Its own address, for its children.
    me: Option<Address<Self>>,
    /// The number of its first leaf.
    first: u64,
    leaves: u64,
    sum: u64,
    missing: u64,
}

impl Node {
    fn start(parent: Parent, first: u64, leaves: u64) {
        let (sum, missing) = (0, CHILDREN);
        // It lives as long as a child has its address.
        drop(spawn_with(|me| {
            let me = (leaves > 1).then(|| me.clone());
            Self { parent, me, first, leaves, sum, missing }
        }));
    }

    async fn report(&mut self, sum: u64) {
        match &mut self.parent {
            Parent::Node(parent) => tell(parent, Sum(sum)).await,
            Parent::Outside(done) => report(done, sum),
        }
    }
}

impl Actor for Node {
    type Stop = ();

    async fn started(&mut self, _mailbox: &Mailbox<Self>) -> Result<(), ()> {
        let Some(me) = self.me.take() else {
            self.report(self.first).await;
            return Err(());
        };
        let each = self.leaves / CHILDREN;
        for child in 0..CHILDREN {
            Self::start(Parent::Node(me.clone()), self.first + child * each, each);
        }
        Ok(())
    }

    async fn stopped(self) {}
}

impl Handler<Sum> for Node {
    type Return = ();

    async fn handle(&mut self, Sum(sum): Sum, cx: &mut Context<Self>) {
        self.sum += sum;
        self.missing -= 1;
        if self.missing == 0 {
            self.report(self.sum).await;
            cx.stop_self();
        }
    }
}

pub(super) async fn run(n: u64) -> Duration {
    let (done, root) = oneshot::channel();
    let clock = Instant::now();
    Node::start(Parent::Outside(Some(done)), 0, n);
    let sum = root.await.expect("the root reports");
    let took = clock.elapsed();
    assert_eq!(sum, sum_below(n), "every leaf reported once");
    took
}
