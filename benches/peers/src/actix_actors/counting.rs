//! One actor sends numbers to another, then asks it for their sum.

use super::{Stage, messages, plain_actors};
use actix::{Actor, ActorFutureExt, Addr, Handler, ResponseActFuture, WrapFuture};
use std::time::{Duration, Instant};

struct Add(u64);
struct Total;
struct Produce(u64);
messages!(Add, Total => u64, Produce);

struct Counter(u64);
struct Producer(Addr<Counter>);
plain_actors!(Counter, Producer);

impl Handler<Add> for Counter {
    type Result = ();

    fn handle(&mut self, Add(value): Add, _cx: &mut Self::Context) {
        self.0 += value;
    }
}

impl Handler<Total> for Counter {
    type Result = u64;

    fn handle(&mut self, _message: Total, _cx: &mut Self::Context) -> u64 {
        self.0
    }
}

impl Handler<Produce> for Producer {
    type Result = ResponseActFuture<Self, ()>;

    fn handle(&mut self, Produce(n): Produce, _cx: &mut Self::Context) -> Self::Result {
        for _ in 0..n {
            self.0.do_send(Add(1));
        }
        let total = self.0.send(Total).into_actor(self);
        Box::pin(total.map(move |total, _me, _cx| {
            assert_eq!(total, Ok(n), "every message was handled once");
        }))
    }
}

pub(super) async fn run(stage: Stage, n: u64) -> Duration {
    let counter = Counter::start_in_arbiter(&stage.second, |_| Counter(0));
    let producer = Producer(counter).start();
    let clock = Instant::now();
    producer.send(Produce(n)).await.expect("the producer answers");
    clock.elapsed()
}
