//! Several actors, and several plain threads, send numbers to one actor.

use super::{Mailboxes, tell};
use crate::shape::{outside, sum_below};
use crate::sizes::{PRODUCERS, THREADS};
use crate::{Countdown, Ticket};
use futures_util::FutureExt;
use std::time::{Duration, Instant};
use xtra::{Address, Context, Handler};

/// Adds up; its ticket is gone when it has had all the numbers that it waits for.
struct Sink {
    sum: u64,
    left: u64,
    done: Option<Ticket>,
}

struct Number(u64);
struct Sum;
plain_actors!(Sink);

impl Handler<Number> for Sink {
    type Return = ();

    async fn handle(&mut self, Number(number): Number, _cx: &mut Context<Self>) {
        self.sum += number;
        self.left -= 1;
        if self.left == 0 {
            self.done = None;
        }
    }
}

impl Handler<Sum> for Sink {
    type Return = u64;

    async fn handle(&mut self, _message: Sum, _cx: &mut Context<Self>) -> u64 {
        self.sum
    }
}

struct Source(Address<Sink>);
struct Pour(u64);
plain_actors!(Source);

impl Handler<Pour> for Source {
    type Return = ();

    async fn handle(&mut self, Pour(count): Pour, _cx: &mut Context<Self>) {
        for number in 0..count {
            tell(&self.0, Number(number)).await;
        }
    }
}

fn sink(mailboxes: Mailboxes, left: u64) -> (Address<Sink>, Countdown) {
    let countdown = Countdown::new(1);
    let sink = mailboxes.spawn(Sink { sum: 0, left, done: Some(countdown.ticket()) });
    (sink, countdown)
}

pub(super) async fn fan_in(mailboxes: Mailboxes, n: u64) -> Duration {
    let each = n / PRODUCERS;
    let (sink, countdown) = sink(mailboxes, PRODUCERS * each);
    let sources: Vec<_> = (0..PRODUCERS).map(|_| mailboxes.spawn(Source(sink.clone()))).collect();
    let clock = Instant::now();
    for source in &sources {
        tell(source, Pour(each)).await;
    }
    countdown.done.await.expect("the sink waits for its numbers");
    let took = clock.elapsed();
    let sum = sink.send(Sum).await.expect("the sink answers");
    assert_eq!(sum, PRODUCERS * sum_below(each), "every number was added once");
    took
}

pub(super) async fn sends_outside(n: u64) -> Duration {
    let each = n / THREADS;
    let (sink, countdown) = sink(Mailboxes::Unbounded, THREADS * each);
    let clock = Instant::now();
    for _ in 0..THREADS {
        let sink = sink.clone();
        outside(move || {
            for number in 0..each {
                // An unbounded mailbox has room at once.
                let sent = sink.send(Number(number)).detach().now_or_never();
                assert!(matches!(sent, Some(Ok(_))), "the sink lives");
            }
        });
    }
    countdown.done.await.expect("the sink waits for its numbers");
    let took = clock.elapsed();
    let sum = sink.send(Sum).await.expect("the sink answers");
    assert_eq!(sum, THREADS * sum_below(each), "every number was added once");
    took
}
