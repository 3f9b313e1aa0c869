//! Many tasks send pings to each other at random, and wait for each pong.

use crate::shape::Dice;
use crate::sizes::PEERS;
use crate::{Countdown, Ticket};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

enum Message {
    Begin,
    Ping(usize),
    Pong,
}

type Crowd = Arc<[UnboundedSender<Message>]>;

async fn peer(
    me: usize,
    mut left: u64,
    crowd: Crowd,
    mut mailbox: UnboundedReceiver<Message>,
    ticket: Ticket,
) {
    let (mut dice, mut ticket) = (Dice::new(me), Some(ticket));
    while let Some(message) = mailbox.recv().await {
        match message {
            Message::Ping(from) => {
                crowd[from].send(Message::Pong).expect("the other one lives");
                continue;
            }
            Message::Pong => left -= 1,
            Message::Begin => {}
        }
        if left == 0 {
            ticket = None;
        } else {
            let other = dice.other(me, crowd.len());
            crowd[other].send(Message::Ping(me)).expect("the other one lives");
        }
    }
    drop(ticket);
}

pub(super) async fn run(n: u64) -> Duration {
    let countdown = Countdown::new(PEERS);
    let (crowd, mailboxes): (Vec<_>, Vec<_>) = (0..PEERS).map(|_| unbounded_channel()).unzip();
    let crowd: Crowd = crowd.into();
    for (me, mailbox) in mailboxes.into_iter().enumerate() {
        let (crowd, ticket) = (Arc::clone(&crowd), countdown.ticket());
        tokio::spawn(peer(me, n / PEERS, crowd, mailbox, ticket));
    }
    let clock = Instant::now();
    for peer in crowd.iter() {
        peer.send(Message::Begin).expect("the peer lives");
    }
    countdown.done.await.expect("every ping has its pong");
    clock.elapsed()
}
