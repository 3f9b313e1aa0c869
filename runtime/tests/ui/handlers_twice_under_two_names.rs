#![allow(unused)]

use greenroom::{Actor, handlers};

#[derive(Actor)]
struct Book {
    best: u64,
}

#[handlers(api = Prices)]
impl Book {
    #[ask]
    fn best(&self) -> u64 {
        self.best
    }
}

#[handlers(api = Quotes)]
impl Book {
    #[tell]
    fn quote(&mut self, price: u64) {
        self.best = price;
    }
}

fn main() {}
