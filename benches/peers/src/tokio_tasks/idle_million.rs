//! Tasks are started and stay, with nothing to do.

use crate::Countdown;
use crate::shape::Resident;
use std::time::{Duration, Instant};
use tokio::sync::mpsc::unbounded_channel;
use tokio::sync::oneshot;

pub(super) async fn run(n: u64) -> Duration {
    let mut sleepers = Vec::new();
    let before = Resident::now();
    let started = Countdown::new(n);
    let clock = Instant::now();
    for number in 0..n {
        let (sender, mut mailbox) = unbounded_channel::<oneshot::Sender<u64>>();
        let ticket = started.ticket();
        tokio::spawn(async move {
            drop(ticket);
            while let Some(reply) = mailbox.recv().await {
                // Whoever asks waits for it.
                let _ = reply.send(number);
            }
        });
        sleepers.push(sender);
    }
    started.done.await.expect("every task starts");
    let took = clock.elapsed();
    before.tell_bytes_each(n);
    if let Some(last) = sleepers.last() {
        let (reply, number) = oneshot::channel();
        last.send(reply).expect("the sleeper lives");
        assert_eq!(number.await, Ok(n - 1), "the sleepers are still there");
    }
    took
}
