//! A tree of actors, whose nodes add up what their children report.

use crate::shape::sum_below;
use crate::sizes::CHILDREN;
use elfo::routers::{MapRouter, Outcome};
use elfo::{ActorGroup, Addr, Blueprint, Context, Local, MoveOwnership, message, msg};
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

#[derive(Clone)]
enum Parent {
    Node(Addr),
    Outside(MoveOwnership<oneshot::Sender<u64>>),
}

/// Starts a node.
#[message]
struct Grow {
    /// The root is 1, and the children of a node follow ten times its key.
    key: u64,
    /// The number of its first leaf.
    first: u64,
    leaves: u64,
    parent: Local<Parent>,
}

/// What a child reports.
#[message]
struct Report(u64);

fn nodes() -> Blueprint {
    let router = MapRouter::new(|envelope| {
        msg!(match envelope {
            Grow { key, .. } => Outcome::Unicast(*key),
            _ => Outcome::Default,
        })
    });
    ActorGroup::new().router(router).exec(async |mut cx| {
        let grow = cx.recv().await.expect("the message that started it");
        let grow = msg!(match grow {
            grow @ Grow => grow,
            _ => unreachable!("a node starts with its place in the tree"),
        });
        let sum = if grow.leaves == 1 { grow.first } else { of_children(&mut cx, &grow).await };
        match grow.parent.into_inner() {
            Parent::Node(parent) => {
                cx.unbounded_send_to(parent, Report(sum)).expect("the parent waits");
            }
            Parent::Outside(done) => {
                let done = done.take().expect("there is one root");
                done.send(sum).expect("the program waits");
            }
        }
    })
}

/// Starts the children of a node, and adds up their reports.
async fn of_children(cx: &mut Context<(), u64>, grow: &Grow) -> u64 {
    let each = grow.leaves / CHILDREN;
    for child in 0..CHILDREN {
        let (key, first) = (grow.key * CHILDREN + child, grow.first + child * each);
        let parent = Parent::Node(cx.addr()).into();
        let child = Grow { key, first, leaves: each, parent };
        cx.unbounded_send_to(cx.group(), child).expect("the child starts");
    }
    let mut sum = 0;
    for _ in 0..CHILDREN {
        let report = cx.recv().await.expect("the children report");
        msg!(match report {
            Report(part) => sum += part,
            _ => unreachable!("nobody else writes to a node"),
        });
    }
    sum
}

pub(super) async fn run(n: u64) -> Duration {
    super::run([nodes()], async |cx: Context, [nodes]| {
        let (tell, done) = oneshot::channel();
        let clock = Instant::now();
        let parent = Parent::Outside(tell.into()).into();
        let root = Grow { key: 1, first: 0, leaves: n, parent };
        cx.unbounded_send_to(nodes, root).expect("the root starts");
        let sum = done.await.expect("the root reports");
        let took = clock.elapsed();
        assert_eq!(sum, sum_below(n), "every leaf reported once");
        took
    })
    .await
}
