//! Actors in a ring pass a token on.

use super::start;
use crate::sizes::RING;
use crate::{Countdown, Ticket};
use async_trait::async_trait;
use coerce::actor::context::ActorContext;
use coerce::actor::message::Handler;
use coerce::actor::system::ActorSystem;
use coerce::actor::{Actor, LocalActorRef};
use std::time::{Duration, Instant};

struct Link {
    next: Option<LocalActorRef<Self>>,
    /// The actor has it with whom the token ends.
    done: Option<Ticket>,
}

struct Next(LocalActorRef<Link>);
message!(Next);
struct Token(u64);
message!(Token);
impl Actor for Link {}

#[async_trait]
impl Handler<Next> for Link {
    async fn handle(&mut self, Next(next): Next, _cx: &mut ActorContext) {
        self.next = Some(next);
    }
}

#[async_trait]
impl Handler<Token> for Link {
    async fn handle(&mut self, Token(hops): Token, _cx: &mut ActorContext) {
        match (hops, &self.next) {
            (0, _) => self.done = None,
            (hops, Some(next)) => {
                next.notify(Token(hops - 1)).expect("the next one lives");
            }
            (_, None) => {}
        }
    }
}

pub(super) async fn run(n: u64) -> Duration {
    let countdown = Countdown::new(1);
    let system = ActorSystem::new();
    let mut links = Vec::new();
    for index in 0..RING {
        let done = (index == n % RING).then(|| countdown.ticket());
        links.push(start(&system, Link { next: None, done }).await);
    }
    for (link, next) in links.iter().zip(links.iter().cycle().skip(1)) {
        link.send(Next(next.clone())).await.expect("the link lives");
    }
    let clock = Instant::now();
    links[0].notify(Token(n)).expect("the link lives");
    countdown.done.await.expect("the token is passed on");
    clock.elapsed()
}
