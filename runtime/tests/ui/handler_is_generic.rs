#![allow(unused)]

use greenroom::{Actor, handlers};

#[derive(Actor)]
struct Book {
    best: u64,
}

#[handlers]
impl Book {
    #[tell]
    fn quote<T: Into<u64>>(&mut self, price: T) {
        self.best = price.into();
    }

    #[ask]
    fn name<'a>(&self, name: &'a str) -> u64 {
        self.best
    }

    #[ask]
    fn best(&self) -> u64
    where
        u64: Copy,
    {
        self.best
    }
}

fn main() {}
