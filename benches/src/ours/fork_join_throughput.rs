//! One actor sends to sixty in turn, each of which computes something for each message.

use super::PATIENCE;
use greenroom::{Actor, Ref, System, handlers};
use greenroom_peers::shape::compute;
use greenroom_peers::sizes::FORKS;
use greenroom_peers::{Countdown, Ticket};
use std::time::{Duration, Instant};

#[derive(Actor)]
struct Fork {
    left: u64,
    ticket: Option<Ticket>,
}

#[handlers]
impl Fork {
    #[start]
    fn start(left: u64, ticket: Ticket) -> Self {
        Self { left, ticket: Some(ticket) }
    }

    #[tell]
    fn compute(&mut self, number: u64) {
        compute(number);
        self.left -= 1;
        if self.left == 0 {
            self.ticket = None;
        }
    }
}

#[derive(Actor)]
struct Sender {
    forks: Vec<Ref<Fork>>,
}

#[handlers]
impl Sender {
    #[start]
    fn start(forks: Vec<Ref<Fork>>) -> Self {
        Self { forks }
    }

    #[ask]
    async fn run(&mut self, each: u64, forked: Countdown) {
        for number in 0..each {
            for fork in &self.forks {
                fork.compute(number).await.expect("a fork lives");
            }
        }
        forked.done.await.expect("every message is handled");
    }
}

pub(super) async fn run(system: System, n: u64) -> Duration {
    let (each, countdown) = (n / FORKS, Countdown::new(FORKS));
    let mut forks = Vec::new();
    for _ in 0..FORKS {
        let fork = system.spawn::<Fork>((each, countdown.ticket()));
        forks.push(fork.await.expect("a fork starts"));
    }
    let sender = system.spawn::<Sender>(forks).await.expect("the sender starts");
    let clock = Instant::now();
    sender.run(each, countdown).within(PATIENCE).await.expect("the sender answers");
    clock.elapsed()
}
