//! Two actors bounce a ball.

use super::{Locate, group, locate_one};
use crate::{Countdown, Ticket};
use elfo::{Addr, Blueprint, Context, Local, MoveOwnership, message, msg};
use std::time::{Duration, Instant};

#[message(ret = ())]
struct Against {
    other: Local<Addr>,
    done: Option<MoveOwnership<Ticket>>,
}

#[message]
struct Ball(u64);

fn player() -> Blueprint {
    group(1).exec(async |mut cx| {
        let (mut opponent, mut ticket) = (cx.addr(), None);
        while let Some(envelope) = cx.recv().await {
            msg!(match envelope {
                Ball(hops) => {
                    if hops == 0 {
                        ticket = None;
                    } else {
                        cx.unbounded_send_to(opponent, Ball(hops - 1)).expect("the other lives");
                    }
                }
                (Against { other, done }, token) => {
                    opponent = *other;
                    ticket = done.and_then(|done| done.take());
                    cx.respond(token, ());
                }
                (Locate, token) => cx.respond(token, cx.addr().into()),
            });
        }
        drop(ticket);
    })
}

pub(super) async fn run(n: u64) -> Duration {
    super::run([player(), player()], async |cx: Context, [left, right]| {
        let countdown = Countdown::new(1);
        let (left, right) = (locate_one(&cx, left).await, locate_one(&cx, right).await);
        let done = Some(countdown.ticket().into());
        for (player, other, done) in [(left, right, done), (right, left, None)] {
            let met = cx.request_to(player, Against { other: other.into(), done }).resolve().await;
            met.expect("the player lives");
        }
        let clock = Instant::now();
        cx.unbounded_send_to(left, Ball(2 * n)).expect("the player lives");
        countdown.done.await.expect("the players do not panic");
        clock.elapsed()
    })
    .await
}
