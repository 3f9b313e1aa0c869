//! One sender gives work to many actors in turn.

use super::mailboxes::{Mailbox, Unbounded};
use crate::shape::compute;
use crate::sizes::FORKS;
use crate::{Countdown, Ticket};
use kameo::message::{Context, Message};
use std::time::{Duration, Instant};

struct Computer {
    handled: u64,
    goal: u64,
    done: Option<Ticket>,
}

struct Number(u64);
struct Handled;
plain_actor!(Computer);

impl Message<Number> for Computer {
    type Reply = ();

    async fn handle(&mut self, Number(number): Number, _cx: &mut Context<Self, ()>) {
        compute(number);
        self.handled += 1;
        if self.handled == self.goal {
            self.done = None;
        }
    }
}

impl Message<Handled> for Computer {
    type Reply = u64;

    async fn handle(&mut self, _message: Handled, _cx: &mut Context<Self, u64>) -> u64 {
        self.handled
    }
}

pub(super) async fn run(n: u64) -> Duration {
    let (goal, countdown) = (n / FORKS, Countdown::new(FORKS));
    let computers: Vec<_> = (0..FORKS)
        .map(|_| Computer { handled: 0, goal, done: Some(countdown.ticket()) })
        .map(Unbounded::spawn)
        .collect();
    for computer in &computers {
        computer.wait_for_startup().await;
    }
    let clock = Instant::now();
    for number in 0..goal {
        for computer in &computers {
            computer.tell(Number(number)).try_send().expect("the computer lives");
        }
    }
    countdown.done.await.expect("the computers work");
    let took = clock.elapsed();
    for computer in computers {
        let handled = computer.ask(Handled).send().await.expect("the computer answers");
        assert_eq!(handled, goal, "every number was handled once");
    }
    took
}
