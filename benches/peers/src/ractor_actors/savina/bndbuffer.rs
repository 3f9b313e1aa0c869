//! A manager lets producers produce while there is room, and feeds consumers.

use super::{Handled, State, start};
use crate::savina::Done;
use crate::savina::bndbuffer::{self, Buffer, CONSUMERS, Item, Items, Order, PRODUCERS};
use ractor::ActorRef;
use std::time::{Duration, Instant};

struct Produce;

struct Producer {
    items: Items,
    manager: ActorRef<ToManager>,
}

impl State for Producer {
    type Msg = Produce;

    async fn handle(&mut self, _me: ActorRef<Produce>, _message: Produce) -> Handled {
        Ok(self.manager.cast(ToManager::Put(self.items.produce()))?)
    }
}

struct Consume(Item);

struct Consumer {
    number: usize,
    manager: ActorRef<ToManager>,
}

impl State for Consumer {
    type Msg = Consume;

    async fn handle(&mut self, _me: ActorRef<Consume>, Consume(item): Consume) -> Handled {
        let remains = bndbuffer::consume(&item);
        Ok(self.manager.cast(ToManager::Consumed(self.number, remains))?)
    }
}

enum ToManager {
    Begin(Vec<ActorRef<Produce>>, Vec<ActorRef<Consume>>),
    Put(Item),
    Consumed(usize, u64),
}

struct Manager {
    buffer: Buffer,
    producers: Vec<ActorRef<Produce>>,
    consumers: Vec<ActorRef<Consume>>,
    done: Done<u64>,
}

impl State for Manager {
    type Msg = ToManager;

    async fn handle(&mut self, _me: ActorRef<ToManager>, message: ToManager) -> Handled {
        match message {
            ToManager::Begin(producers, consumers) => {
                (self.producers, self.consumers) = (producers, consumers);
            }
            ToManager::Put(item) => self.buffer.put(item),
            ToManager::Consumed(consumer, remains) => {
                if let Some(remains) = self.buffer.consumed(consumer, remains) {
                    self.done.tell(remains);
                }
            }
        }
        while let Some(order) = self.buffer.order() {
            match order {
                Order::Produce(producer) => self.producers[producer].cast(Produce)?,
                Order::Consume(consumer, item) => self.consumers[consumer].cast(Consume(item))?,
            }
        }
        Ok(())
    }
}

pub(super) async fn run(n: u64) -> Duration {
    let (done, remains) = Done::new();
    let (producers, consumers) = (Vec::new(), Vec::new());
    let manager = start(Manager { buffer: Buffer::new(n), producers, consumers, done }).await;
    let (mut producers, mut consumers) = (Vec::new(), Vec::new());
    for number in 0..PRODUCERS {
        let producer = Producer { items: Items::of(number, n), manager: manager.clone() };
        producers.push(start(producer).await);
    }
    for number in 0..CONSUMERS {
        consumers.push(start(Consumer { number, manager: manager.clone() }).await);
    }
    let clock = Instant::now();
    manager.cast(ToManager::Begin(producers, consumers)).expect("the manager lives");
    let remains = remains.await;
    let took = clock.elapsed();
    assert_eq!(remains, Ok(bndbuffer::remains(n)), "every item was consumed once");
    took
}
