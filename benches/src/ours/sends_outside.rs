//! Two plain threads send numbers to one actor.

use super::fan_in::Sink;
use greenroom::System;
use greenroom_peers::shape::{outside, sum_below};
use greenroom_peers::sizes::THREADS;
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

pub(super) async fn run(system: System, n: u64) -> Duration {
    let (each, (tell, done)) = (n / THREADS, oneshot::channel());
    let sink = system.spawn::<Sink>((THREADS * each, tell)).await.expect("the sink starts");
    let clock = Instant::now();
    for _ in 0..THREADS {
        let sink = sink.clone();
        outside(move || {
            for number in 0..each {
                sink.add(number).tell().expect("the sink lives");
            }
        });
    }
    let total = done.await;
    let took = clock.elapsed();
    assert_eq!(total, Ok(THREADS * sum_below(each)), "every number was added once");
    took
}
