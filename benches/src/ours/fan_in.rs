//! Four actors send numbers to one.

use greenroom::{Actor, Ref, System, handlers};
use greenroom_peers::shape::{report, sum_below};
use greenroom_peers::sizes::PRODUCERS;
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

#[derive(Actor)]
pub(super) struct Sink {
    left: u64,
    total: u64,
    done: Option<oneshot::Sender<u64>>,
}

#[handlers]
impl Sink {
    #[start]
    fn start(left: u64, done: oneshot::Sender<u64>) -> Self {
        Self { left, total: 0, done: Some(done) }
    }

    #[tell]
    fn add(&mut self, value: u64) {
        self.total += value;
        self.left -= 1;
        if self.left == 0 {
            report(&mut self.done, self.total);
        }
    }
}

#[derive(Actor)]
struct Producer {
    sink: Ref<Sink>,
}

#[handlers]
impl Producer {
    #[start]
    fn start(sink: Ref<Sink>) -> Self {
        Self { sink }
    }

    #[tell]
    async fn produce(&mut self, count: u64) {
        for value in 0..count {
            self.sink.add(value).await.expect("the sink lives");
        }
    }
}

pub(super) async fn run(system: System, n: u64) -> Duration {
    let (each, (tell, done)) = (n / PRODUCERS, oneshot::channel());
    let sink = system.spawn::<Sink>((PRODUCERS * each, tell)).await.expect("the sink starts");
    let mut producers = Vec::new();
    for _ in 0..PRODUCERS {
        producers.push(system.spawn::<Producer>(sink.clone()).await.expect("a producer starts"));
    }
    let clock = Instant::now();
    for producer in &producers {
        producer.produce(each).tell().expect("the producer lives");
    }
    let total = done.await;
    let took = clock.elapsed();
    assert_eq!(total, Ok(PRODUCERS * sum_below(each)), "every number was added once");
    took
}
