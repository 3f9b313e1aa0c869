//! Fibonacci numbers the long way: an actor for every call.

use super::Nursery;
use crate::actix_actors::{Stage, messages, plain_actors};
use crate::savina::{Done, fib};
use actix::{Actor, ActorContext, Addr, AsyncContext, Context, Handler};
use std::time::{Duration, Instant};

enum Caller {
    Call(Addr<Call>),
    Program(Done<u64>),
}

struct Call {
    caller: Caller,
    nursery: Nursery,
    answers: u64,
    sum: u64,
}
struct Index(u64);
struct Number(u64);

messages!(Index, Number);
plain_actors!(Call);

impl Call {
    fn of(caller: Caller, nursery: Nursery) -> Self {
        Self { caller, nursery, answers: 0, sum: 0 }
    }

    fn answer(&mut self, number: u64, cx: &mut Context<Self>) {
        match &mut self.caller {
            Caller::Call(call) => call.do_send(Number(number)),
            Caller::Program(done) => done.tell(number),
        }
        cx.stop();
    }
}

impl Handler<Index> for Call {
    type Result = ();

    fn handle(&mut self, Index(index): Index, cx: &mut Self::Context) {
        if index <= 2 {
            return self.answer(1, cx);
        }
        for (number, index) in [index - 1, index - 2].into_iter().enumerate() {
            let caller = Caller::Call(cx.address());
            let call = self.nursery.start(number, |nursery| Self::of(caller, nursery));
            call.do_send(Index(index));
        }
    }
}

impl Handler<Number> for Call {
    type Result = ();

    fn handle(&mut self, Number(number): Number, cx: &mut Self::Context) {
        self.answers += 1;
        self.sum += number;
        if self.answers == 2 {
            self.answer(self.sum, cx);
        }
    }
}

pub(super) async fn run(stage: Stage, n: u64) -> Duration {
    let index = fib::index(n);
    let (done, number) = Done::new();
    let call = Call::of(Caller::Program(done), Nursery::on(stage)).start();
    let clock = Instant::now();
    call.do_send(Index(index));
    let number = number.await;
    let took = clock.elapsed();
    assert_eq!(number, Ok(fib::number(index)), "the number at this index");
    took
}
