//! Several tasks, and several plain threads, send numbers to one task.

use super::channel::Channel;
use crate::shape::{outside, sum_below};
use crate::sizes::{PRODUCERS, THREADS};
use std::time::{Duration, Instant};
use tokio::sync::mpsc::UnboundedSender;
use tokio::task::JoinHandle;

/// A task that adds up what comes, until all senders are gone.
fn sink<C: Channel>() -> (C::Sender<u64>, JoinHandle<u64>) {
    let (sender, mailbox) = C::new();
    let sink = tokio::spawn(async move {
        let mut sum = 0;
        C::each(mailbox, |value| sum += value).await;
        sum
    });
    (sender, sink)
}

pub(super) async fn run<C: Channel>(n: u64) -> Duration {
    let each = n / PRODUCERS;
    let (sender, sink) = sink::<C>();
    let clock = Instant::now();
    for _ in 0..PRODUCERS {
        let sender = sender.clone();
        tokio::spawn(async move {
            for value in 0..each {
                C::send(&sender, value).await;
            }
        });
    }
    drop(sender);
    let sum = sink.await.expect("the sink does not panic");
    let took = clock.elapsed();
    assert_eq!(sum, PRODUCERS * sum_below(each), "every number was added once");
    took
}

pub(super) async fn from_outside<C>(n: u64) -> Duration
where
    C: Channel<Sender<u64> = UnboundedSender<u64>>,
{
    let each = n / THREADS;
    let (sender, sink) = sink::<C>();
    let clock = Instant::now();
    for _ in 0..THREADS {
        let sender = sender.clone();
        outside(move || {
            for value in 0..each {
                sender.send(value).expect("the sink lives");
            }
        });
    }
    drop(sender);
    let sum = sink.await.expect("the sink does not panic");
    let took = clock.elapsed();
    assert_eq!(sum, THREADS * sum_below(each), "every number was added once");
    took
}
