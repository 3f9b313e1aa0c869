//! Actors that are started: to handle one message and stop, or to stay.

use crate::shape::Resident;
use crate::{Countdown, Ticket};
use async_trait::async_trait;
use coerce::actor::Actor;
use coerce::actor::context::ActorContext;
use coerce::actor::message::Handler;
use coerce::actor::scheduler::ActorType;
use coerce::actor::system::ActorSystem;
use std::time::{Duration, Instant};

#[expect(dead_code, reason = "the ticket tells by its drop that the actor is gone")]
struct Short(Ticket);
struct Once;
message!(Once);
impl Actor for Short {}

#[async_trait]
impl Handler<Once> for Short {
    async fn handle(&mut self, _message: Once, cx: &mut ActorContext) {
        cx.stop(None);
    }
}

pub(super) async fn fork_join_create(n: u64) -> Duration {
    let system = ActorSystem::new();
    let countdown = Countdown::new(n);
    let clock = Instant::now();
    for _ in 0..n {
        let short = Short(countdown.ticket());
        let actor = system.new_actor_deferred("short", short, ActorType::Anonymous).await;
        actor.notify(Once).expect("the actor lives");
    }
    countdown.done.await.expect("every actor ends");
    clock.elapsed()
}

struct Idle {
    #[expect(dead_code, reason = "an idle actor does not look at its state")]
    number: u64,
    started: Option<Ticket>,
}

#[async_trait]
impl Actor for Idle {
    async fn started(&mut self, _cx: &mut ActorContext) {
        self.started = None;
    }
}

pub(super) async fn idle_million(n: u64) -> Duration {
    let system = ActorSystem::new();
    let before = Resident::now();
    let countdown = Countdown::new(n);
    let clock = Instant::now();
    for number in 0..n {
        let idle = Idle { number, started: Some(countdown.ticket()) };
        system.new_actor_deferred("idle", idle, ActorType::Anonymous).await;
    }
    countdown.done.await.expect("every actor starts");
    let took = clock.elapsed();
    before.tell_bytes_each(n);
    took
}
