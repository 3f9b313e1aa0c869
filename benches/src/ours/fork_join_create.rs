//! An actor starts many children; each handles one message, stops and is dropped.

use super::PATIENCE;
use greenroom::{Actor, Context, System, handlers};
use greenroom_peers::{Countdown, Ticket};
use std::time::{Duration, Instant};

#[derive(Actor)]
struct Short {
    _ticket: Ticket,
}

#[handlers]
impl Short {
    #[start]
    fn start(ticket: Ticket) -> Self {
        Self { _ticket: ticket }
    }

    #[tell]
    fn once(&mut self, cx: &mut Context<Self>) {
        cx.stop();
    }
}

#[derive(Actor)]
struct Parent;

#[handlers]
impl Parent {
    #[start]
    fn start() -> Self {
        Self
    }

    #[ask]
    async fn run(&mut self, n: u64, cx: &mut Context<Self>) {
        let countdown = Countdown::new(n);
        for _ in 0..n {
            let child = cx.spawn::<Short>(countdown.ticket()).start().expect("a child starts");
            child.once().await.expect("the child lives");
        }
        countdown.done.await.expect("every child ends");
    }
}

pub(crate) async fn run(system: System, n: u64) -> Duration {
    let parent = system.spawn::<Parent>(()).await.expect("the parent starts");
    let clock = Instant::now();
    parent.run(n).within(PATIENCE).await.expect("the parent answers");
    clock.elapsed()
}
