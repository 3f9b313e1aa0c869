//! A hundred actors in a ring pass a token on.

use super::{Stage, messages, plain_actors};
use crate::sizes::RING;
use actix::{Actor, Addr, Handler};
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

struct Close(Addr<Link>);
struct Token(u64);
messages!(Close, Token);

struct Link {
    next: Option<Addr<Self>>,
    done: Option<oneshot::Sender<()>>,
}
plain_actors!(Link);

impl Handler<Close> for Link {
    type Result = ();

    fn handle(&mut self, Close(first): Close, _cx: &mut Self::Context) {
        self.next = Some(first);
    }
}

impl Handler<Token> for Link {
    type Result = ();

    fn handle(&mut self, Token(hops): Token, _cx: &mut Self::Context) {
        match (hops, &self.next) {
            (0, _) => drop(self.done.take().map(|done| done.send(()))),
            (hops, Some(next)) => next.do_send(Token(hops - 1)),
            (_, None) => {}
        }
    }
}

pub(super) async fn run(stage: Stage, n: u64) -> Duration {
    let (tell, done) = oneshot::channel();
    let mut tell = Some(tell);
    // Where the token stops is known, and a token that stops elsewhere ends nothing.
    let mut start = |next, index| {
        let done = if index == n % RING { tell.take() } else { None };
        Link::start_in_arbiter(stage.of(index), move |_| Link { next, done })
    };
    let last = start(None, RING - 1);
    let first = (0..RING - 1).rev().fold(last.clone(), |next, index| start(Some(next), index));
    last.send(Close(first.clone())).await.expect("the last link lives");
    let clock = Instant::now();
    first.do_send(Token(n));
    done.await.expect("the token stops where it has to");
    clock.elapsed()
}
