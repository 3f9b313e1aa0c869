#![allow(unused)]

use greenroom::{Actor, handlers};

#[derive(Actor)]
struct Book {
    best: u64,
}

#[handlers]
impl Book {
    #[tell]
    fn quote(&mut self, (price, count): (u64, u64)) {}

    #[tell]
    fn ignore(&mut self, _: u64) {}
}

fn main() {}
