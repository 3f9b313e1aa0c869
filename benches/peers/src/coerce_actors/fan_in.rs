//! Several actors, and several plain threads, send numbers to one actor.

use super::start;
use crate::shape::{outside, sum_below};
use crate::sizes::{PRODUCERS, THREADS};
use crate::{Countdown, Ticket};
use async_trait::async_trait;
use coerce::actor::context::ActorContext;
use coerce::actor::message::Handler;
use coerce::actor::system::ActorSystem;
use coerce::actor::{Actor, LocalActorRef};
use std::time::{Duration, Instant};

/// Adds up; its ticket is gone when it has had all the numbers that it waits for.
struct Sink {
    sum: u64,
    left: u64,
    done: Option<Ticket>,
}

struct Number(u64);
message!(Number);
struct Sum;
message!(Sum -> u64);
impl Actor for Sink {}

#[async_trait]
impl Handler<Number> for Sink {
    async fn handle(&mut self, Number(number): Number, _cx: &mut ActorContext) {
        self.sum += number;
        self.left -= 1;
        if self.left == 0 {
            self.done = None;
        }
    }
}

#[async_trait]
impl Handler<Sum> for Sink {
    async fn handle(&mut self, _message: Sum, _cx: &mut ActorContext) -> u64 {
        self.sum
    }
}

struct Source(LocalActorRef<Sink>);
struct Pour(u64);
message!(Pour);
impl Actor for Source {}

#[async_trait]
impl Handler<Pour> for Source {
    async fn handle(&mut self, Pour(count): Pour, _cx: &mut ActorContext) {
        for number in 0..count {
            self.0.notify(Number(number)).expect("the sink lives");
        }
    }
}

async fn sink(system: &ActorSystem, left: u64) -> (LocalActorRef<Sink>, Countdown) {
    let countdown = Countdown::new(1);
    let sink = start(system, Sink { sum: 0, left, done: Some(countdown.ticket()) }).await;
    (sink, countdown)
}

pub(super) async fn fan_in(n: u64) -> Duration {
    let each = n / PRODUCERS;
    let system = ActorSystem::new();
    let (sink, countdown) = sink(&system, PRODUCERS * each).await;
    let mut sources = Vec::new();
    for _ in 0..PRODUCERS {
        sources.push(start(&system, Source(sink.clone())).await);
    }
    let clock = Instant::now();
    for source in &sources {
        source.notify(Pour(each)).expect("the source lives");
    }
    countdown.done.await.expect("the sink waits for its numbers");
    let took = clock.elapsed();
    let sum = sink.send(Sum).await.expect("the sink answers");
    assert_eq!(sum, PRODUCERS * sum_below(each), "every number was added once");
    took
}

pub(super) async fn sends_outside(n: u64) -> Duration {
    let each = n / THREADS;
    let system = ActorSystem::new();
    let (sink, countdown) = sink(&system, THREADS * each).await;
    let clock = Instant::now();
    for _ in 0..THREADS {
        let sink = sink.clone();
        outside(move || {
            for number in 0..each {
                sink.notify(Number(number)).expect("the sink lives");
            }
        });
    }
    countdown.done.await.expect("the sink waits for its numbers");
    let took = clock.elapsed();
    let sum = sink.send(Sum).await.expect("the sink answers");
    assert_eq!(sum, THREADS * sum_below(each), "every number was added once");
    took
}
