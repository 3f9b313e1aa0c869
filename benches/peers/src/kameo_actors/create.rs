//! Actors that are started: to handle one message and stop, or to stay.

use super::mailboxes::Mailbox;
use crate::shape::Resident;
use crate::{Countdown, Ticket};
use kameo::Actor;
use kameo::actor::{ActorRef, Spawn};
use kameo::mailbox;
use kameo::message::{Context, Message};
use std::convert::Infallible;
use std::time::{Duration, Instant};

#[expect(dead_code, reason = "the ticket tells by its drop that the actor is gone")]
struct Short(Ticket);
struct Once;
plain_actor!(Short);

impl Message<Once> for Short {
    type Reply = ();

    async fn handle(&mut self, _message: Once, cx: &mut Context<Self, ()>) {
        cx.stop();
    }
}

pub(super) async fn fork_join_create<B: Mailbox>(n: u64) -> Duration {
    let countdown = Countdown::new(n);
    let clock = Instant::now();
    for _ in 0..n {
        let actor = B::spawn(Short(countdown.ticket()));
        B::tell(&actor, Once).await;
    }
    countdown.done.await.expect("every actor ends");
    clock.elapsed()
}

#[expect(dead_code, reason = "an idle actor does not look at its state")]
struct Idle(u64);

impl Actor for Idle {
    type Args = (u64, Ticket);
    type Error = Infallible;

    async fn on_start(
        (number, _started): (u64, Ticket),
        _me: ActorRef<Self>,
    ) -> Result<Self, Infallible> {
        Ok(Self(number))
    }
}

pub(super) async fn idle_million(n: u64) -> Duration {
    let before = Resident::now();
    let countdown = Countdown::new(n);
    let clock = Instant::now();
    // An actor stops when nobody refers to it any more.
    let idle: Vec<_> = (0..n)
        .map(|number| Idle::spawn_with_mailbox((number, countdown.ticket()), mailbox::unbounded()))
        .collect();
    countdown.done.await.expect("every actor starts");
    let took = clock.elapsed();
    before.tell_bytes_each(n);
    drop(idle);
    took
}
