//! One sender gives work to many actors in turn.

use super::{Mailboxes, tell};
use crate::shape::compute;
use crate::sizes::FORKS;
use crate::{Countdown, Ticket};
use std::time::{Duration, Instant};
use xtra::{Context, Handler};

struct Computer {
    handled: u64,
    goal: u64,
    done: Option<Ticket>,
}

struct Number(u64);
struct Handled;
plain_actors!(Computer);

impl Handler<Number> for Computer {
    type Return = ();

    async fn handle(&mut self, Number(number): Number, _cx: &mut Context<Self>) {
        compute(number);
        self.handled += 1;
        if self.handled == self.goal {
            self.done = None;
        }
    }
}

impl Handler<Handled> for Computer {
    type Return = u64;

    async fn handle(&mut self, _message: Handled, _cx: &mut Context<Self>) -> u64 {
        self.handled
    }
}

pub(super) async fn run(mailboxes: Mailboxes, n: u64) -> Duration {
    let (goal, countdown) = (n / FORKS, Countdown::new(FORKS));
    let computers: Vec<_> = (0..FORKS)
        .map(|_| Computer { handled: 0, goal, done: Some(countdown.ticket()) })
        .map(|computer| mailboxes.spawn(computer))
        .collect();
    let clock = Instant::now();
    for number in 0..goal {
        for computer in &computers {
            tell(computer, Number(number)).await;
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
