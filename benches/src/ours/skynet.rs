//! A tree of actors, whose leaves have a number each, and whose nodes add up what their children say.

use greenroom::{Actor, Context, Ref, System, handlers};
use greenroom_peers::shape::sum_below;
use greenroom_peers::sizes::CHILDREN;
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

/// Whom a node tells its sum.
enum Above {
    Node(Ref<Node>),
    Nobody(oneshot::Sender<u64>),
}

impl Above {
    fn report(self, sum: u64) {
        match self {
            Self::Node(parent) => parent.add(sum).tell().expect("the parent lives"),
            Self::Nobody(done) => done.send(sum).expect("the program waits"),
        }
    }
}

#[derive(Actor)]
struct Node {
    above: Option<Above>,
    waiting: u64,
    sum: u64,
}

#[handlers]
impl Node {
    #[start]
    fn start(above: Above, first: u64, leaves: u64, cx: &mut Context<Self>) -> Self {
        if leaves == 1 {
            above.report(first);
            cx.stop();
            return Self { above: None, waiting: 0, sum: first };
        }
        for child in 0..CHILDREN {
            let leaves = leaves / CHILDREN;
            let args = (Above::Node(cx.me()), first + child * leaves, leaves);
            cx.spawn::<Self>(args).start().expect("a child starts");
        }
        Self { above: Some(above), waiting: CHILDREN, sum: 0 }
    }

    #[tell]
    fn add(&mut self, sum: u64, cx: &mut Context<Self>) {
        self.sum += sum;
        self.waiting -= 1;
        if self.waiting == 0 {
            if let Some(above) = self.above.take() {
                above.report(self.sum);
            }
            cx.stop();
        }
    }
}

pub(super) async fn run(system: System, n: u64) -> Duration {
    let (tell, done) = oneshot::channel();
    let clock = Instant::now();
    let root = system.spawn::<Node>((Above::Nobody(tell), 0, n)).start();
    let sum = done.await;
    let took = clock.elapsed();
    assert!(root.is_ok() && sum == Ok(sum_below(n)), "every leaf was counted once");
    took
}
