#![allow(unused)]

use greenroom::{Actor, handlers};

#[derive(Actor)]
struct Book {
    best: u64,
}

#[handlers]
impl Book {
    #[tell]
    fn end(self) {}

    #[ask]
    fn best(mut self) -> u64 {
        self.best
    }

    #[tell]
    fn boxed(self: Box<Self>) {}

    #[stop]
    fn stop(self) {}
}

fn main() {}
