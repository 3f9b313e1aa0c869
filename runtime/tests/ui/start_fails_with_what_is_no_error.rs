#![allow(unused)]

use greenroom::{Actor, handlers};

#[derive(Actor)]
struct Book {
    best: u64,
}

#[handlers]
impl Book {
    #[start]
    fn start(best: u64) -> Result<Self, u64> {
        Err(best)
    }
}

fn main() {}
