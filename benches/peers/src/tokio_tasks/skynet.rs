//! A tree of tasks, whose nodes add up what their children report, or what they find by waiting for them.

use crate::shape::sum_below;
use crate::sizes::CHILDREN;
use std::future::Future;
use std::pin::Pin;
use std::time::{Duration, Instant};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio::task::JoinHandle;

/// Boxed, as a future that starts its like has no size of its own.
fn node(
    above: UnboundedSender<u64>,
    first: u64,
    leaves: u64,
) -> Pin<Box<dyn Future<Output = ()> + Send>> {
    Box::pin(async move {
        let (children, mut mailbox) = unbounded_channel();
        let each = leaves / CHILDREN;
        for child in 0..CHILDREN {
            start(children.clone(), first + child * each, each);
        }
        let mut sum = 0;
        for _ in 0..CHILDREN {
            sum += mailbox.recv().await.expect("every child reports");
        }
        above.send(sum).expect("the parent waits");
    })
}

/// A leaf needs no mailbox.
fn start(above: UnboundedSender<u64>, first: u64, leaves: u64) {
    if leaves == 1 {
        tokio::spawn(async move { above.send(first).expect("the parent waits") });
    } else {
        tokio::spawn(node(above, first, leaves));
    }
}

/// The same without mailboxes: whose children end with a number each.
fn sum(first: u64, leaves: u64) -> Pin<Box<dyn Future<Output = u64> + Send>> {
    Box::pin(async move {
        let each = leaves / CHILDREN;
        let children: Vec<_> =
            (0..CHILDREN).map(|child| spawn_sum(first + child * each, each)).collect();
        let mut sum = 0;
        for child in children {
            sum += child.await.expect("no child panics");
        }
        sum
    })
}

fn spawn_sum(first: u64, leaves: u64) -> JoinHandle<u64> {
    if leaves == 1 { tokio::spawn(async move { first }) } else { tokio::spawn(sum(first, leaves)) }
}

pub(super) async fn joined(n: u64) -> Duration {
    let clock = Instant::now();
    let sum = spawn_sum(0, n).await;
    let took = clock.elapsed();
    assert_eq!(sum.ok(), Some(sum_below(n)), "every leaf was counted once");
    took
}

pub(super) async fn run(n: u64) -> Duration {
    let (above, mut mailbox) = unbounded_channel();
    let clock = Instant::now();
    start(above, 0, n);
    let sum = mailbox.recv().await;
    let took = clock.elapsed();
    assert_eq!(sum, Some(sum_below(n)), "every leaf was counted once");
    took
}
