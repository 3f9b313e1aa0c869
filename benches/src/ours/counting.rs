//! One actor sends numbers to another, then asks it for their sum.

use super::PATIENCE;
use greenroom::{Actor, Ref, System, handlers};
use std::time::{Duration, Instant};

#[derive(Actor)]
struct Counter {
    total: u64,
}

#[handlers]
impl Counter {
    #[start]
    fn start() -> Self {
        Self { total: 0 }
    }

    #[tell]
    fn add(&mut self, value: u64) {
        self.total += value;
    }

    #[ask]
    fn total(&self) -> u64 {
        self.total
    }
}

#[derive(Actor)]
struct Producer {
    counter: Ref<Counter>,
}

#[handlers]
impl Producer {
    #[start]
    fn start(counter: Ref<Counter>) -> Self {
        Self { counter }
    }

    #[ask]
    async fn produce(&mut self, n: u64) -> u64 {
        for _ in 0..n {
            self.counter.add(1).await.expect("the counter lives");
        }
        self.counter.total().within(PATIENCE).await.expect("the counter answers")
    }
}

pub(crate) async fn unbounded(system: System, n: u64) -> Duration {
    let counter = system.spawn::<Counter>(()).await.expect("the counter starts");
    let producer = system.spawn::<Producer>(counter).await.expect("the producer starts");
    let clock = Instant::now();
    let total = producer.produce(n).within(PATIENCE).await;
    let took = clock.elapsed();
    assert_eq!(total.ok(), Some(n), "every message was handled once");
    took
}

#[derive(Actor)]
#[actor(mailbox = bounded(1024))]
struct BoundedCounter {
    total: u64,
}

#[handlers]
impl BoundedCounter {
    #[start]
    fn start() -> Self {
        Self { total: 0 }
    }

    #[tell]
    fn add(&mut self, value: u64) {
        self.total += value;
    }

    #[ask]
    fn total(&self) -> u64 {
        self.total
    }
}

#[derive(Actor)]
struct WaitingProducer {
    counter: Ref<BoundedCounter>,
}

#[handlers]
impl WaitingProducer {
    #[start]
    fn start(counter: Ref<BoundedCounter>) -> Self {
        Self { counter }
    }

    #[ask]
    async fn produce(&mut self, n: u64) -> u64 {
        for _ in 0..n {
            self.counter.add(1).await.expect("the counter lives");
        }
        self.counter.total().within(PATIENCE).await.expect("the counter answers")
    }
}

pub(super) async fn bounded(system: System, n: u64) -> Duration {
    let counter = system.spawn::<BoundedCounter>(()).await.expect("the counter starts");
    let producer = system.spawn::<WaitingProducer>(counter).await.expect("the producer starts");
    let clock = Instant::now();
    let total = producer.produce(n).within(PATIENCE).await;
    let took = clock.elapsed();
    assert_eq!(total.ok(), Some(n), "every message was handled once");
    took
}
