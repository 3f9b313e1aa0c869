//! Workers ask a dictionary to read and to write its entries.

use super::{Handled, State, start};
use crate::savina::concdict::{self, Dictionary, Request, Requests, WORKERS};
use crate::{Countdown, Ticket};
use ractor::{ActorRef, RpcReplyPort, call};
use std::time::{Duration, Instant};

enum ToStore {
    Ask(Request, RpcReplyPort<u64>),
    Contents(RpcReplyPort<(u64, usize)>),
}

struct Store(Dictionary);

impl State for Store {
    type Msg = ToStore;

    async fn handle(&mut self, _me: ActorRef<ToStore>, message: ToStore) -> Handled {
        match message {
            ToStore::Ask(request, reply) => reply.send(self.0.answer(request))?,
            ToStore::Contents(reply) => reply.send(self.0.contents())?,
        }
        Ok(())
    }
}

struct Work(Requests, Ticket);

struct Worker(ActorRef<ToStore>);

impl State for Worker {
    type Msg = Work;

    async fn handle(&mut self, _me: ActorRef<Work>, Work(requests, ticket): Work) -> Handled {
        for request in requests {
            let answer = call!(self.0, |reply| ToStore::Ask(request, reply))?;
            assert!(request.allows(answer), "the answer to this request");
        }
        drop(ticket);
        Ok(())
    }
}

pub(super) async fn run(n: u64) -> Duration {
    let store = start(Store(Dictionary::default())).await;
    let mut workers = Vec::new();
    for _ in 0..WORKERS {
        workers.push(start(Worker(store.clone())).await);
    }
    let countdown = Countdown::new(WORKERS);
    let clock = Instant::now();
    for (worker, requests) in workers.iter().zip((0..).map(|worker| Requests::of(worker, n))) {
        worker.cast(Work(requests, countdown.ticket())).expect("the worker lives");
    }
    countdown.done.await.expect("the workers do not panic");
    let took = clock.elapsed();
    let contents = call!(store, ToStore::Contents).expect("the dictionary answers");
    assert_eq!(contents, concdict::contents(n), "every request was handled once");
    took
}
