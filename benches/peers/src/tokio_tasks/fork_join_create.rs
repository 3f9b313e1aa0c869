//! Tasks are started, each handles one message and ends.

use super::channel::Channel;
use crate::{Countdown, Ticket};
use std::time::{Duration, Instant};

pub(super) async fn run<C: Channel>(n: u64) -> Duration {
    let countdown = Countdown::new(n);
    let clock = Instant::now();
    for _ in 0..n {
        let (actor, mut mailbox) = C::new();
        let state: Ticket = countdown.ticket();
        tokio::spawn(async move {
            C::next(&mut mailbox).await;
            drop(state);
        });
        C::send(&actor, ()).await;
    }
    countdown.done.await.expect("every actor ends");
    clock.elapsed()
}
