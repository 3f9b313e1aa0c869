//! One actor sends numbers to another, then asks it for their count.

use super::mailboxes::Mailbox;
use kameo::actor::ActorRef;
use kameo::message::{Context, Message};
use std::marker::PhantomData;
use std::time::{Duration, Instant};

struct Counter(u64);
struct Add(u64);
struct Total;
plain_actor!(Counter);

impl Message<Add> for Counter {
    type Reply = ();

    async fn handle(&mut self, Add(value): Add, _cx: &mut Context<Self, ()>) {
        self.0 += value;
    }
}

impl Message<Total> for Counter {
    type Reply = u64;

    async fn handle(&mut self, _message: Total, _cx: &mut Context<Self, u64>) -> u64 {
        self.0
    }
}

struct Producer<B>(ActorRef<Counter>, PhantomData<B>);
struct Produce(u64);
plain_actor!(Producer<B>, B: Mailbox);

impl<B: Mailbox> Message<Produce> for Producer<B> {
    type Reply = ();

    async fn handle(&mut self, Produce(n): Produce, _cx: &mut Context<Self, ()>) {
        for _ in 0..n {
            B::tell(&self.0, Add(1)).await;
        }
        let total = self.0.ask(Total).send().await.expect("the counter answers");
        assert_eq!(total, n, "every message was handled once");
    }
}

pub(super) async fn run<B: Mailbox>(n: u64) -> Duration {
    let producer = B::spawn(Producer::<B>(B::spawn(Counter(0)), PhantomData));
    producer.wait_for_startup().await;
    let clock = Instant::now();
    producer.ask(Produce(n)).send().await.expect("the producer answers");
    clock.elapsed()
}
