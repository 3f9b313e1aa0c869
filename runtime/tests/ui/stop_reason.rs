#![allow(unused)]

use greenroom::{Actor, handlers};

#[derive(Actor)]
struct Book {
    best: u64,
}

#[handlers]
impl Book {
    #[stop]
    fn end(&mut self, reason: String) {}
}

fn main() {}
