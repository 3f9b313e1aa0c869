//! Actors are started and stay, with nothing to do.

use super::{Stage, messages};
use crate::shape::Resident;
use crate::{Countdown, Ticket};
use actix::{Actor, Context, Handler};
use std::time::{Duration, Instant};

struct Number;
messages!(Number => u64);

struct Sleeper {
    number: u64,
    starting: Option<Ticket>,
}

impl Actor for Sleeper {
    type Context = Context<Self>;

    fn started(&mut self, _cx: &mut Self::Context) {
        self.starting = None;
    }
}

impl Handler<Number> for Sleeper {
    type Result = u64;

    fn handle(&mut self, _message: Number, _cx: &mut Self::Context) -> u64 {
        self.number
    }
}

pub(super) async fn run(stage: Stage, n: u64) -> Duration {
    let mut sleepers = Vec::new();
    let before = Resident::now();
    let started = Countdown::new(n);
    let clock = Instant::now();
    for number in 0..n {
        let sleeper = Sleeper { number, starting: Some(started.ticket()) };
        sleepers.push(stage.start(number, sleeper));
    }
    started.done.await.expect("every sleeper starts");
    let took = clock.elapsed();
    before.tell_bytes_each(n);
    if let Some(last) = sleepers.last() {
        assert_eq!(last.send(Number).await, Ok(n - 1), "the sleepers are still there");
    }
    took
}
