//! Fibonacci numbers the long way: an actor for every call.

use super::{Handled, State, start, start_soon};
use crate::savina::{Done, fib};
use ractor::ActorRef;
use std::time::{Duration, Instant};

enum Caller {
    Call(ActorRef<ToCall>),
    Program(Done<u64>),
}

enum ToCall {
    Index(u64),
    Number(u64),
}

struct Call {
    caller: Caller,
    answers: u64,
    sum: u64,
}

impl Call {
    const fn of(caller: Caller) -> Self {
        Self { caller, answers: 0, sum: 0 }
    }

    fn answer(&mut self, me: &ActorRef<ToCall>, number: u64) -> Handled {
        match &mut self.caller {
            Caller::Call(call) => call.cast(ToCall::Number(number))?,
            Caller::Program(done) => done.tell(number),
        }
        me.stop(None);
        Ok(())
    }
}

impl State for Call {
    type Msg = ToCall;

    async fn handle(&mut self, me: ActorRef<ToCall>, message: ToCall) -> Handled {
        match message {
            ToCall::Index(..=2) => self.answer(&me, 1)?,
            ToCall::Index(index) => {
                for index in [index - 1, index - 2] {
                    let call = start_soon(Self::of(Caller::Call(me.clone())))?;
                    call.cast(ToCall::Index(index))?;
                }
            }
            ToCall::Number(number) => {
                self.answers += 1;
                self.sum += number;
                if self.answers == 2 {
                    self.answer(&me, self.sum)?;
                }
            }
        }
        Ok(())
    }
}

pub(super) async fn run(n: u64) -> Duration {
    let index = fib::index(n);
    let (done, number) = Done::new();
    let call = start(Call::of(Caller::Program(done))).await;
    let clock = Instant::now();
    call.cast(ToCall::Index(index)).expect("the call lives");
    let number = number.await;
    let took = clock.elapsed();
    assert_eq!(number, Ok(fib::number(index)), "the number at this index");
    took
}
