//! Workers ask a dictionary to read and to write its entries.

use super::super::PATIENCE;
use greenroom::{Actor, Ref, System, handlers};
use greenroom_peers::savina::concdict::{self, Dictionary, Request, Requests, WORKERS};
use greenroom_peers::{Countdown, Ticket};
use std::time::{Duration, Instant};

#[derive(Actor)]
struct Store {
    dictionary: Dictionary,
}

#[handlers]
impl Store {
    #[start]
    fn start() -> Self {
        Self { dictionary: Dictionary::default() }
    }

    #[ask]
    fn request(&mut self, request: Request) -> u64 {
        self.dictionary.answer(request)
    }

    #[ask]
    fn contents(&self) -> (u64, usize) {
        self.dictionary.contents()
    }
}

#[derive(Actor)]
struct Worker {
    store: Ref<Store>,
}

#[handlers]
impl Worker {
    #[start]
    fn start(store: Ref<Store>) -> Self {
        Self { store }
    }

    #[tell]
    async fn work(&mut self, requests: Requests, ticket: Ticket) {
        for request in requests {
            let answer = self.store.request(request).await;
            assert!(
                answer.is_ok_and(|answer| request.allows(answer)),
                "the answer to this request"
            );
        }
        drop(ticket);
    }
}

pub(super) async fn run(system: System, n: u64) -> Duration {
    let store = system.spawn::<Store>(()).await.expect("the dictionary starts");
    let mut workers = Vec::new();
    for _ in 0..WORKERS {
        workers.push(system.spawn::<Worker>(store.clone()).await.expect("a worker starts"));
    }
    let countdown = Countdown::new(WORKERS);
    let clock = Instant::now();
    for (worker, requests) in workers.iter().zip((0..).map(|worker| Requests::of(worker, n))) {
        worker.work(requests, countdown.ticket()).tell().expect("the worker lives");
    }
    countdown.done.await.expect("the workers do not panic");
    let took = clock.elapsed();
    let contents = store.contents().within(PATIENCE).await;
    assert_eq!(contents.ok(), Some(concdict::contents(n)), "every request was handled once");
    took
}
