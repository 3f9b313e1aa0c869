#![allow(unused)]

use greenroom::{Actor, handlers};

#[derive(Actor)]
struct Book {
    best: u64,
}

#[handlers]
impl Book {
    #[ask]
    fn best(&'static self) -> u64 {
        self.best
    }
}

fn main() {}
