//! Many actors send pings to each other at random, and wait for each pong.

use greenroom::{Actor, Ref, System, handlers};
use greenroom_peers::shape::Dice;
use greenroom_peers::sizes::PEERS;
use greenroom_peers::{Countdown, Ticket};
use std::sync::Arc;
use std::time::{Duration, Instant};

#[derive(Actor)]
struct Peer {
    dice: Dice,
    left: u64,
    me: usize,
    crowd: Arc<[Ref<Self>]>,
    ticket: Option<Ticket>,
}

#[handlers]
impl Peer {
    #[start]
    fn start(me: usize, left: u64, ticket: Ticket) -> Self {
        Self { dice: Dice::new(me), left, me, crowd: Arc::new([]), ticket: Some(ticket) }
    }

    #[ask]
    fn join(&mut self, crowd: Arc<[Ref<Self>]>) {
        self.crowd = crowd;
    }

    #[tell]
    fn begin(&mut self) {
        self.send_ping();
    }

    #[tell]
    fn ping(&self, from: usize) {
        self.crowd[from].pong().tell().expect("the other one lives");
    }

    #[tell]
    fn pong(&mut self) {
        self.left -= 1;
        self.send_ping();
    }

    fn send_ping(&mut self) {
        if self.left == 0 {
            self.ticket = None;
        } else {
            let other = self.dice.other(self.me, self.crowd.len());
            self.crowd[other].ping(self.me).tell().expect("the other one lives");
        }
    }
}

pub(super) async fn run(system: System, n: u64) -> Duration {
    let countdown = Countdown::new(PEERS);
    let start = |me| {
        let args = (me, n / PEERS, countdown.ticket());
        system.spawn::<Peer>(args).start().expect("a peer starts")
    };
    let crowd: Arc<[_]> = (0..PEERS as usize).map(start).collect();
    for peer in crowd.iter() {
        peer.join(Arc::clone(&crowd)).await.expect("the peer lives");
    }
    let clock = Instant::now();
    for peer in crowd.iter() {
        peer.begin().tell().expect("the peer lives");
    }
    countdown.done.await.expect("every ping has its pong");
    clock.elapsed()
}
