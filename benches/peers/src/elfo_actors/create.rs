//! Actors that are started: to handle one message and stop, or to stay.

use crate::shape::Resident;
use crate::{Countdown, Tickets};
use elfo::routers::{MapRouter, Outcome};
use elfo::{ActorGroup, Blueprint, Context, message, msg};
use std::time::{Duration, Instant};

/// Starts the actor whose key it holds.
#[message]
struct Once(u64);

/// Starts the actor whose key it holds, which stays.
#[message]
struct Stay(u64);

fn short(tickets: Tickets) -> Blueprint {
    let router = MapRouter::new(|envelope| {
        msg!(match envelope {
            Once(key) => Outcome::Unicast(*key),
            _ => Outcome::Default,
        })
    });
    ActorGroup::new().router(router).exec(move |mut cx| {
        let ticket = tickets.ticket();
        async move {
            cx.recv().await.expect("the message that started it");
            drop(ticket);
        }
    })
}

pub(super) async fn fork_join_create(n: u64) -> Duration {
    let countdown = Countdown::new(n);
    super::run([short(countdown.tickets())], async move |cx: Context, [short]| {
        let clock = Instant::now();
        for key in 0..n {
            cx.unbounded_send_to(short, Once(key)).expect("the actor starts");
        }
        countdown.done.await.expect("every actor ends");
        clock.elapsed()
    })
    .await
}

/// Their keys are their state.
fn idle(tickets: Tickets) -> Blueprint {
    let router = MapRouter::new(|envelope| {
        msg!(match envelope {
            Stay(key) => Outcome::Unicast(*key),
            _ => Outcome::Default,
        })
    });
    ActorGroup::new().router(router).exec(move |mut cx| {
        let tickets = tickets.clone();
        async move {
            drop(tickets.ticket());
            while cx.recv().await.is_some() {}
        }
    })
}

pub(super) async fn idle_million(n: u64) -> Duration {
    let countdown = Countdown::new(n);
    super::run([idle(countdown.tickets())], async move |cx: Context, [idle]| {
        let before = Resident::now();
        let clock = Instant::now();
        for key in 0..n {
            cx.unbounded_send_to(idle, Stay(key)).expect("the actor starts");
        }
        countdown.done.await.expect("every actor starts");
        let took = clock.elapsed();
        before.tell_bytes_each(n);
        took
    })
    .await
}
