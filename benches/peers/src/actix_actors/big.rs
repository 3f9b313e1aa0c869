//! Many actors send pings to each other at random, and wait for each pong.

use super::{Stage, messages, plain_actors};
use crate::shape::Dice;
use crate::sizes::PEERS;
use crate::{Countdown, Ticket};
use actix::{Addr, Handler};
use std::sync::Arc;
use std::time::{Duration, Instant};

struct Join(Arc<[Addr<Peer>]>);
struct Begin;
struct Ping(usize);
struct Pong;
messages!(Join, Begin, Ping, Pong);

struct Peer {
    dice: Dice,
    left: u64,
    me: usize,
    crowd: Arc<[Addr<Self>]>,
    ticket: Option<Ticket>,
}
plain_actors!(Peer);

impl Peer {
    fn send_ping(&mut self) {
        if self.left == 0 {
            self.ticket = None;
        } else {
            let other = self.dice.other(self.me, self.crowd.len());
            self.crowd[other].do_send(Ping(self.me));
        }
    }
}

impl Handler<Join> for Peer {
    type Result = ();

    fn handle(&mut self, Join(crowd): Join, _cx: &mut Self::Context) {
        self.crowd = crowd;
    }
}

impl Handler<Begin> for Peer {
    type Result = ();

    fn handle(&mut self, _message: Begin, _cx: &mut Self::Context) {
        self.send_ping();
    }
}

impl Handler<Ping> for Peer {
    type Result = ();

    fn handle(&mut self, Ping(from): Ping, _cx: &mut Self::Context) {
        self.crowd[from].do_send(Pong);
    }
}

impl Handler<Pong> for Peer {
    type Result = ();

    fn handle(&mut self, _message: Pong, _cx: &mut Self::Context) {
        self.left -= 1;
        self.send_ping();
    }
}

pub(super) async fn run(stage: Stage, n: u64) -> Duration {
    let countdown = Countdown::new(PEERS);
    let start = |index: u64| {
        let (me, ticket) = (index as usize, Some(countdown.ticket()));
        let (dice, left, crowd) = (Dice::new(me), n / PEERS, Arc::default());
        stage.start(index, Peer { dice, left, me, crowd, ticket })
    };
    let crowd: Arc<[_]> = (0..PEERS).map(start).collect();
    for peer in crowd.iter() {
        peer.send(Join(Arc::clone(&crowd))).await.expect("the peer lives");
    }
    let clock = Instant::now();
    for peer in crowd.iter() {
        peer.do_send(Begin);
    }
    countdown.done.await.expect("every ping has its pong");
    clock.elapsed()
}
