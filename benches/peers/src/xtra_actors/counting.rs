//! One actor sends numbers to another, waits until it has had them, then asks it for their count.

use super::{Mailboxes, tell};
use crate::shape::report;
use std::time::{Duration, Instant};
use tokio::sync::oneshot;
use xtra::{Address, Context, Handler};

struct Counter {
    total: u64,
    goal: u64,
    /// The question for the total could overtake messages, so it waits for this.
    done: Option<oneshot::Sender<()>>,
}
struct Add(u64);
struct Total;

struct Producer(Address<Counter>, Option<oneshot::Receiver<()>>);
struct Produce(u64);

plain_actors!(Counter, Producer);

impl Handler<Add> for Counter {
    type Return = ();

    async fn handle(&mut self, Add(value): Add, _cx: &mut Context<Self>) {
        self.total += value;
        if self.total == self.goal {
            report(&mut self.done, ());
        }
    }
}

impl Handler<Total> for Counter {
    type Return = u64;

    async fn handle(&mut self, _message: Total, _cx: &mut Context<Self>) -> u64 {
        self.total
    }
}

impl Handler<Produce> for Producer {
    type Return = ();

    async fn handle(&mut self, Produce(n): Produce, _cx: &mut Context<Self>) {
        for _ in 0..n {
            tell(&self.0, Add(1)).await;
        }
        if let Some(counted) = self.1.take() {
            counted.await.expect("the counter counts them all");
        }
        assert_eq!(self.0.send(Total).await, Ok(n), "every message was handled once");
    }
}

pub(super) async fn run(mailboxes: Mailboxes, n: u64) -> Duration {
    let (tell, counted) = oneshot::channel();
    let counter = mailboxes.spawn(Counter { total: 0, goal: n, done: Some(tell) });
    let producer = mailboxes.spawn(Producer(counter, Some(counted)));
    let clock = Instant::now();
    producer.send(Produce(n)).await.expect("the producer answers");
    clock.elapsed()
}
