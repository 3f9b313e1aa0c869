//! One sender gives work to many actors in turn.

use super::start;
use crate::shape::compute;
use crate::sizes::FORKS;
use crate::{Countdown, Ticket};
use async_trait::async_trait;
use coerce::actor::Actor;
use coerce::actor::context::ActorContext;
use coerce::actor::message::Handler;
use coerce::actor::system::ActorSystem;
use std::time::{Duration, Instant};

struct Computer {
    handled: u64,
    goal: u64,
    done: Option<Ticket>,
}

struct Number(u64);
message!(Number);
struct Handled;
message!(Handled -> u64);
impl Actor for Computer {}

#[async_trait]
impl Handler<Number> for Computer {
    async fn handle(&mut self, Number(number): Number, _cx: &mut ActorContext) {
        compute(number);
        self.handled += 1;
        if self.handled == self.goal {
            self.done = None;
        }
    }
}

#[async_trait]
impl Handler<Handled> for Computer {
    async fn handle(&mut self, _message: Handled, _cx: &mut ActorContext) -> u64 {
        self.handled
    }
}

pub(super) async fn run(n: u64) -> Duration {
    let (goal, countdown) = (n / FORKS, Countdown::new(FORKS));
    let system = ActorSystem::new();
    let mut computers = Vec::new();
    for _ in 0..FORKS {
        let computer = Computer { handled: 0, goal, done: Some(countdown.ticket()) };
        computers.push(start(&system, computer).await);
    }
    let clock = Instant::now();
    for number in 0..goal {
        for computer in &computers {
            computer.notify(Number(number)).expect("the computer lives");
        }
    }
    countdown.done.await.expect("the computers work");
    let took = clock.elapsed();
    for computer in computers {
        let handled = computer.send(Handled).await.expect("the computer answers");
        assert_eq!(handled, goal, "every number was handled once");
    }
    took
}
