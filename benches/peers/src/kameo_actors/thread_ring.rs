//! Actors in a ring pass a token on.

use super::mailboxes::{Mailbox, Unbounded};
use crate::sizes::RING;
use crate::{Countdown, Ticket};
use kameo::actor::ActorRef;
use kameo::message::{Context, Message};
use std::time::{Duration, Instant};

struct Link {
    next: Option<ActorRef<Self>>,
    /// The actor has it with whom the token ends.
    done: Option<Ticket>,
}

struct Next(ActorRef<Link>);
struct Token(u64);
plain_actor!(Link);

impl Message<Next> for Link {
    type Reply = ();

    async fn handle(&mut self, Next(next): Next, _cx: &mut Context<Self, ()>) {
        self.next = Some(next);
    }
}

impl Message<Token> for Link {
    type Reply = ();

    async fn handle(&mut self, Token(hops): Token, _cx: &mut Context<Self, ()>) {
        match (hops, &self.next) {
            (0, _) => self.done = None,
            (hops, Some(next)) => {
                next.tell(Token(hops - 1)).try_send().expect("the next one lives");
            }
            (_, None) => {}
        }
    }
}

pub(super) async fn run(n: u64) -> Duration {
    let countdown = Countdown::new(1);
    let links: Vec<_> = (0..RING)
        .map(|index| (index == n % RING).then(|| countdown.ticket()))
        .map(|done| Unbounded::spawn(Link { next: None, done }))
        .collect();
    for (link, next) in links.iter().zip(links.iter().cycle().skip(1)) {
        link.ask(Next(next.clone())).send().await.expect("the link lives");
    }
    let clock = Instant::now();
    links[0].tell(Token(n)).try_send().expect("the link lives");
    countdown.done.await.expect("the token is passed on");
    clock.elapsed()
}
