#![allow(unused)]

use greenroom::{Actor, handlers};

#[derive(Actor)]
struct Book {
    best: u64,
}

#[handlers(name = BookApi)]
impl Book {
    #[tell]
    fn quote(&mut self) {}
}

fn main() {}
