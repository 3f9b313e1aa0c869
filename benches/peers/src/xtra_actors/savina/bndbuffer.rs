//! A manager lets producers produce while there is room, and feeds consumers.

use super::{spawn, spawn_with, tell};
use crate::savina::Done;
use crate::savina::bndbuffer::{self, Buffer, CONSUMERS, Item, Items, Order, PRODUCERS};
use std::time::{Duration, Instant};
use xtra::{Address, Context, Handler};

struct Producer {
    items: Items,
    manager: Address<Manager>,
}
struct Produce;

struct Consumer {
    number: usize,
    manager: Address<Manager>,
}
struct Consume(Item);

struct Manager {
    buffer: Buffer,
    producers: Vec<Address<Producer>>,
    consumers: Vec<Address<Consumer>>,
    done: Done<u64>,
}
struct Begin;
struct Put(Item);
struct Consumed(usize, u64);

plain_actors!(Producer, Consumer, Manager);

impl Handler<Produce> for Producer {
    type Return = ();

    async fn handle(&mut self, _message: Produce, _cx: &mut Context<Self>) {
        tell(&self.manager, Put(self.items.produce())).await;
    }
}

impl Handler<Consume> for Consumer {
    type Return = ();

    async fn handle(&mut self, Consume(item): Consume, _cx: &mut Context<Self>) {
        tell(&self.manager, Consumed(self.number, bndbuffer::consume(&item))).await;
    }
}

impl Manager {
    async fn give_orders(&mut self) {
        while let Some(order) = self.buffer.order() {
            match order {
                Order::Produce(producer) => tell(&self.producers[producer], Produce).await,
                Order::Consume(consumer, item) => {
                    tell(&self.consumers[consumer], Consume(item)).await;
                }
            }
        }
    }
}

impl Handler<Begin> for Manager {
    type Return = ();

    async fn handle(&mut self, _message: Begin, _cx: &mut Context<Self>) {
        self.give_orders().await;
    }
}

impl Handler<Put> for Manager {
    type Return = ();

    async fn handle(&mut self, Put(item): Put, _cx: &mut Context<Self>) {
        self.buffer.put(item);
        self.give_orders().await;
    }
}

impl Handler<Consumed> for Manager {
    type Return = ();

    async fn handle(&mut self, Consumed(consumer, remains): Consumed, _cx: &mut Context<Self>) {
        match self.buffer.consumed(consumer, remains) {
            Some(remains) => self.done.tell(remains),
            None => self.give_orders().await,
        }
    }
}

pub(super) async fn run(n: u64) -> Duration {
    let (done, remains) = Done::new();
    let manager = spawn_with(|me| {
        let producer = |number| {
            let (items, manager) = (Items::of(number, n), me.clone());
            spawn(Producer { items, manager })
        };
        let producers = (0..PRODUCERS).map(producer).collect();
        let consumer = |number| {
            let manager = me.clone();
            spawn(Consumer { number, manager })
        };
        let consumers = (0..CONSUMERS).map(consumer).collect();
        Manager { buffer: Buffer::new(n), producers, consumers, done }
    });
    let clock = Instant::now();
    tell(&manager, Begin).await;
    let remains = remains.await;
    let took = clock.elapsed();
    assert_eq!(remains, Ok(bndbuffer::remains(n)), "every item was consumed once");
    took
}
