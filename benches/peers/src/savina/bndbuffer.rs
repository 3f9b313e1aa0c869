//! Bounded buffer: a manager lets 40 producers produce while there is room, and feeds 40 consumers.

use super::random::{busy, mix};
use crate::sizes::share;
use std::collections::VecDeque;

/// How many producers there are.
pub const PRODUCERS: usize = 40;
/// How many consumers there are.
pub const CONSUMERS: usize = 40;
/// How many items may be stored, those counted that a producer has yet to produce.
const ROOM: usize = 50;
/// How long an item takes to produce, and to consume, in rounds of [`busy`].
const COST: u64 = 250;

const fn count(producer: usize, n: u64) -> u64 {
    share(n, PRODUCERS as u64, producer as u64)
}

/// The items of one producer, one after the other.
#[derive(Debug)]
pub struct Items {
    producer: usize,
    left: u64,
}

impl Items {
    /// Those of that producer when all producers have `n` together.
    #[must_use]
    pub const fn of(producer: usize, n: u64) -> Self {
        Self { producer, left: count(producer, n) }
    }

    /// Produces the next one.
    pub fn produce(&mut self) -> Item {
        busy(COST);
        self.left -= 1;
        let value = mix((self.producer as u64) << 40 | self.left);
        Item { producer: self.producer, value, is_last: self.left == 0 }
    }
}

/// What a producer puts into the buffer.
#[derive(Debug)]
pub struct Item {
    producer: usize,
    value: u64,
    is_last: bool,
}

/// Consumes an item; returns what is left of it.
#[must_use]
pub fn consume(item: &Item) -> u64 {
    busy(COST);
    mix(item.value)
}

/// What is left of all items together.
#[must_use]
pub fn remains(n: u64) -> u64 {
    let of = |producer| {
        (0..count(producer, n)).map(move |left| mix(mix((producer as u64) << 40 | left)))
    };
    (0..PRODUCERS).flat_map(of).fold(0, u64::wrapping_add)
}

/// What the manager tells others to do.
#[derive(Debug)]
pub enum Order {
    /// That producer: there is room for one more item.
    Produce(usize),
    /// That consumer: here is an item.
    Consume(usize, Item),
}

/// What the manager keeps: items, and who waits.
#[derive(Debug)]
pub struct Buffer {
    items: VecDeque<Item>,
    promised: usize,
    producers: VecDeque<usize>,
    consumers: VecDeque<usize>,
    remains: u64,
    left: u64,
}

impl Buffer {
    /// Expects `n` items; everybody waits.
    #[must_use]
    pub fn new(n: u64) -> Self {
        let producers = (0..PRODUCERS).filter(|&producer| count(producer, n) > 0).collect();
        let (items, consumers) = (VecDeque::new(), (0..CONSUMERS).collect());
        Self { items, promised: 0, producers, consumers, remains: 0, left: n }
    }

    /// A producer has produced an item, and waits if that was not its last.
    pub fn put(&mut self, item: Item) {
        if !item.is_last {
            self.producers.push_back(item.producer);
        }
        self.promised -= 1;
        self.items.push_back(item);
    }

    /// A consumer has consumed an item and waits; what is left of all items if this was the last.
    pub fn consumed(&mut self, consumer: usize, remains: u64) -> Option<u64> {
        self.consumers.push_back(consumer);
        self.remains = self.remains.wrapping_add(remains);
        self.left -= 1;
        (self.left == 0).then_some(self.remains)
    }

    /// What can be ordered next.
    pub fn order(&mut self) -> Option<Order> {
        let used = self.items.len() + self.promised;
        assert!(used <= ROOM, "the buffer is bounded");
        if !self.items.is_empty() && !self.consumers.is_empty() {
            return self
                .consumers
                .pop_front()
                .zip(self.items.pop_front())
                .map(|(consumer, item)| Order::Consume(consumer, item));
        }
        if used == ROOM {
            return None;
        }
        let producer = self.producers.pop_front()?;
        self.promised += 1;
        Some(Order::Produce(producer))
    }
}
