//! Workers ask a dictionary to read and to write its entries.

use super::start;
use crate::actix_actors::{Stage, messages, plain_actors};
use crate::savina::concdict::{self, Dictionary, Request, Requests, WORKERS};
use crate::{Countdown, Ticket};
use actix::{Addr, AsyncContext, Context, Handler, Message};
use std::time::{Duration, Instant};

struct Store(Dictionary);
struct Ask(Request, Addr<Worker>);
struct Contents;

struct Worker {
    store: Addr<Store>,
    requests: Requests,
    asked: Option<Request>,
    ticket: Option<Ticket>,
}
struct Begin(Ticket);
struct Answer(u64);

messages!(Ask, Begin, Answer);
plain_actors!(Store, Worker);

impl Message for Contents {
    type Result = (u64, usize);
}

impl Handler<Ask> for Store {
    type Result = ();

    fn handle(&mut self, Ask(request, worker): Ask, _cx: &mut Self::Context) {
        worker.do_send(Answer(self.0.answer(request)));
    }
}

impl Handler<Contents> for Store {
    type Result = actix::MessageResult<Contents>;

    fn handle(&mut self, _message: Contents, _cx: &mut Self::Context) -> Self::Result {
        actix::MessageResult(self.0.contents())
    }
}

impl Worker {
    fn ask(&mut self, cx: &Context<Self>) {
        self.asked = self.requests.next();
        match self.asked {
            Some(request) => self.store.do_send(Ask(request, cx.address())),
            None => drop(self.ticket.take()),
        }
    }
}

impl Handler<Begin> for Worker {
    type Result = ();

    fn handle(&mut self, Begin(ticket): Begin, cx: &mut Self::Context) {
        self.ticket = Some(ticket);
        self.ask(cx);
    }
}

impl Handler<Answer> for Worker {
    type Result = ();

    fn handle(&mut self, Answer(answer): Answer, cx: &mut Self::Context) {
        let is_right = self.asked.is_some_and(|request| request.allows(answer));
        assert!(is_right, "the answer to this request");
        self.ask(cx);
    }
}

pub(super) async fn run(stage: Stage, n: u64) -> Duration {
    let store = start(&stage, 0, Store(Dictionary::default()));
    let worker = |number| {
        let (store, requests) = (store.clone(), Requests::of(number, n));
        start(&stage, number as usize, Worker { store, requests, asked: None, ticket: None })
    };
    let workers: Vec<_> = (0..WORKERS).map(worker).collect();
    let countdown = Countdown::new(WORKERS);
    let clock = Instant::now();
    for worker in &workers {
        worker.do_send(Begin(countdown.ticket()));
    }
    countdown.done.await.expect("the workers do not panic");
    let took = clock.elapsed();
    let contents = store.send(Contents).await;
    assert_eq!(contents, Ok(concdict::contents(n)), "every request was handled once");
    took
}
