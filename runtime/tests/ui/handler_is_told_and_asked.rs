#![allow(unused)]

use greenroom::{Actor, handlers};

#[derive(Actor)]
struct Book {
    best: u64,
}

#[handlers]
impl Book {
    #[tell]
    #[ask]
    fn quote(&mut self, price: u64) {
        self.best = price;
    }
}

fn main() {}
