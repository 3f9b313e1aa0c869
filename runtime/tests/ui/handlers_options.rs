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

#[derive(Actor)]
struct Shop;

#[handlers(api = Shop)]
impl Shop {
    #[tell]
    fn open(&mut self) {}
}

#[derive(Actor)]
struct Line {
    line: u64,
}

#[handlers(state = line)]
impl Line {
    #[tell]
    fn hang_up(&mut self) {}
}

fn main() {}
