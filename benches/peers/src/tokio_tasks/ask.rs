//! One task, or a plain thread, asks another, one question after the other.

use super::channel::{Channel, Unbounded};
use super::timed;
use crate::shape::outside;
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

type Question = (u64, oneshot::Sender<u64>);

fn server<C: Channel>() -> C::Sender<Question> {
    let (server, mut mailbox) = C::new::<Question>();
    tokio::spawn(async move {
        while let Some((value, reply)) = C::next(&mut mailbox).await {
            // The asker waits for it.
            let _ = reply.send(value + 1);
        }
    });
    server
}

pub(super) async fn run<C: Channel>(n: u64) -> Duration {
    let server = server::<C>();
    timed(async move {
        for value in 0..n {
            let (reply, answer) = oneshot::channel();
            C::send(&server, (value, reply)).await;
            assert_eq!(answer.await, Ok(value + 1), "the answer to this question");
        }
    })
    .await
}

pub(super) async fn from_outside(n: u64) -> Duration {
    let server = server::<Unbounded>();
    let asked = outside(move || {
        let clock = Instant::now();
        for value in 0..n {
            let (reply, answer) = oneshot::channel();
            server.send((value, reply)).expect("the server lives");
            assert_eq!(answer.blocking_recv(), Ok(value + 1), "the answer to this question");
        }
        clock.elapsed()
    });
    asked.await.expect("the thread does not panic")
}
