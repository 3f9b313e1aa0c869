//! Workers ask a dictionary to read and to write its entries.

use crate::savina::concdict::{self, Dictionary, Request, Requests, WORKERS};
use std::time::{Duration, Instant};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;

type Question = (Request, oneshot::Sender<u64>);

async fn dictionary(mut mailbox: mpsc::UnboundedReceiver<Question>) -> Dictionary {
    let mut dictionary = Dictionary::default();
    while let Some((request, reply)) = mailbox.recv().await {
        // The worker waits for it.
        let _ = reply.send(dictionary.answer(request));
    }
    dictionary
}

async fn worker(dictionary: mpsc::UnboundedSender<Question>, requests: Requests) {
    for request in requests {
        let (reply, answer) = oneshot::channel();
        dictionary.send((request, reply)).expect("the dictionary lives");
        let answer = answer.await;
        assert!(answer.is_ok_and(|answer| request.allows(answer)), "the answer to this request");
    }
}

pub(super) async fn run(n: u64) -> Duration {
    let (sender, mailbox) = mpsc::unbounded_channel();
    let dictionary = tokio::spawn(dictionary(mailbox));
    let clock = Instant::now();
    let workers = (0..WORKERS).map(|number| worker(sender.clone(), Requests::of(number, n)));
    workers.collect::<JoinSet<()>>().join_all().await;
    let took = clock.elapsed();
    drop(sender);
    let contents = dictionary.await.expect("the dictionary does not panic").contents();
    assert_eq!(contents, concdict::contents(n), "every request was handled once");
    took
}
