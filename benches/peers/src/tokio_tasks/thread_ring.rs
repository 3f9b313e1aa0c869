//! A hundred tasks in a ring pass a token on.

use crate::sizes::RING;
use std::time::{Duration, Instant};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::oneshot;

async fn link(
    mut mailbox: UnboundedReceiver<u64>,
    next: UnboundedSender<u64>,
    done: Option<oneshot::Sender<()>>,
) {
    while let Some(hops) = mailbox.recv().await {
        if hops == 0 {
            // Only the link where the token has to stop can tell.
            let _ = done.map(|done| done.send(()));
            return;
        }
        next.send(hops - 1).expect("the next one lives");
    }
}

pub(super) async fn run(n: u64) -> Duration {
    let (tell, done) = oneshot::channel();
    let mut tell = Some(tell);
    let (first, first_mailbox) = unbounded_channel();
    // Where the token stops is known, and a token that stops elsewhere ends nothing.
    let mut start = |mailbox, next, index| {
        let done = if index == n % RING { tell.take() } else { None };
        tokio::spawn(link(mailbox, next, done));
    };
    let mut next = first.clone();
    for index in (1..RING).rev() {
        let (to, mailbox) = unbounded_channel();
        start(mailbox, std::mem::replace(&mut next, to), index);
    }
    start(first_mailbox, next, 0);
    let clock = Instant::now();
    first.send(n).expect("the first link lives");
    done.await.expect("the token stops where it has to");
    clock.elapsed()
}
