//! An actor and a plain thread ask an actor, one question after the other.

use super::{Locate, group, locate_one};
use crate::shape::outside;
use elfo::{Addr, Blueprint, Context, Local, message, msg, scope};
use std::time::{Duration, Instant};
use tokio::runtime::Handle;

#[message(ret = u64)]
struct Question(u64);

#[message(ret = ())]
struct Ask {
    n: u64,
    server: Local<Addr>,
}

fn server() -> Blueprint {
    group(1).exec(async |mut cx| {
        while let Some(envelope) = cx.recv().await {
            msg!(match envelope {
                (Question(value), token) => cx.respond(token, value + 1),
                (Locate, token) => cx.respond(token, cx.addr().into()),
            });
        }
    })
}

/// Asks one question after the other.
async fn ask<C: 'static, K>(cx: &Context<C, K>, server: Addr, n: u64) {
    for value in 0..n {
        let answer = cx.request_to(server, Question(value)).resolve().await;
        let answer = answer.expect("the server answers");
        assert_eq!(answer, value + 1, "the answer to this question");
    }
}

fn asker() -> Blueprint {
    group(1).exec(async |mut cx| {
        while let Some(envelope) = cx.recv().await {
            msg!(match envelope {
                (Ask { n, server }, token) => {
                    ask(&cx, *server, n).await;
                    cx.respond(token, ());
                }
                (Locate, token) => cx.respond(token, cx.addr().into()),
            });
        }
    })
}

pub(super) async fn run(n: u64) -> Duration {
    super::run([server(), asker()], async |cx: Context, [server, asker]| {
        let server = locate_one(&cx, server).await.into();
        let asker = locate_one(&cx, asker).await;
        let clock = Instant::now();
        let asked = cx.request_to(asker, Ask { n, server }).resolve().await;
        asked.expect("the asker answers");
        clock.elapsed()
    })
    .await
}

pub(super) async fn from_outside(n: u64) -> Duration {
    super::run([server()], async |cx: Context, [server]| {
        let server = locate_one(&cx, server).await;
        // A thread has no context of its own and borrows that of the program.
        let (scope, runtime) = (scope::expose(), Handle::current());
        let asked = outside(move || {
            let clock = Instant::now();
            runtime.block_on(scope.within(ask(&cx, server, n)));
            clock.elapsed()
        });
        asked.await.expect("the thread does not panic")
    })
    .await
}
