#![allow(unused)]

use greenroom::{Actor, ExitReason, handlers};

#[derive(Actor)]
struct Book {
    best: u64,
}

#[handlers]
impl Book {
    #[stop]
    fn end(&mut self, reason: ExitReason, again: &ExitReason) {}
}

fn main() {}
