#![allow(unused)]

use greenroom::{Actor, handlers};

#[derive(Actor)]
struct Book {
    best: u64,
}

#[handlers]
impl Book {
    #[start]
    fn start() -> Self {
        Book { best: 0 }
    }

    #[start]
    fn start_with(best: u64) -> Self {
        Book { best }
    }

    #[stop]
    fn end(&mut self) {}

    #[stop]
    fn also_end(&mut self) {}
}

fn main() {}
