#![allow(unused)]

use greenroom::{Actor, handlers};

#[derive(Actor)]
struct Book {
    best: u64,
}

#[handlers]
struct NotAnImpl;

trait Quotes {
    fn quote(&mut self, price: u64);
}

#[handlers]
impl Quotes for Book {
    #[tell]
    fn quote(&mut self, price: u64) {
        self.best = price;
    }
}

#[handlers]
impl [Book] {}

fn main() {}
