//! Several actors, and several plain threads, send numbers to one actor.

use super::{Stage, messages, plain_actors};
use crate::shape::{outside, report, sum_below};
use crate::sizes::{PRODUCERS, THREADS};
use actix::{Addr, Handler};
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

struct Add(u64);
struct Produce(u64);
messages!(Add, Produce);

struct Sink {
    left: u64,
    sum: u64,
    done: Option<oneshot::Sender<u64>>,
}
struct Producer(Addr<Sink>);
plain_actors!(Sink, Producer);

impl Handler<Add> for Sink {
    type Result = ();

    fn handle(&mut self, Add(value): Add, _cx: &mut Self::Context) {
        self.sum += value;
        self.left -= 1;
        if self.left == 0 {
            report(&mut self.done, self.sum);
        }
    }
}

impl Handler<Produce> for Producer {
    type Result = ();

    fn handle(&mut self, Produce(count): Produce, _cx: &mut Self::Context) {
        for value in 0..count {
            self.0.do_send(Add(value));
        }
    }
}

/// The sink on the second arbiter, and what it adds up in the end.
fn sink(stage: &Stage, left: u64) -> (Addr<Sink>, oneshot::Receiver<u64>) {
    let (tell, done) = oneshot::channel();
    let sink = Sink { left, sum: 0, done: Some(tell) };
    (stage.start(1, sink), done)
}

pub(super) async fn run(stage: Stage, n: u64) -> Duration {
    let each = n / PRODUCERS;
    let (sink, done) = sink(&stage, PRODUCERS * each);
    let start = |index| stage.start(index, Producer(sink.clone()));
    let producers: Vec<_> = (0..PRODUCERS).map(start).collect();
    let clock = Instant::now();
    for producer in &producers {
        producer.do_send(Produce(each));
    }
    let sum = done.await;
    let took = clock.elapsed();
    assert_eq!(sum, Ok(PRODUCERS * sum_below(each)), "every number was added once");
    took
}

pub(super) async fn from_outside(stage: Stage, n: u64) -> Duration {
    let each = n / THREADS;
    let (sink, done) = sink(&stage, THREADS * each);
    let clock = Instant::now();
    for _ in 0..THREADS {
        let sink = sink.clone();
        outside(move || {
            for value in 0..each {
                sink.do_send(Add(value));
            }
        });
    }
    let sum = done.await;
    let took = clock.elapsed();
    assert_eq!(sum, Ok(THREADS * sum_below(each)), "every number was added once");
    took
}
