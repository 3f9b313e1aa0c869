//! Actors in a ring pass a token on.

use super::{Locate, group, locate};
use crate::sizes::RING;
use crate::{Countdown, Ticket};
use elfo::{Addr, Blueprint, Context, Local, MoveOwnership, message, msg};
use std::time::{Duration, Instant};

#[message(ret = ())]
struct Next {
    next: Local<Addr>,
    /// The actor has it with whom the token ends.
    done: Option<MoveOwnership<Ticket>>,
}

#[message]
struct Token(u64);

fn links() -> Blueprint {
    group(RING).exec(async |mut cx| {
        let (mut neighbour, mut ticket) = (cx.addr(), None);
        while let Some(envelope) = cx.recv().await {
            msg!(match envelope {
                Token(hops) => {
                    if hops == 0 {
                        ticket = None;
                    } else {
                        let passed = cx.unbounded_send_to(neighbour, Token(hops - 1));
                        passed.expect("the next one lives");
                    }
                }
                (Next { next, done }, token) => {
                    neighbour = *next;
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
    super::run([links()], async |cx: Context, [links]| {
        let countdown = Countdown::new(1);
        let links = locate(&cx, links).await;
        let nexts = links.iter().cycle().skip(1);
        for ((index, link), next) in (0..).zip(&links).zip(nexts) {
            let done = (index == n % RING).then(|| countdown.ticket().into());
            let known = cx.request_to(*link, Next { next: (*next).into(), done }).resolve().await;
            known.expect("the link lives");
        }
        let clock = Instant::now();
        cx.unbounded_send_to(links[0], Token(n)).expect("the link lives");
        countdown.done.await.expect("the token is passed on");
        clock.elapsed()
    })
    .await
}
