//! A manager lets producers produce while there is room, and feeds consumers.

use greenroom::{Actor, Context, Ref, System, handlers};
use greenroom_peers::savina::Done;
use greenroom_peers::savina::bndbuffer::{self, Buffer, CONSUMERS, Item, Items, Order, PRODUCERS};
use std::time::{Duration, Instant};

#[derive(Actor)]
struct Producer {
    items: Items,
    manager: Ref<Manager>,
}

#[handlers]
impl Producer {
    #[start]
    fn start(items: Items, manager: Ref<Manager>) -> Self {
        Self { items, manager }
    }

    #[tell]
    fn produce(&mut self) {
        self.manager.put(self.items.produce()).tell().expect("the manager lives");
    }
}

#[derive(Actor)]
struct Consumer {
    number: usize,
    manager: Ref<Manager>,
}

#[handlers]
impl Consumer {
    #[start]
    fn start(number: usize, manager: Ref<Manager>) -> Self {
        Self { number, manager }
    }

    #[tell]
    fn consume(&mut self, item: Item) {
        let remains = bndbuffer::consume(&item);
        self.manager.consumed(self.number, remains).tell().expect("the manager lives");
    }
}

#[derive(Actor)]
struct Manager {
    buffer: Buffer,
    producers: Vec<Ref<Producer>>,
    consumers: Vec<Ref<Consumer>>,
    done: Done<u64>,
}

#[handlers]
impl Manager {
    #[start]
    fn start(n: u64, done: Done<u64>, cx: &mut Context<Self>) -> Self {
        let me = cx.me();
        let mut produce = |number| {
            cx.spawn::<Producer>((Items::of(number, n), me.clone())).start().expect("it starts")
        };
        let producers = (0..PRODUCERS).map(&mut produce).collect();
        let mut consume =
            |number| cx.spawn::<Consumer>((number, me.clone())).start().expect("it starts");
        let consumers = (0..CONSUMERS).map(&mut consume).collect();
        Self { buffer: Buffer::new(n), producers, consumers, done }
    }

    #[tell]
    fn begin(&mut self) {
        self.give_orders();
    }

    #[tell]
    fn put(&mut self, item: Item) {
        self.buffer.put(item);
        self.give_orders();
    }

    #[tell]
    fn consumed(&mut self, consumer: usize, remains: u64) {
        match self.buffer.consumed(consumer, remains) {
            Some(remains) => self.done.tell(remains),
            None => self.give_orders(),
        }
    }

    fn give_orders(&mut self) {
        while let Some(order) = self.buffer.order() {
            match order {
                Order::Produce(producer) => {
                    self.producers[producer].produce().tell().expect("the producer lives");
                }
                Order::Consume(consumer, item) => {
                    self.consumers[consumer].consume(item).tell().expect("the consumer lives");
                }
            }
        }
    }
}

pub(super) async fn run(system: System, n: u64) -> Duration {
    let (done, remains) = Done::new();
    let manager = system.spawn::<Manager>((n, done)).await.expect("the manager starts");
    let clock = Instant::now();
    manager.begin().tell().expect("the manager lives");
    let remains = remains.await;
    let took = clock.elapsed();
    assert_eq!(remains, Ok(bndbuffer::remains(n)), "every item was consumed once");
    took
}
