#![allow(unused)]

use greenroom::{Actor, handlers};

struct Order {
    price: u64,
}

struct Receipt;

#[derive(Actor)]
struct Book;

#[handlers(wire = "acme.book/1")]
impl Book {
    #[tell]
    fn place(&mut self, order: Order) {}

    #[ask]
    fn last(&self) -> Receipt {
        Receipt
    }
}

fn main() {}
