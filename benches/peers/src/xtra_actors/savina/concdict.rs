//! Workers ask a dictionary to read and to write its entries.

use super::{spawn, tell};
use crate::savina::concdict::{self, Dictionary, Request, Requests, WORKERS};
use crate::{Countdown, Ticket};
use std::time::{Duration, Instant};
use xtra::{Address, Context, Handler};

struct Store(Dictionary);
struct Contents;

struct Worker(Address<Store>);
struct Work(Requests, Ticket);

plain_actors!(Store, Worker);

impl Handler<Request> for Store {
    type Return = u64;

    async fn handle(&mut self, request: Request, _cx: &mut Context<Self>) -> u64 {
        self.0.answer(request)
    }
}

impl Handler<Contents> for Store {
    type Return = (u64, usize);

    async fn handle(&mut self, _message: Contents, _cx: &mut Context<Self>) -> (u64, usize) {
        self.0.contents()
    }
}

impl Handler<Work> for Worker {
    type Return = ();

    async fn handle(&mut self, Work(requests, ticket): Work, _cx: &mut Context<Self>) {
        for request in requests {
            let answer = self.0.send(request).await;
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
    let countdown = Countdown::new(WORKERS);
    let clock = Instant::now();
    for (worker, requests) in workers.iter().zip((0..).map(|worker| Requests::of(worker, n))) {
        tell(worker, Work(requests, countdown.ticket())).await;
    }
    countdown.done.await.expect("the workers do not panic");
    let took = clock.elapsed();
    let contents = store.send(Contents).await.expect("the dictionary answers");
    assert_eq!(contents, concdict::contents(n), "every request was handled once");
    took
}
