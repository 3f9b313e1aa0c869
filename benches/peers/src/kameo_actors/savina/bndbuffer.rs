//! A manager lets producers produce while there is room, and feeds consumers.

use super::{spawn, spawn_with};
use crate::savina::Done;
use crate::savina::bndbuffer::{self, Buffer, CONSUMERS, Item, Items, Order, PRODUCERS};
use kameo::actor::ActorRef;
use kameo::message::{Context, Message};
use std::time::{Duration, Instant};

struct Producer {
    items: Items,
    manager: ActorRef<Manager>,
}
struct Produce;

struct Consumer {
    number: usize,
    manager: ActorRef<Manager>,
}
struct Consume(Item);

struct Manager {
    buffer: Buffer,
    producers: Vec<ActorRef<Producer>>,
    consumers: Vec<ActorRef<Consumer>>,
    done: Done<u64>,
}
struct Begin;
struct Put(Item);
struct Consumed(usize, u64);

plain_actor!(Producer);
plain_actor!(Consumer);
plain_actor!(Manager);

impl Message<Produce> for Producer {
    type Reply = ();

    async fn handle(&mut self, _message: Produce, _cx: &mut Context<Self, ()>) {
        self.manager.tell(Put(self.items.produce())).try_send().expect("the receiver lives");
    }
}

impl Message<Consume> for Consumer {
    type Reply = ();

    async fn handle(&mut self, Consume(item): Consume, _cx: &mut Context<Self, ()>) {
        self.manager
            .tell(Consumed(self.number, bndbuffer::consume(&item)))
            .try_send()
            .expect("the receiver lives");
    }
}

impl Manager {
    fn give_orders(&mut self) {
        while let Some(order) = self.buffer.order() {
            match order {
                Order::Produce(producer) => {
                    self.producers[producer].tell(Produce).try_send().expect("the receiver lives");
                }
                Order::Consume(consumer, item) => self.consumers[consumer]
                    .tell(Consume(item))
                    .try_send()
                    .expect("the receiver lives"),
            }
        }
    }
}

impl Message<Begin> for Manager {
    type Reply = ();

    async fn handle(&mut self, _message: Begin, _cx: &mut Context<Self, ()>) {
        self.give_orders();
    }
}

impl Message<Put> for Manager {
    type Reply = ();

    async fn handle(&mut self, Put(item): Put, _cx: &mut Context<Self, ()>) {
        self.buffer.put(item);
        self.give_orders();
    }
}

impl Message<Consumed> for Manager {
    type Reply = ();

    async fn handle(&mut self, Consumed(consumer, remains): Consumed, _cx: &mut Context<Self, ()>) {
        match self.buffer.consumed(consumer, remains) {
            Some(remains) => self.done.tell(remains),
            None => self.give_orders(),
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
    manager.wait_for_startup().await;
    let clock = Instant::now();
    manager.tell(Begin).try_send().expect("the receiver lives");
    let remains = remains.await;
    let took = clock.elapsed();
    assert_eq!(remains, Ok(bndbuffer::remains(n)), "every item was consumed once");
    took
}
