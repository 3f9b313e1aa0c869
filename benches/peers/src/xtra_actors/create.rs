//! Actors that are started: to handle one message and stop, or to stay.

use super::{Mailboxes, spawn, tell};
use crate::shape::Resident;
use crate::{Countdown, Ticket};
use std::time::{Duration, Instant};
use xtra::{Actor, Context, Handler, Mailbox};

#[expect(dead_code, reason = "the ticket tells by its drop that the actor is gone")]
struct Short(Ticket);
struct Once;

plain_actors!(Short);

impl Handler<Once> for Short {
    type Return = ();

    async fn handle(&mut self, _message: Once, cx: &mut Context<Self>) {
        cx.stop_self();
    }
}

pub(super) async fn fork_join_create(mailboxes: Mailboxes, n: u64) -> Duration {
    let countdown = Countdown::new(n);
    let clock = Instant::now();
    for _ in 0..n {
        let actor = mailboxes.spawn(Short(countdown.ticket()));
        tell(&actor, Once).await;
    }
    countdown.done.await.expect("every actor ends");
    clock.elapsed()
}

struct Idle {
    #[expect(dead_code, reason = "an idle actor does not look at its state")]
    number: u64,
    starting: Option<Ticket>,
}

impl Actor for Idle {
    type Stop = ();

    async fn started(&mut self, _mailbox: &Mailbox<Self>) -> Result<(), ()> {
        self.starting = None;
        Ok(())
    }

    async fn stopped(self) {}
}

pub(super) async fn idle_million(n: u64) -> Duration {
    let before = Resident::now();
    let countdown = Countdown::new(n);
    let clock = Instant::now();
    // An actor stops when nobody has its address any more.
    let idle: Vec<_> =
        (0..n).map(|number| spawn(Idle { number, starting: Some(countdown.ticket()) })).collect();
    countdown.done.await.expect("every actor starts");
    let took = clock.elapsed();
    before.tell_bytes_each(n);
    drop(idle);
    took
}
