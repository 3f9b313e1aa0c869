//! Several actors, and several plain threads, send numbers to one actor.

use super::{Locate, group, locate, locate_one};
use crate::shape::{outside, sum_below};
use crate::sizes::{PRODUCERS, THREADS};
use crate::{Countdown, Tickets};
use elfo::{Addr, Blueprint, Context, Local, message, msg, scope};
use std::time::{Duration, Instant};

#[message]
struct Number(u64);

#[message(ret = u64)]
struct Sum;

#[message]
struct Pour {
    count: u64,
    sink: Local<Addr>,
}

/// Adds up; its ticket is gone when it has had all the numbers that it waits for.
fn sink(count: u64, tickets: Tickets) -> Blueprint {
    group(1).exec(move |mut cx| {
        let mut done = Some(tickets.ticket());
        async move {
            let (mut sum, mut left) = (0, count);
            while let Some(envelope) = cx.recv().await {
                msg!(match envelope {
                    Number(number) => {
                        sum += number;
                        left -= 1;
                        if left == 0 {
                            done = None;
                        }
                    }
                    (Sum, token) => cx.respond(token, sum),
                    (Locate, token) => cx.respond(token, cx.addr().into()),
                });
            }
            drop(done);
        }
    })
}

fn sources() -> Blueprint {
    group(PRODUCERS).exec(async |mut cx| {
        while let Some(envelope) = cx.recv().await {
            msg!(match envelope {
                Pour { count, sink } => {
                    for number in 0..count {
                        cx.unbounded_send_to(*sink, Number(number)).expect("the sink lives");
                    }
                }
                (Locate, token) => cx.respond(token, cx.addr().into()),
            });
        }
    })
}

pub(super) async fn fan_in(n: u64) -> Duration {
    let (count, countdown) = (n / PRODUCERS, Countdown::new(1));
    let sink = sink(PRODUCERS * count, countdown.tickets());
    super::run([sink, sources()], async move |cx: Context, [sink, sources]| {
        let (sink, sources) = (locate_one(&cx, sink).await, locate(&cx, sources).await);
        let clock = Instant::now();
        for source in sources {
            let pour = Pour { count, sink: sink.into() };
            cx.unbounded_send_to(source, pour).expect("the source lives");
        }
        countdown.done.await.expect("the sink waits for its numbers");
        let took = clock.elapsed();
        let sum = cx.request_to(sink, Sum).resolve().await.expect("the sink answers");
        assert_eq!(sum, PRODUCERS * sum_below(count), "every number was added once");
        took
    })
    .await
}

pub(super) async fn sends_outside(n: u64) -> Duration {
    let (count, countdown) = (n / THREADS, Countdown::new(1));
    let sink = sink(THREADS * count, countdown.tickets());
    super::run([sink], async move |cx: Context, [sink]| {
        let sink = locate_one(&cx, sink).await;
        let clock = Instant::now();
        for _ in 0..THREADS {
            // A thread has no context of its own and borrows that of the program.
            let (scope, cx) = (scope::expose(), cx.pruned());
            outside(move || {
                scope.sync_within(|| {
                    for number in 0..count {
                        cx.unbounded_send_to(sink, Number(number)).expect("the sink lives");
                    }
                });
            });
        }
        countdown.done.await.expect("the sink waits for its numbers");
        let took = clock.elapsed();
        let sum = cx.request_to(sink, Sum).resolve().await.expect("the sink answers");
        assert_eq!(sum, THREADS * sum_below(count), "every number was added once");
        took
    })
    .await
}
