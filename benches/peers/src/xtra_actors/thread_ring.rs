//! Actors in a ring pass a token on.

use super::{spawn, tell};
use crate::sizes::RING;
use crate::{Countdown, Ticket};
use std::time::{Duration, Instant};
use xtra::{Address, Context, Handler};

struct Link {
    next: Option<Address<Self>>,
    /// The actor has it with whom the token ends.
    done: Option<Ticket>,
}

struct Next(Address<Link>);
struct Token(u64);
plain_actors!(Link);

impl Handler<Next> for Link {
    type Return = ();

    async fn handle(&mut self, Next(next): Next, _cx: &mut Context<Self>) {
        self.next = Some(next);
    }
}

impl Handler<Token> for Link {
    type Return = ();

    async fn handle(&mut self, Token(hops): Token, _cx: &mut Context<Self>) {
        match (hops, &self.next) {
            (0, _) => self.done = None,
            (hops, Some(next)) => {
                tell(next, Token(hops - 1)).await;
            }
            (_, None) => {}
        }
    }
}

pub(super) async fn run(n: u64) -> Duration {
    let countdown = Countdown::new(1);
    let links: Vec<_> = (0..RING)
        .map(|index| (index == n % RING).then(|| countdown.ticket()))
        .map(|done| spawn(Link { next: None, done }))
        .collect();
    for (link, next) in links.iter().zip(links.iter().cycle().skip(1)) {
        link.send(Next(next.clone())).await.expect("the link lives");
    }
    let clock = Instant::now();
    tell(&links[0], Token(n)).await;
    countdown.done.await.expect("the token is passed on");
    clock.elapsed()
}
