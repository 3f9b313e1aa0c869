//! One task sends to sixty in turn, each of which computes something for each message.

use super::channel::Channel;
use super::timed;
use crate::shape::compute;
use crate::sizes::FORKS;
use std::time::Duration;

pub(super) async fn run<C: Channel>(n: u64) -> Duration {
    let each = n / FORKS;
    let (mut senders, mut forks) = (Vec::new(), Vec::new());
    for _ in 0..FORKS {
        let (sender, mailbox) = C::new();
        senders.push(sender);
        forks.push(tokio::spawn(async move {
            let mut handled = 0;
            let compute = |number| {
                compute(number);
                handled += 1;
            };
            C::each(mailbox, compute).await;
            handled
        }));
    }
    timed(async move {
        for number in 0..each {
            for sender in &senders {
                C::send(sender, number).await;
            }
        }
        // A fork ends when nobody can send to it any more.
        drop(senders);
        for fork in forks {
            let handled: u64 = fork.await.expect("no fork panics");
            assert_eq!(handled, each, "every message was handled once");
        }
    })
    .await
}
