//! One task asks another, one question after the other.

use super::channel::Channel;
use super::timed;
use std::time::Duration;
use tokio::sync::oneshot;

pub(super) async fn run<C: Channel>(n: u64) -> Duration {
    let (server, mut mailbox) = C::new::<(u64, oneshot::Sender<u64>)>();
    tokio::spawn(async move {
        while let Some((value, reply)) = C::next(&mut mailbox).await {
            // The asker waits for it.
            let _ = reply.send(value + 1);
        }
    });
    timed(async move {
        for value in 0..n {
            let (reply, answer) = oneshot::channel();
            C::send(&server, (value, reply)).await;
            assert_eq!(answer.await, Ok(value + 1), "the answer to this question");
        }
    })
    .await
}
