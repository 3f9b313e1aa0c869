#![allow(unused)]

use greenroom::{Actor, handlers};

#[derive(Actor)]
struct Book {
    best: std::cell::Cell<u64>,
}

#[handlers]
impl Book {
    #[ask]
    async fn best(&self) -> u64 {
        self.best.get()
    }
}

fn main() {}
