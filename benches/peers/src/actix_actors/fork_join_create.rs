//! Actors are started, each handles one message, stops and is dropped.

use super::{Stage, messages, plain_actors};
use crate::{Countdown, Ticket};
use actix::{Actor, ActorContext, AsyncContext, Handler};
use std::time::{Duration, Instant};

struct Once;
messages!(Once);

#[expect(dead_code, reason = "the ticket tells by its drop that the actor is gone")]
struct Short(Ticket);
plain_actors!(Short);

impl Handler<Once> for Short {
    type Result = ();

    fn handle(&mut self, _message: Once, cx: &mut Self::Context) {
        cx.stop();
    }
}

/// All on the running arbiter.
pub(super) async fn here(n: u64) -> Duration {
    let countdown = Countdown::new(n);
    let clock = Instant::now();
    for _ in 0..n {
        let ticket = countdown.ticket();
        Short::create(|cx| {
            cx.address().do_send(Once);
            Short(ticket)
        });
    }
    countdown.done.await.expect("every actor ends");
    clock.elapsed()
}

/// Every other actor on the second arbiter.
pub(super) async fn on_both(stage: Stage, n: u64) -> Duration {
    let countdown = Countdown::new(n);
    let clock = Instant::now();
    for turn in 0..n {
        let ticket = countdown.ticket();
        let actor = match turn % 2 {
            0 => Short(ticket).start(),
            _ => Short::start_in_arbiter(&stage.second, |_| Short(ticket)),
        };
        actor.do_send(Once);
    }
    countdown.done.await.expect("every actor ends");
    clock.elapsed()
}
