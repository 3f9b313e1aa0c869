#![allow(unused)]

use greenroom::{Actor, handlers};

#[derive(Actor)]
struct Book {
    best: u64,
}

#[handlers]
impl Book {
    #[tell]
    fn quote(&mut self, count: u64, price: std::rc::Rc<u64>) {
        self.best = *price + count;
    }
}

fn main() {}
