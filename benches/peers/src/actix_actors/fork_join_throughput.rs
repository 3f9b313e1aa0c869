//! One actor sends to sixty in turn, each of which computes something for each message.

use super::{Stage, messages, plain_actors};
use crate::shape::compute;
use crate::sizes::FORKS;
use crate::{Countdown, Ticket};
use actix::{Actor, Addr, Handler};
use std::time::{Duration, Instant};

struct Compute(u64);
struct Send(u64);
messages!(Compute, Send);

struct Fork {
    left: u64,
    ticket: Option<Ticket>,
}
struct Sender(Vec<Addr<Fork>>);
plain_actors!(Fork, Sender);

impl Handler<Compute> for Fork {
    type Result = ();

    fn handle(&mut self, Compute(number): Compute, _cx: &mut Self::Context) {
        compute(number);
        self.left -= 1;
        if self.left == 0 {
            self.ticket = None;
        }
    }
}

impl Handler<Send> for Sender {
    type Result = ();

    fn handle(&mut self, Send(each): Send, _cx: &mut Self::Context) {
        for number in 0..each {
            for fork in &self.0 {
                fork.do_send(Compute(number));
            }
        }
    }
}

pub(super) async fn run(stage: Stage, n: u64) -> Duration {
    let (each, countdown) = (n / FORKS, Countdown::new(FORKS));
    let start = |index| {
        let fork = Fork { left: each, ticket: Some(countdown.ticket()) };
        stage.start(index, fork)
    };
    let sender = Sender((0..FORKS).map(start).collect()).start();
    let clock = Instant::now();
    sender.do_send(Send(each));
    countdown.done.await.expect("every message is handled");
    clock.elapsed()
}
