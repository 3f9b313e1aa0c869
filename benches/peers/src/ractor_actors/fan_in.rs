//! Several actors, and several plain threads, send numbers to one actor.

use super::Done;
use crate::shape::{outside, sum_below};
use crate::sizes::{PRODUCERS, THREADS};
use crate::{Countdown, Ticket};
use ractor::{Actor, ActorProcessingErr, ActorRef, RpcReplyPort, call};
use std::time::{Duration, Instant};

/// Adds up; its ticket is gone when it has had all the numbers that it waits for.
struct Sink;

enum Pouring {
    Number(u64),
    Sum(RpcReplyPort<u64>),
}

struct Basin {
    sum: u64,
    left: u64,
    done: Option<Ticket>,
}

impl Actor for Sink {
    type Msg = Pouring;
    type State = Basin;
    type Arguments = Basin;

    async fn pre_start(
        &self,
        _me: ActorRef<Pouring>,
        basin: Basin,
    ) -> Result<Basin, ActorProcessingErr> {
        Ok(basin)
    }

    async fn handle(&self, _me: ActorRef<Pouring>, message: Pouring, basin: &mut Basin) -> Done {
        match message {
            Pouring::Number(number) => {
                basin.sum += number;
                basin.left -= 1;
                if basin.left == 0 {
                    basin.done = None;
                }
            }
            Pouring::Sum(reply) => reply.send(basin.sum)?,
        }
        Ok(())
    }
}

struct Source;

struct Pour(u64);

impl Actor for Source {
    type Msg = Pour;
    type State = ActorRef<Pouring>;
    type Arguments = ActorRef<Pouring>;

    async fn pre_start(
        &self,
        _me: ActorRef<Pour>,
        sink: ActorRef<Pouring>,
    ) -> Result<ActorRef<Pouring>, ActorProcessingErr> {
        Ok(sink)
    }

    async fn handle(
        &self,
        _me: ActorRef<Pour>,
        Pour(count): Pour,
        sink: &mut ActorRef<Pouring>,
    ) -> Done {
        for number in 0..count {
            sink.cast(Pouring::Number(number))?;
        }
        Ok(())
    }
}

async fn sink(left: u64) -> (ActorRef<Pouring>, Countdown) {
    let countdown = Countdown::new(1);
    let basin = Basin { sum: 0, left, done: Some(countdown.ticket()) };
    let (sink, _) = Actor::spawn(None, Sink, basin).await.expect("the sink starts");
    (sink, countdown)
}

pub(super) async fn fan_in(n: u64) -> Duration {
    let each = n / PRODUCERS;
    let (sink, countdown) = sink(PRODUCERS * each).await;
    let mut sources = Vec::new();
    for _ in 0..PRODUCERS {
        let (source, _) = Actor::spawn(None, Source, sink.clone()).await.expect("a source starts");
        sources.push(source);
    }
    let clock = Instant::now();
    for source in &sources {
        source.cast(Pour(each)).expect("the source lives");
    }
    countdown.done.await.expect("the sink waits for its numbers");
    let took = clock.elapsed();
    let sum = call!(sink, Pouring::Sum).expect("the sink answers");
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
                sink.cast(Pouring::Number(number)).expect("the sink lives");
            }
        });
    }
    countdown.done.await.expect("the sink waits for its numbers");
    let took = clock.elapsed();
    let sum = call!(sink, Pouring::Sum).expect("the sink answers");
    assert_eq!(sum, THREADS * sum_below(each), "every number was added once");
    took
}
