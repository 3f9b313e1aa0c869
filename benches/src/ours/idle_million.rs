//! Actors are started and stay, with nothing to do.

use super::PATIENCE;
use greenroom::{Actor, Context, Ref, System, handlers};
use greenroom_peers::shape::Resident;
use greenroom_peers::{Countdown, Ticket};
use std::time::{Duration, Instant};

#[derive(Actor)]
struct Sleeper {
    number: u64,
}

#[handlers]
impl Sleeper {
    #[start]
    fn start(number: u64, started: Ticket) -> Self {
        drop(started);
        Self { number }
    }

    #[ask]
    fn number(&self) -> u64 {
        self.number
    }
}

#[derive(Actor)]
struct Parent {
    sleepers: Vec<Ref<Sleeper>>,
}

#[handlers]
impl Parent {
    #[start]
    fn start() -> Self {
        Self { sleepers: Vec::new() }
    }

    #[ask]
    async fn run(&mut self, n: u64, cx: &mut Context<Self>) {
        let started = Countdown::new(n);
        for number in 0..n {
            let sleeper = cx.spawn::<Sleeper>((number, started.ticket())).start();
            self.sleepers.push(sleeper.expect("a sleeper starts"));
        }
        started.done.await.expect("every sleeper starts");
    }

    #[ask]
    async fn last(&self) -> Option<u64> {
        self.sleepers.last()?.number().await.ok()
    }
}

pub(super) async fn run(system: System, n: u64) -> Duration {
    let parent = system.spawn::<Parent>(()).await.expect("the parent starts");
    let before = Resident::now();
    let clock = Instant::now();
    parent.run(n).within(PATIENCE).await.expect("the parent answers");
    let took = clock.elapsed();
    before.tell_bytes_each(n);
    let last = parent.last().within(PATIENCE).await;
    assert_eq!(last, Ok(n.checked_sub(1)), "the sleepers are still there");
    took
}
