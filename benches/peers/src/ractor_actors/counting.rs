//! One actor sends numbers to another, then asks it for their count.

use super::Done;
use ractor::{Actor, ActorProcessingErr, ActorRef, RpcReplyPort, call};
use std::time::{Duration, Instant};

struct Counter;

enum Count {
    Add(u64),
    Total(RpcReplyPort<u64>),
}

impl Actor for Counter {
    type Msg = Count;
    type State = u64;
    type Arguments = ();

    async fn pre_start(&self, _me: ActorRef<Count>, _args: ()) -> Result<u64, ActorProcessingErr> {
        Ok(0)
    }

    async fn handle(&self, _me: ActorRef<Count>, message: Count, total: &mut u64) -> Done {
        match message {
            Count::Add(value) => *total += value,
            Count::Total(reply) => reply.send(*total)?,
        }
        Ok(())
    }
}

struct Producer;

struct Produce(u64, RpcReplyPort<()>);

impl Actor for Producer {
    type Msg = Produce;
    type State = ActorRef<Count>;
    type Arguments = ActorRef<Count>;

    async fn pre_start(
        &self,
        _me: ActorRef<Produce>,
        counter: ActorRef<Count>,
    ) -> Result<ActorRef<Count>, ActorProcessingErr> {
        Ok(counter)
    }

    async fn handle(
        &self,
        _me: ActorRef<Produce>,
        Produce(n, done): Produce,
        counter: &mut ActorRef<Count>,
    ) -> Done {
        for _ in 0..n {
            counter.cast(Count::Add(1))?;
        }
        assert_eq!(call!(counter, Count::Total)?, n, "every message was handled once");
        Ok(done.send(())?)
    }
}

pub(super) async fn run(n: u64) -> Duration {
    let (counter, _) = Actor::spawn(None, Counter, ()).await.expect("the counter starts");
    let (producer, _) = Actor::spawn(None, Producer, counter).await.expect("the producer starts");
    let clock = Instant::now();
    call!(producer, |done| Produce(n, done)).expect("the producer answers");
    clock.elapsed()
}
