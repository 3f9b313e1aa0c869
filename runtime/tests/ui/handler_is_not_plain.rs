#![allow(unused)]

use greenroom::{Actor, handlers};

#[derive(Actor)]
struct Book {
    best: u64,
}

#[handlers]
impl Book {
    #[tell]
    unsafe
    fn quote(&mut self, price: u64) {
        self.best = price;
    }

    #[ask]
    extern "C" fn best(&self) -> u64 {
        self.best
    }
}

fn main() {}
