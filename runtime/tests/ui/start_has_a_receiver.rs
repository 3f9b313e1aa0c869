#![allow(unused)]

use greenroom::{Actor, handlers};

#[derive(Actor)]
struct Book {
    best: u64,
}

#[handlers]
impl Book {
    #[start]
    fn start(&mut self) -> Self {
        Book { best: 0 }
    }
}

fn main() {}
