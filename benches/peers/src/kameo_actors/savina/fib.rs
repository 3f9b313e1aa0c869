//! Fibonacci numbers the long way: an actor for every call.

use super::spawn;
use crate::savina::{Done, fib};
use kameo::actor::ActorRef;
use kameo::message::{Context, Message};
use std::time::{Duration, Instant};

enum Caller {
    Call(ActorRef<Call>),
    Program(Done<u64>),
}

struct Call {
    caller: Caller,
    answers: u64,
    sum: u64,
}
struct Index(u64);
struct Number(u64);

plain_actor!(Call);

impl Call {
    fn of(caller: Caller) -> Self {
        Self { caller, answers: 0, sum: 0 }
    }

    fn answer(&mut self, number: u64, cx: &mut Context<Self, ()>) {
        match &mut self.caller {
            Caller::Call(call) => call.tell(Number(number)).try_send().expect("the receiver lives"),
            Caller::Program(done) => done.tell(number),
        }
        cx.stop();
    }
}

impl Message<Index> for Call {
    type Reply = ();

    async fn handle(&mut self, Index(index): Index, cx: &mut Context<Self, ()>) {
        if index <= 2 {
            return self.answer(1, cx);
        }
        for index in [index - 1, index - 2] {
            let caller = Caller::Call(cx.actor_ref().clone());
            let call = spawn(Self::of(caller));
            call.tell(Index(index)).try_send().expect("the receiver lives");
        }
    }
}

impl Message<Number> for Call {
    type Reply = ();

    async fn handle(&mut self, Number(number): Number, cx: &mut Context<Self, ()>) {
        self.answers += 1;
        self.sum += number;
        if self.answers == 2 {
            self.answer(self.sum, cx);
        }
    }
}

pub(super) async fn run(n: u64) -> Duration {
    let index = fib::index(n);
    let (done, number) = Done::new();
    let call = spawn(Call::of(Caller::Program(done)));
    call.wait_for_startup().await;
    let clock = Instant::now();
    call.tell(Index(index)).try_send().expect("the receiver lives");
    let number = number.await;
    let took = clock.elapsed();
    assert_eq!(number, Ok(fib::number(index)), "the number at this index");
    took
}
