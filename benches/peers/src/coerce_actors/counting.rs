//! One actor sends numbers to another, then asks it for their count.

use super::start;
use async_trait::async_trait;
use coerce::actor::context::ActorContext;
use coerce::actor::message::Handler;
use coerce::actor::system::ActorSystem;
use coerce::actor::{Actor, LocalActorRef};
use std::time::{Duration, Instant};

struct Counter(u64);
struct Add(u64);
message!(Add);
struct Total;
message!(Total -> u64);
impl Actor for Counter {}

#[async_trait]
impl Handler<Add> for Counter {
    async fn handle(&mut self, Add(value): Add, _cx: &mut ActorContext) {
        self.0 += value;
    }
}

#[async_trait]
impl Handler<Total> for Counter {
    async fn handle(&mut self, _message: Total, _cx: &mut ActorContext) -> u64 {
        self.0
    }
}

struct Producer(LocalActorRef<Counter>);
struct Produce(u64);
message!(Produce);
impl Actor for Producer {}

#[async_trait]
impl Handler<Produce> for Producer {
    async fn handle(&mut self, Produce(n): Produce, _cx: &mut ActorContext) {
        for _ in 0..n {
            self.0.notify(Add(1)).expect("the counter lives");
        }
        let total = self.0.send(Total).await.expect("the counter answers");
        assert_eq!(total, n, "every message was handled once");
    }
}

pub(super) async fn run(n: u64) -> Duration {
    let system = ActorSystem::new();
    let counter = start(&system, Counter(0)).await;
    let producer = start(&system, Producer(counter)).await;
    let clock = Instant::now();
    producer.send(Produce(n)).await.expect("the producer answers");
    clock.elapsed()
}
