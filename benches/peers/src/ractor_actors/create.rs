//! Actors that are started: to handle one message and stop, or to stay.

use super::Done;
use crate::shape::Resident;
use crate::{Countdown, Ticket};
use ractor::{Actor, ActorProcessingErr, ActorRef, ActorRuntime};
use std::time::{Duration, Instant};

struct Short;

impl Actor for Short {
    type Msg = ();
    type State = Ticket;
    type Arguments = Ticket;

    async fn pre_start(
        &self,
        _me: ActorRef<()>,
        ticket: Ticket,
    ) -> Result<Ticket, ActorProcessingErr> {
        Ok(ticket)
    }

    async fn handle(&self, me: ActorRef<()>, _message: (), _state: &mut Ticket) -> Done {
        me.stop(None);
        Ok(())
    }
}

pub(super) async fn fork_join_create(n: u64) -> Duration {
    let countdown = Countdown::new(n);
    let clock = Instant::now();
    for _ in 0..n {
        let ticket = countdown.ticket();
        let (actor, _) = ActorRuntime::spawn_instant(None, Short, ticket).expect("it starts");
        actor.cast(()).expect("the actor lives");
    }
    countdown.done.await.expect("every actor ends");
    clock.elapsed()
}

struct Idle;

impl Actor for Idle {
    type Msg = ();
    type State = u64;
    type Arguments = (u64, Ticket);

    async fn pre_start(
        &self,
        _me: ActorRef<()>,
        (number, _started): (u64, Ticket),
    ) -> Result<u64, ActorProcessingErr> {
        Ok(number)
    }
}

pub(super) async fn idle_million(n: u64) -> Duration {
    let before = Resident::now();
    let countdown = Countdown::new(n);
    let clock = Instant::now();
    for number in 0..n {
        let ticket = countdown.ticket();
        ActorRuntime::spawn_instant(None, Idle, (number, ticket)).expect("it starts");
    }
    countdown.done.await.expect("every actor starts");
    let took = clock.elapsed();
    before.tell_bytes_each(n);
    took
}
