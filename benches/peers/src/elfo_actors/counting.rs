//! One actor sends numbers to another, then asks it for their count.

use super::{Locate, group, locate_one};
use elfo::{Addr, Blueprint, Context, Local, message, msg};
use std::time::{Duration, Instant};

#[message]
struct Add(u64);

#[message(ret = u64)]
struct Total;

#[message(ret = ())]
struct Produce {
    n: u64,
    counter: Local<Addr>,
}

fn counter() -> Blueprint {
    group(1).exec(async |mut cx| {
        let mut total = 0;
        while let Some(envelope) = cx.recv().await {
            msg!(match envelope {
                Add(value) => total += value,
                (Total, token) => cx.respond(token, total),
                (Locate, token) => cx.respond(token, cx.addr().into()),
            });
        }
    })
}

fn producer() -> Blueprint {
    group(1).exec(async |mut cx| {
        while let Some(envelope) = cx.recv().await {
            msg!(match envelope {
                (Produce { n, counter }, token) => {
                    for _ in 0..n {
                        cx.unbounded_send_to(*counter, Add(1)).expect("the counter lives");
                    }
                    let total = cx.request_to(*counter, Total).resolve().await;
                    let total = total.expect("the counter answers");
                    assert_eq!(total, n, "every message was handled once");
                    cx.respond(token, ());
                }
                (Locate, token) => cx.respond(token, cx.addr().into()),
            });
        }
    })
}

pub(super) async fn run(n: u64) -> Duration {
    super::run([counter(), producer()], async |cx: Context, [counter, producer]| {
        let counter = locate_one(&cx, counter).await;
        let producer = locate_one(&cx, producer).await;
        let clock = Instant::now();
        let produced = cx.request_to(producer, Produce { n, counter: counter.into() });
        produced.resolve().await.expect("the producer answers");
        clock.elapsed()
    })
    .await
}
