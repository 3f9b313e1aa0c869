#![allow(unused)]

use greenroom::{Actor, Context, handlers};

#[derive(Actor)]
struct Book {
    best: u64,
}

#[handlers]
impl Book {
    #[local]
    fn two(&mut self, first: u64, second: u64) {}

    #[local]
    fn context_first(&mut self, cx: &mut Context<Self>, value: u64) {}

    #[local]
    fn shared(&self) {}
}

fn main() {}
