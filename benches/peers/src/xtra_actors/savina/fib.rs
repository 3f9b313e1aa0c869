//! Fibonacci numbers the long way: an actor for every call.

use super::{spawn_with, tell};
use crate::savina::{Done, fib};
use std::time::{Duration, Instant};
use xtra::{Address, Context, Handler};

enum Caller {
    Call(Address<Call>),
    Program(Done<u64>),
}

struct Call {
    /// Its own address, for the calls that it makes.
    me: Address<Self>,
    caller: Caller,
    answers: u64,
    sum: u64,
}
struct Index(u64);
struct Number(u64);

plain_actors!(Call);

impl Call {
    fn start(caller: Caller) -> Address<Self> {
        spawn_with(|me| Self { me: me.clone(), caller, answers: 0, sum: 0 })
    }

    async fn answer(&mut self, number: u64, cx: &mut Context<Self>) {
        match &mut self.caller {
            Caller::Call(call) => tell(call, Number(number)).await,
            Caller::Program(done) => done.tell(number),
        }
        cx.stop_self();
    }
}

impl Handler<Index> for Call {
    type Return = ();

    async fn handle(&mut self, Index(index): Index, cx: &mut Context<Self>) {
        if index <= 2 {
            return self.answer(1, cx).await;
        }
        for index in [index - 1, index - 2] {
            let call = Self::start(Caller::Call(self.me.clone()));
            tell(&call, Index(index)).await;
        }
    }
}

impl Handler<Number> for Call {
    type Return = ();

    async fn handle(&mut self, Number(number): Number, cx: &mut Context<Self>) {
        self.answers += 1;
        self.sum += number;
        if self.answers == 2 {
            self.answer(self.sum, cx).await;
        }
    }
}

pub(super) async fn run(n: u64) -> Duration {
    let index = fib::index(n);
    let (done, number) = Done::new();
    let call = Call::start(Caller::Program(done));
    let clock = Instant::now();
    tell(&call, Index(index)).await;
    let number = number.await;
    let took = clock.elapsed();
    assert_eq!(number, Ok(fib::number(index)), "the number at this index");
    took
}
