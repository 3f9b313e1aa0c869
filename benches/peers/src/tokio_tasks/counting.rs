//! One task sends numbers to another, then asks it for their sum.

use super::channel::Channel;
use super::timed;
use std::time::Duration;
use tokio::sync::oneshot;

enum Count {
    Add(u64),
    Total(oneshot::Sender<u64>),
}

pub(super) async fn run<C: Channel>(n: u64) -> Duration {
    let (counter, mailbox) = C::new();
    let mut total = 0;
    tokio::spawn(C::each(mailbox, move |message| match message {
        Count::Add(value) => total += value,
        // The producer waits for it.
        Count::Total(reply) => drop(reply.send(total)),
    }));
    timed(async move {
        for _ in 0..n {
            C::send(&counter, Count::Add(1)).await;
        }
        let (reply, total) = oneshot::channel();
        C::send(&counter, Count::Total(reply)).await;
        assert_eq!(total.await, Ok(n), "every message was handled once");
    })
    .await
}
