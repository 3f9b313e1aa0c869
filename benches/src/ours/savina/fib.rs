//! Fibonacci numbers the long way: an actor for every call.

use greenroom::{Actor, Context, Ref, System, handlers};
use greenroom_peers::savina::{Done, fib};
use std::time::{Duration, Instant};

enum Caller {
    Call(Ref<Call>),
    Program(Done<u64>),
}

#[derive(Actor)]
struct Call {
    caller: Caller,
    answers: u64,
    sum: u64,
}

#[handlers]
impl Call {
    #[start]
    fn start(caller: Caller) -> Self {
        Self { caller, answers: 0, sum: 0 }
    }

    #[tell]
    fn call(&mut self, index: u64, cx: &mut Context<Self>) {
        if index <= 2 {
            return self.answer(1, cx);
        }
        for index in [index - 1, index - 2] {
            let caller = Caller::Call(cx.me());
            let call = cx.spawn::<Self>(caller).start().expect("a call starts");
            call.call(index).tell().expect("the call lives");
        }
    }

    #[tell]
    fn answered(&mut self, number: u64, cx: &mut Context<Self>) {
        self.answers += 1;
        self.sum += number;
        if self.answers == 2 {
            self.answer(self.sum, cx);
        }
    }

    fn answer(&mut self, number: u64, cx: &mut Context<Self>) {
        match &mut self.caller {
            Caller::Call(call) => call.answered(number).tell().expect("the caller waits"),
            Caller::Program(done) => done.tell(number),
        }
        cx.stop();
    }
}

pub(super) async fn run(system: System, n: u64) -> Duration {
    let index = fib::index(n);
    let (done, number) = Done::new();
    let call = system.spawn::<Call>(Caller::Program(done)).await.expect("the first call starts");
    let clock = Instant::now();
    call.call(index).tell().expect("the call lives");
    let number = number.await;
    let took = clock.elapsed();
    assert_eq!(number, Ok(fib::number(index)), "the number at this index");
    took
}
