#![allow(unused)]

use greenroom::{Actor, handlers};

#[derive(Actor)]
struct Book {
    best: u64,
}

#[handlers]
impl Book {
    #[tell]
    fn quote(price: u64) {}

    #[ask]
    fn best() -> u64 {
        0
    }

    #[stop]
    fn end(reason: greenroom::ExitReason) {}

    #[local]
    fn tick() {}
}

fn main() {}
