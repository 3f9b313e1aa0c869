//! Workers ask a dictionary to read and to write its entries.

use super::spawn;
use crate::savina::concdict::{self, Dictionary, Request, Requests, WORKERS};
use crate::{Countdown, Ticket};
use kameo::actor::ActorRef;
use kameo::message::{Context, Message};
use std::time::{Duration, Instant};

struct Store(Dictionary);
struct Contents;

struct Worker(ActorRef<Store>);
struct Work(Requests, Ticket);

plain_actor!(Store);
plain_actor!(Worker);

impl Message<Request> for Store {
    type Reply = u64;

    async fn handle(&mut self, request: Request, _cx: &mut Context<Self, u64>) -> u64 {
        self.0.answer(request)
    }
}

impl Message<Contents> for Store {
    type Reply = (u64, usize);

    async fn handle(
        &mut self,
        _message: Contents,
        _cx: &mut Context<Self, (u64, usize)>,
    ) -> (u64, usize) {
        self.0.contents()
    }
}

impl Message<Work> for Worker {
    type Reply = ();

    async fn handle(&mut self, Work(requests, ticket): Work, _cx: &mut Context<Self, ()>) {
        for request in requests {
            let answer = self.0.ask(request).send().await;
            assert!(
                answer.is_ok_and(|answer| request.allows(answer)),
                "the answer to this request"
            );
        }
        drop(ticket);
    }
}

pub(super) async fn run(n: u64) -> Duration {
    let store = spawn(Store(Dictionary::default()));
    let workers: Vec<_> = (0..WORKERS).map(|_| spawn(Worker(store.clone()))).collect();
    store.wait_for_startup().await;
    let countdown = Countdown::new(WORKERS);
    let clock = Instant::now();
    for (worker, requests) in workers.iter().zip((0..).map(|worker| Requests::of(worker, n))) {
        worker.tell(Work(requests, countdown.ticket())).try_send().expect("the worker lives");
    }
    countdown.done.await.expect("the workers do not panic");
    let took = clock.elapsed();
    let contents = store.ask(Contents).send().await.expect("the dictionary answers");
    assert_eq!(contents, concdict::contents(n), "every request was handled once");
    took
}
