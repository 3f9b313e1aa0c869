//! One sender gives work to many actors in turn.

use super::{Locate, group, locate};
use crate::shape::compute;
use crate::sizes::FORKS;
use crate::{Countdown, Tickets};
use elfo::{Blueprint, Context, message, msg};
use std::time::{Duration, Instant};

#[message]
struct Work(u64);

#[message(ret = u64)]
struct Handled;

/// Each gives its ticket back when it has had as many numbers as `goal` says.
fn computers(goal: u64, tickets: Tickets) -> Blueprint {
    group(FORKS).exec(move |mut cx| {
        let mut done = Some(tickets.ticket());
        async move {
            let mut handled = 0;
            while let Some(envelope) = cx.recv().await {
                msg!(match envelope {
                    Work(number) => {
                        compute(number);
                        handled += 1;
                        if handled == goal {
                            done = None;
                        }
                    }
                    (Handled, token) => cx.respond(token, handled),
                    (Locate, token) => cx.respond(token, cx.addr().into()),
                });
            }
            drop(done);
        }
    })
}

pub(super) async fn run(n: u64) -> Duration {
    let (goal, countdown) = (n / FORKS, Countdown::new(FORKS));
    let computers = computers(goal, countdown.tickets());
    super::run([computers], async move |cx: Context, [computers]| {
        let computers = locate(&cx, computers).await;
        let clock = Instant::now();
        for number in 0..goal {
            for computer in &computers {
                cx.unbounded_send_to(*computer, Work(number)).expect("the computer lives");
            }
        }
        countdown.done.await.expect("the computers work");
        let took = clock.elapsed();
        for computer in computers {
            let handled = cx.request_to(computer, Handled).resolve().await;
            assert_eq!(handled.expect("it answers"), goal, "every number was handled once");
        }
        took
    })
    .await
}
