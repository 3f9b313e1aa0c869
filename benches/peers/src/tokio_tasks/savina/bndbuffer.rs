//! A manager lets producers produce while there is room, and feeds consumers.

use crate::savina::bndbuffer::{self, Buffer, CONSUMERS, Item, Items, Order, PRODUCERS};
use std::time::{Duration, Instant};
use tokio::sync::mpsc::{self, UnboundedReceiver, UnboundedSender};

enum News {
    Put(Item),
    Consumed(usize, u64),
}

async fn producer(
    mut mailbox: UnboundedReceiver<()>,
    mut items: Items,
    manager: UnboundedSender<News>,
) {
    while let Some(()) = mailbox.recv().await {
        manager.send(News::Put(items.produce())).expect("the manager lives");
    }
}

async fn consumer(
    mut mailbox: UnboundedReceiver<Item>,
    number: usize,
    manager: UnboundedSender<News>,
) {
    while let Some(item) = mailbox.recv().await {
        let remains = bndbuffer::consume(&item);
        manager.send(News::Consumed(number, remains)).expect("the manager lives");
    }
}

struct Manager {
    buffer: Buffer,
    producers: Vec<UnboundedSender<()>>,
    consumers: Vec<UnboundedSender<Item>>,
}

impl Manager {
    async fn run(mut self, mut mailbox: UnboundedReceiver<News>) -> Option<u64> {
        self.give_orders();
        loop {
            match mailbox.recv().await? {
                News::Put(item) => self.buffer.put(item),
                News::Consumed(consumer, remains) => {
                    let remains = self.buffer.consumed(consumer, remains);
                    if remains.is_some() {
                        return remains;
                    }
                }
            }
            self.give_orders();
        }
    }

    fn give_orders(&mut self) {
        while let Some(order) = self.buffer.order() {
            match order {
                Order::Produce(producer) => {
                    self.producers[producer].send(()).expect("the producer lives");
                }
                Order::Consume(consumer, item) => {
                    self.consumers[consumer].send(item).expect("the consumer lives");
                }
            }
        }
    }
}

pub(super) async fn run(n: u64) -> Duration {
    let (manager, news) = mpsc::unbounded_channel();
    let produce = |number| {
        let (sender, mailbox) = mpsc::unbounded_channel();
        tokio::spawn(producer(mailbox, Items::of(number, n), manager.clone()));
        sender
    };
    let producers = (0..PRODUCERS).map(produce).collect();
    let consume = |number| {
        let (sender, mailbox) = mpsc::unbounded_channel();
        tokio::spawn(consumer(mailbox, number, manager.clone()));
        sender
    };
    let consumers = (0..CONSUMERS).map(consume).collect();
    let clock = Instant::now();
    let manager = Manager { buffer: Buffer::new(n), producers, consumers };
    let remains = tokio::spawn(manager.run(news)).await.expect("the manager does not panic");
    let took = clock.elapsed();
    assert_eq!(remains, Some(bndbuffer::remains(n)), "every item was consumed once");
    took
}
