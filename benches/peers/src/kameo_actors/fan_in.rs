//! Several actors, and several plain threads, send numbers to one actor.

use super::mailboxes::{Mailbox, Unbounded};
use crate::shape::{outside, sum_below};
use crate::sizes::{PRODUCERS, THREADS};
use crate::{Countdown, Ticket};
use kameo::actor::ActorRef;
use kameo::message::{Context, Message};
use std::time::{Duration, Instant};

/// Adds up; its ticket is gone when it has had all the numbers that it waits for.
struct Sink {
    sum: u64,
    left: u64,
    done: Option<Ticket>,
}

struct Number(u64);
struct Sum;
plain_actor!(Sink);

impl Message<Number> for Sink {
    type Reply = ();

    async fn handle(&mut self, Number(number): Number, _cx: &mut Context<Self, ()>) {
        self.sum += number;
        self.left -= 1;
        if self.left == 0 {
            self.done = None;
        }
    }
}

impl Message<Sum> for Sink {
    type Reply = u64;

    async fn handle(&mut self, _message: Sum, _cx: &mut Context<Self, u64>) -> u64 {
        self.sum
    }
}

struct Source(ActorRef<Sink>);
struct Pour(u64);
plain_actor!(Source);

impl Message<Pour> for Source {
    type Reply = ();

    async fn handle(&mut self, Pour(count): Pour, _cx: &mut Context<Self, ()>) {
        for number in 0..count {
            self.0.tell(Number(number)).try_send().expect("the sink lives");
        }
    }
}

async fn sink(left: u64) -> (ActorRef<Sink>, Countdown) {
    let countdown = Countdown::new(1);
    let sink = Unbounded::spawn(Sink { sum: 0, left, done: Some(countdown.ticket()) });
    sink.wait_for_startup().await;
    (sink, countdown)
}

pub(super) async fn fan_in(n: u64) -> Duration {
    let each = n / PRODUCERS;
    let (sink, countdown) = sink(PRODUCERS * each).await;
    let sources: Vec<_> = (0..PRODUCERS).map(|_| Unbounded::spawn(Source(sink.clone()))).collect();
    for source in &sources {
        source.wait_for_startup().await;
    }
    let clock = Instant::now();
    for source in &sources {
        source.tell(Pour(each)).try_send().expect("the source lives");
    }
    countdown.done.await.expect("the sink waits for its numbers");
    let took = clock.elapsed();
    let sum = sink.ask(Sum).send().await.expect("the sink answers");
    assert_eq!(sum, PRODUCERS * sum_below(each), "every number was added once");
    took
}

pub(super) async fn sends_outside(n: u64) -> Duration {
    let each = n / THREADS;
    let (sink, countdown) = sink(THREADS * each).await;
    let clock = Instant::now();
    for _ in 0..THREADS {
        let sink = sink.clone();
        outside(move || {
            for number in 0..each {
                sink.tell(Number(number)).try_send().expect("the sink lives");
            }
        });
    }
    countdown.done.await.expect("the sink waits for its numbers");
    let took = clock.elapsed();
    let sum = sink.ask(Sum).send().await.expect("the sink answers");
    assert_eq!(sum, THREADS * sum_below(each), "every number was added once");
    took
}
