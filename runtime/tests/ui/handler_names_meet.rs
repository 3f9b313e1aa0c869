#![allow(unused)]

use greenroom::{Actor, handlers};

#[derive(Actor)]
struct Book {
    best: u64,
}

#[handlers]
impl Book {
    #[tell]
    fn best_bid(&mut self) {}

    #[tell]
    fn best__bid(&mut self) {}
}

fn main() {}
