//! A manager lets producers produce while there is room, and feeds consumers.

use super::start;
use crate::actix_actors::{Stage, messages, plain_actors};
use crate::savina::Done;
use crate::savina::bndbuffer::{self, Buffer, CONSUMERS, Item, Items, Order, PRODUCERS};
use actix::{Actor, Addr, AsyncContext, Context, Handler};
use std::time::{Duration, Instant};

struct Producer {
    items: Items,
    manager: Addr<Manager>,
}
struct Produce;

struct Consumer {
    number: usize,
    manager: Addr<Manager>,
}
struct Consume(Item);

struct Manager {
    buffer: Buffer,
    producers: Vec<Addr<Producer>>,
    consumers: Vec<Addr<Consumer>>,
    done: Done<u64>,
}
struct Begin;
struct Put(Item);
struct Consumed(usize, u64);

messages!(Produce, Consume, Begin, Put, Consumed);
plain_actors!(Producer, Consumer, Manager);

impl Handler<Produce> for Producer {
    type Result = ();

    fn handle(&mut self, _message: Produce, _cx: &mut Self::Context) {
        self.manager.do_send(Put(self.items.produce()));
    }
}

impl Handler<Consume> for Consumer {
    type Result = ();

    fn handle(&mut self, Consume(item): Consume, _cx: &mut Self::Context) {
        self.manager.do_send(Consumed(self.number, bndbuffer::consume(&item)));
    }
}

impl Manager {
    fn give_orders(&mut self) {
        while let Some(order) = self.buffer.order() {
            match order {
                Order::Produce(producer) => self.producers[producer].do_send(Produce),
                Order::Consume(consumer, item) => self.consumers[consumer].do_send(Consume(item)),
            }
        }
    }
}

impl Handler<Begin> for Manager {
    type Result = ();

    fn handle(&mut self, _message: Begin, _cx: &mut Self::Context) {
        self.give_orders();
    }
}

impl Handler<Put> for Manager {
    type Result = ();

    fn handle(&mut self, Put(item): Put, _cx: &mut Self::Context) {
        self.buffer.put(item);
        self.give_orders();
    }
}

impl Handler<Consumed> for Manager {
    type Result = ();

    fn handle(&mut self, Consumed(consumer, remains): Consumed, _cx: &mut Self::Context) {
        match self.buffer.consumed(consumer, remains) {
            Some(remains) => self.done.tell(remains),
            None => self.give_orders(),
        }
    }
}

pub(super) async fn run(stage: Stage, n: u64) -> Duration {
    let (done, remains) = Done::new();
    let manager = Manager::create(|cx: &mut Context<Manager>| {
        let producer = |number| {
            let (items, manager) = (Items::of(number, n), cx.address());
            start(&stage, number, Producer { items, manager })
        };
        let producers = (0..PRODUCERS).map(producer).collect();
        let consumer = |number| {
            let manager = cx.address();
            start(&stage, number, Consumer { number, manager })
        };
        let consumers = (0..CONSUMERS).map(consumer).collect();
        Manager { buffer: Buffer::new(n), producers, consumers, done }
    });
    let clock = Instant::now();
    manager.do_send(Begin);
    let remains = remains.await;
    let took = clock.elapsed();
    assert_eq!(remains, Ok(bndbuffer::remains(n)), "every item was consumed once");
    took
}
